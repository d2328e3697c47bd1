import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import type { ApiClient } from "../../support/api-client.ts";
import {
  LONG,
  PATTERNS,
  putValidation,
  sendHostileValidations,
  startValidatingGateway,
} from "../../support/hostile-validations.ts";
import { report } from "../../support/report.ts";

/** Of what the same gateway's loop is held for when nothing bad is sent. */
const MAX_LOOP_RATIO = 8;
/** As long as a collection of garbage takes: what holds the loop no longer is calm. */
const CALM_MS = 20;
const MIN_CONTROL_RATIO = 20;
/** As many as the gateway's threads that check, for as long as an attack keeps them busy. */
const WORKERS = 2;
const WORK_MS = 4_000;
const WORK = `const end = Date.now() + ${WORK_MS}; while (Date.now() < end);`;

/** How long the gateway's loop was blocked at most meanwhile, by its own word. */
async function watchLoop(gateway: ApiClient, act: () => Promise<unknown>): Promise<number> {
  await gateway.get("/metrics");
  await act();
  const { text } = await gateway.get("/metrics");
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000;
}

/** What any gateway with a validation does beside as much work: the machine is to blame for what is slow here. */
function watchCalmLoop(gateway: ApiClient): Promise<number> {
  return watchLoop(gateway, async () => {
    const workers = Array.from({ length: WORKERS }, () => once(spawn(process.execPath, ["-e", WORK]), "exit"));
    await putValidation(gateway, "calm", '{"type":"object"}', "application/json");
    const endAt = Date.now() + WORK_MS;
    while (Date.now() < endAt) await gateway.webhook("calm", JSON.stringify({ text: LONG }));
    await Promise.all(workers);
  });
}

/** R20: how long they hold the loop. What becomes of them is in security/. */
describe("validations that mean no good", () => {
  it("never hold the loop, whatever is sent to them", async () => {
    const gateway = await startValidatingGateway();
    await watchCalmLoop(gateway);
    const before = await watchCalmLoop(gateway);
    const attacked = await watchLoop(gateway, () => sendHostileValidations(gateway));
    const after = await watchCalmLoop(gateway);
    const ratio = attacked / Math.max(before, after, CALM_MS);
    const seen = [before, attacked, after].map((ms) => ms.toFixed(0)).join(", ");
    report(
      `R20 hostile validations: loop held ${ratio.toFixed(1)} × as long as when calm; ` +
        `before, attacked, after ${seen} ms`,
    );
    expect(ratio).toBeLessThanOrEqual(MAX_LOOP_RATIO);
  });

  it("is a test that can fail: a backtracking engine takes for ever on the same corpus", () => {
    const tryOn = (letters: number): number => {
      const startedAt = performance.now();
      // The first of them, and only a few letters of its text.
      expect(new RegExp(PATTERNS[0]?.[0] ?? "").test(`${"a".repeat(letters)}!`)).toBe(false);
      return performance.now() - startedAt;
    };
    const ratio = tryOn(26) / tryOn(18);
    report(`R20 control, a backtracking pattern on 26 letters: ${ratio.toFixed(0)} × as long as on 18`);
    expect(ratio).toBeGreaterThan(MIN_CONTROL_RATIO);
  });
});
