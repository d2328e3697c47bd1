import { describe, expect, it } from "vitest";
import { after, Barrier, orElse, type MaybePromise } from "../../../src/model/accepted.ts";

const WAYS: [string, <Value>(value: Value) => MaybePromise<Value>][] = [
  ["now", (value) => value],
  ["later", (value) => Promise.resolve(value)],
];

/** How the steps end, and whether that was in the same turn. */
function run<Value>(steps: () => MaybePromise<Value>): Promise<{ ended: unknown; isAtOnce: boolean }> {
  return new Promise((resolve) => {
    let isAtOnce = true;
    const end = (ended: unknown) => resolve({ ended, isAtOnce });
    const barrier = new Barrier<Value>(end, (error) => end({ failed: (error as Error).message }));
    void barrier.run(steps, (value) => barrier.end(value));
    isAtOnce = false;
  });
}

function fail(): never {
  throw new Error("no");
}

describe("steps that may wait", () => {
  it.each(WAYS)("follow each other when the first is known %s", async (way, give) => {
    const steps = () => after(give(1), (one) => after(give(one + 1), (two) => two * 10));
    expect(await run(steps)).toEqual({ ended: 20, isAtOnce: way === "now" });
  });

  it.each(WAYS)("end with the first that fails %s", async (way, give) => {
    const reached: string[] = [];
    const steps = () => after(give(1), () => after(give(fail()), () => reached.push("next")));
    expect(await run(steps)).toEqual({ ended: { failed: "no" }, isAtOnce: way === "now" });
    expect(reached).toEqual([]);
  });

  it.each(WAYS)("may make something of a failure that comes %s", async (way, give) => {
    const steps = () =>
      orElse<string>(
        () => after(give("a"), fail),
        (error) => `found ${(error as Error).message}`,
      );
    expect(await run(steps)).toEqual({ ended: "found no", isAtOnce: way === "now" });
    const again = () => orElse(() => after(give("a"), fail), fail);
    expect(await run(again)).toMatchObject({ ended: { failed: "no" } });
  });
});

describe("the barrier around a request", () => {
  it.each(WAYS)("gets the error of what follows a value that is known %s", async (_, give) => {
    const error = await new Promise((resolve) => void new Barrier(() => undefined, resolve).run(() => give(1), fail));
    expect(error).toEqual(new Error("no"));
  });

  it("gets the error of a step that is called back, and of the end itself", async () => {
    expect(await new Promise((resolve) => new Barrier(() => undefined, resolve).guard(fail)(1))).toEqual(
      new Error("no"),
    );
    expect(await new Promise((resolve) => new Barrier(fail, resolve).end(1))).toEqual(new Error("no"));
  });

  it("ends a request once, whatever comes later", () => {
    const ends: unknown[] = [];
    const barrier = new Barrier<string>(
      (result) => ends.push(result),
      (error) => ends.push(error),
    );
    const late = barrier.guard(fail);
    barrier.end("first");
    barrier.end("second");
    barrier.fail(new Error("third"));
    late(4);
    expect(ends).toEqual(["first"]);
  });

  it.each(WAYS)(
    "never rejects what it returns, and returns nothing for a value that is known now (%s)",
    async (way, give) => {
      const waits = new Barrier(
        () => undefined,
        () => undefined,
      ).run(() => give(1), fail);
      expect(waits instanceof Promise).toBe(way === "later");
      expect(await waits).toBeUndefined();
    },
  );
});
