import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../src/model/clock.ts";
import { createRequestLimit } from "../../../../plugins/smartsheet/client.ts";

describe("the limit of requests", () => {
  it("lets no more through in any minute, and the rest in their order", async () => {
    let now = 0;
    const waiting: { at: number; run: () => void }[] = [];
    const clock: Clock = {
      wall: () => now,
      now: () => now,
      setTimer(at, run) {
        waiting.push({ at, run });
        return { cancel: () => undefined };
      },
    };
    const limit = createRequestLimit({ clock, perMinute: 300 });
    const passedAt: number[] = [];
    const takes = Array.from({ length: 1000 }, () => limit.take().then(() => passedAt.push(now)));
    for (;;) {
      await new Promise(setImmediate);
      const next = waiting.shift();
      if (next === undefined) break;
      now = Math.max(now, next.at);
      next.run();
    }
    await Promise.all(takes);
    expect(passedAt).toHaveLength(1000);
    const gaps = passedAt.slice(300).map((at, index) => at - (passedAt[index] ?? 0));
    expect(Math.min(...gaps)).toBe(60_000);
    expect(passedAt.at(-1)).toBe(180_000);
  });
});
