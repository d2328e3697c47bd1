import { describe, expect, it } from "vitest";
import { FOLLOW_EVERY_MS, startFollowing } from "../../../src/registry/follow.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { nextTurn } from "../../support/watched-store.ts";

describe("following what others change", () => {
  /** Each look ends when the test says so. */
  function start() {
    const time = createVirtualTime(NOON);
    const looks: { end: () => void; fail: (error: Error) => void }[] = [];
    const faults: unknown[] = [];
    const following = startFollowing({
      registry: {
        follow: () => new Promise<void>((resolve, reject) => looks.push({ end: resolve, fail: reject })),
      },
      clock: createVirtualClock(time),
      onFault: (error) => faults.push(error),
    });
    return { time, looks, faults, following, move: (byMs: number) => moveClock(time, byMs, nextTurn) };
  }

  it("looks once in each interval, and never while it is still looking", async () => {
    const { looks, move } = start();
    await move(FOLLOW_EVERY_MS - 1);
    expect(looks).toHaveLength(0);
    await move(1);
    expect(looks).toHaveLength(1);
    await move(10 * FOLLOW_EVERY_MS);
    expect(looks).toHaveLength(1);
    looks[0]?.end();
    await move(FOLLOW_EVERY_MS);
    expect(looks).toHaveLength(2);
  });

  it("goes on after a fault, which it tells", async () => {
    const { looks, faults, move } = start();
    await move(FOLLOW_EVERY_MS);
    looks[0]?.fail(new Error("the store"));
    await move(FOLLOW_EVERY_MS);
    expect([looks.length, faults.map(String)]).toEqual([2, ["Error: the store"]]);
  });

  it("stops when what it is reading has come, and looks no more", async () => {
    const { time, looks, following, move } = start();
    await move(FOLLOW_EVERY_MS);
    let hasStopped = false;
    const stopping = following.stop().then(() => (hasStopped = true));
    await nextTurn();
    expect(hasStopped).toBe(false);
    looks[0]?.end();
    await stopping;
    await move(10 * FOLLOW_EVERY_MS);
    expect([looks.length, time.nextAt()]).toEqual([1, undefined]);
  });
});
