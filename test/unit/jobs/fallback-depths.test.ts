import { describe, expect, it } from "vitest";
import type { Subscription } from "../../../src/model/subscription.ts";
import { createFallbackDepths } from "../../../src/jobs/fallback-depths.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";

const fallback = (seq: number, tenantId: string) => ({ seq, tenantId }) as Subscription;

describe("the depths of fallbacks", () => {
  const all = [fallback(1, "a"), fallback(2, "b")];

  function open(answer: (one: Subscription) => Promise<number | undefined>) {
    const time = createVirtualTime(0);
    const depths = createFallbackDepths({
      clock: createVirtualClock(time),
      listFallbacks: (tenantId) => all.filter((one) => tenantId === undefined || one.tenantId === tenantId),
      countWaiting: (one) => answer(one),
    });
    return { time, depths };
  }

  it("add up, of one tenant or of all", async () => {
    const { depths } = open(({ seq }) => Promise.resolve(seq * 10));
    expect([await depths.sum(undefined), await depths.sum("b"), await depths.sum("nobody")]).toEqual([30, 20, 0]);
  });

  it("are those that were known last while a broker is away or does not answer", async () => {
    let answer = () => Promise.resolve<number | undefined>(7);
    const { time, depths } = open(() => answer());
    expect(await depths.sum("a")).toBe(7);
    answer = () => Promise.reject(new Error("away"));
    expect([await depths.count(all[0] as Subscription), await depths.sum("a")]).toEqual([undefined, 7]);
    answer = () => new Promise(() => undefined);
    const counted = depths.sum("a");
    await moveClock(time, 2_000, () => Promise.resolve());
    expect(await counted).toBe(7);
    answer = () => Promise.resolve(undefined);
    expect(await depths.sum("b")).toBe(0);
  });
});
