import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyCheckout, lendInstalled } from "../support/checkout-copy.ts";
import { splitCommands } from "../support/docs/command-line.ts";
import { followPage } from "../support/docs/follow-page.ts";
import type { PageStep } from "../support/docs/page-steps.ts";
import { hasTerminals } from "../support/docs/page-terminal.ts";
import { PROOF_SIZE } from "../support/proof-size.ts";
import { report } from "../support/report.ts";
import { skipBecause } from "../support/skip.ts";

const MOST_COMMANDS = 5;
const MOST_SECONDS = PROOF_SIZE === "short" ? Number.POSITIVE_INFINITY : 60;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-newcomer-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("a newcomer with nothing but a clone, an empty npm cache and the README", () => {
  it("sees a webhook delivered after five commands within a minute, and the rest of the tour work", async (context) => {
    if (!hasTerminals()) return skipBecause(context, "there is no script(1) to make a terminal with");
    const checkout = copyCheckout(folder);
    // The short form does not ask how long the first start takes.
    if (PROOF_SIZE === "short") lendInstalled(checkout);
    const steps: PageStep[] = [];
    const startedAt = performance.now();
    let firstAfterS: number | undefined;
    let commands = 0;
    await followPage(readFileSync(join(checkout, "README.md"), "utf8"), {
      folder: checkout,
      env: { npm_config_cache: join(folder, "npm-cache") },
      onStep(step) {
        steps.push(step);
        const isDelivered = step.act === "see" && step.terminal !== undefined;
        if (isDelivered) firstAfterS ??= (performance.now() - startedAt) / 1000;
        if (firstAfterS === undefined && "script" in step) commands += splitCommands(step.script).length;
      },
    });
    report(`newcomer: first webhook delivered after ${commands} commands and ${firstAfterS?.toFixed(1)} s`);
    expect(commands).toBeGreaterThan(2);
    expect(commands).toBeLessThanOrEqual(MOST_COMMANDS);
    expect(firstAfterS).toBeLessThan(MOST_SECONDS);
    expect(steps.filter(({ act }) => act === "stop")).toHaveLength(1);
  });
});
