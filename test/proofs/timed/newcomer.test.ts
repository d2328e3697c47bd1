import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { measurePace } from "../../../scripts/pace.mjs";
import { copyCheckout } from "../../support/checkout-copy.ts";
import { splitCommands } from "../../support/docs/command-line.ts";
import { followPage } from "../../support/docs/follow-page.ts";
import type { PageStep } from "../../support/docs/page-steps.ts";
import { hasTerminals } from "../../support/docs/page-terminal.ts";
import { report } from "../../support/report.ts";
import { startCommand } from "../../support/run-command.ts";
import { skipWithoutService } from "../../support/skip.ts";

const MOST_COMMANDS = 5;
/** On a machine of pace 1; a slower one may take as much longer as it is slower. */
const MOST_SECONDS = { emptyCache: 30, warmCache: 20 };
const pace = Math.max(1, measurePace());
const MOST_PACKAGES = 145;
const MOST_MEGABYTES = 170;
/** Between the start and the first webhook delivered: as long as the other commands of the README take. */
const MOST_SECONDS_OF_TOUR = 15;

let folder: string;
let cache: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-newcomer-"));
  cache = join(folder, "npm-cache");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `npm start` in a clean copy, until the gateway listens. */
async function startFirst(name: string): Promise<{ checkout: string; seconds: number }> {
  const checkout = copyCheckout(join(folder, name));
  const startedAt = performance.now();
  const env = { npm_config_cache: cache, POSTHORN_PORT: "0" };
  const gateway = startCommand("npm", ["start"], checkout, env);
  await Promise.race([gateway.printed("gateway is listening"), gateway.finished]);
  const seconds = (performance.now() - startedAt) / 1000;
  gateway.child.kill("SIGTERM");
  expect(await gateway.finished).toMatchObject({ exitCode: 0 });
  return { checkout, seconds };
}

function measureInstalled(checkout: string): { packages: number; megabytes: number } {
  const list = readFileSync(join(checkout, "node_modules/.package-lock.json"), "utf8");
  const { packages } = JSON.parse(list) as { packages: Record<string, object> };
  const size = execFileSync("du", ["-sm", "node_modules"], { cwd: checkout, encoding: "utf8" });
  return { packages: Object.keys(packages).length, megabytes: Number.parseInt(size, 10) };
}

describe("a newcomer with nothing but a clone and the README", () => {
  it("sees a webhook delivered after five commands, with an empty npm cache, and the rest of the tour work", async (context) => {
    if (!hasTerminals()) return skipWithoutService(context, "script(1)");
    const checkout = copyCheckout(join(folder, "tour"));
    const steps: PageStep[] = [];
    const beganAt = performance.now();
    const secondsSoFar = () => (performance.now() - beganAt) / 1000;
    let started = Number.NaN;
    let delivered = Number.NaN;
    let commands = 0;
    await followPage(readFileSync(join(checkout, "README.md"), "utf8"), {
      folder: checkout,
      env: { npm_config_cache: cache },
      onStep(step) {
        steps.push(step);
        if (Number.isNaN(started) && step.act === "start") started = secondsSoFar();
        if (!Number.isNaN(delivered)) return;
        if (step.act === "see" && step.terminal !== undefined) delivered = secondsSoFar();
        if ("script" in step) commands += splitCommands(step.script).length;
      },
    });
    report(`newcomer: npm start with an empty npm cache listens after ${started.toFixed(1)} s`);
    report(`newcomer: first webhook delivered after ${commands} commands and ${delivered.toFixed(1)} s`);
    expect(commands).toBeGreaterThan(2);
    expect(commands).toBeLessThanOrEqual(MOST_COMMANDS);
    expect(started).toBeLessThan(MOST_SECONDS.emptyCache * pace);
    expect(delivered - started).toBeLessThan(MOST_SECONDS_OF_TOUR * pace);
    expect(steps.filter(({ act }) => act === "stop")).toHaveLength(1);
  });

  it("waits less with a warm npm cache, and gets no packages that only tests need", async () => {
    if (!existsSync(cache)) await startFirst("to-warm");
    const { checkout, seconds } = await startFirst("warm");
    const { packages, megabytes } = measureInstalled(checkout);
    report(`newcomer: npm start with a warm npm cache listens after ${seconds.toFixed(1)} s`);
    report(`newcomer: ${packages} packages installed, ${megabytes} MB (pace of this machine: ${pace.toFixed(2)})`);
    expect(seconds).toBeLessThan(MOST_SECONDS.warmCache * pace);
    expect(packages).toBeLessThan(MOST_PACKAGES);
    expect(megabytes).toBeLessThan(MOST_MEGABYTES);
    expect(existsSync(join(checkout, "node_modules/rolldown"))).toBe(true);
    for (const name of ["vitest", "typescript", "@azure/storage-queue", "smartsheet"]) {
      expect([name, existsSync(join(checkout, "node_modules", name))]).toEqual([name, false]);
    }
  });
});
