import { describe, expect, it } from "vitest";
import { smartsheetAdapter } from "../../../examples/smartsheet-adapter/walk-through.ts";
import { runExample, type Settings } from "../../../examples/support/example.ts";
import { captureOutput } from "../../support/captured-output.ts";

const run = (settings: Settings) => runExample(smartsheetAdapter, settings, { output: captureOutput().output });

describe("the example smartsheet-adapter", () => {
  it("takes each change to the core app once, in order, also after it was down", async () => {
    const { figures, failures, exitCode } = await run({});
    expect(failures).toEqual([]);
    expect(figures).toEqual({
      changes: 14,
      callbacks: 10,
      taken: 10,
      eventLog: { COMPLETED: 10, FAILED: 1, DUPLICATE: 2, IGNORED: 1 },
      deadLetters: 1,
    });
    expect(exitCode).toBe(0);
  });

  it("says so when the core app gets what it changed itself: the control", async () => {
    const { failures, exitCode } = await run({
      changeConfig: (yaml) => yaml.replace(/^ +ignore_change_agents: .+\n/m, ""),
    });
    expect(failures).toEqual(["the core app has rows 101, 102 and 104, in this order"]);
    expect(exitCode).toBe(1);
  });

  it("goes through a queue of Service Bus, in the order of each sheet", async () => {
    const { figures, failures } = await run({ flags: { "service-bus": true } });
    expect(failures).toEqual([]);
    expect(figures).toMatchObject({ changes: 10, taken: 10, eventLog: { COMPLETED: 10 }, deadLetters: 0 });
  });
});
