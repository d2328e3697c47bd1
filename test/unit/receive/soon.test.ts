import { describe, expect, it } from "vitest";
import { after, conclude, guard, orElse, type Soon } from "../../../src/receive/soon.ts";

const WAYS: [string, <Value>(value: Value) => Soon<Value>][] = [
  ["now", (value) => value],
  ["later", (value) => Promise.resolve(value)],
];

/** What is told of steps, and whether that was in the same turn. */
function run<Value>(steps: () => Soon<Value>): Promise<{ told: unknown; isAtOnce: boolean }> {
  return new Promise((resolve) => {
    let isAtOnce = true;
    const tell = (told: unknown) => resolve({ told, isAtOnce });
    conclude(steps, tell, (error) => tell({ failed: (error as Error).message }));
    isAtOnce = false;
  });
}

function fail(): never {
  throw new Error("no");
}

describe("steps that may wait", () => {
  it.each(WAYS)("follow each other when the first is known %s", async (way, give) => {
    const steps = () => after(give(1), (one) => after(give(one + 1), (two) => two * 10));
    expect(await run(steps)).toEqual({ told: 20, isAtOnce: way === "now" });
  });

  it.each(WAYS)("end with the first that fails %s", async (way, give) => {
    const reached: string[] = [];
    const steps = () => after(give(1), () => after(give(fail()), () => reached.push("next")));
    expect(await run(steps)).toEqual({ told: { failed: "no" }, isAtOnce: way === "now" });
    expect(reached).toEqual([]);
  });

  it.each(WAYS)("may make something of a failure that comes %s", async (way, give) => {
    const steps = () =>
      orElse<string>(
        () => after(give("a"), fail),
        (error) => `found ${(error as Error).message}`,
      );
    expect(await run(steps)).toEqual({ told: "found no", isAtOnce: way === "now" });
    const again = () => orElse(() => after(give("a"), fail), fail);
    expect(await run(again)).toMatchObject({ told: { failed: "no" } });
  });

  it.each(WAYS)("fail when what they end with fails, for a result that is known %s", async (_, give) => {
    const error = await new Promise((resolve) => conclude(() => give(1), fail, resolve));
    expect(error).toEqual(new Error("no"));
    expect(await new Promise((resolve) => guard(fail, resolve)(1))).toEqual(new Error("no"));
  });
});
