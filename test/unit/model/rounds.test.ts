import { describe, expect, it } from "vitest";
import { startRounds } from "../../../src/model/rounds.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { nextTurn } from "../../support/watched-store.ts";

const EVERY_MS = 2000;

/** Each round ends when the test says so. */
describe("what is done in rounds", () => {
  function start(everyMs: number | (() => number) = EVERY_MS) {
    const time = createVirtualTime(NOON);
    const begun: { end: () => void; fail: (error: Error) => void }[] = [];
    const faults: unknown[] = [];
    const rounds = startRounds({
      run: () => new Promise<void>((resolve, reject) => begun.push({ end: resolve, fail: reject })),
      everyMs,
      clock: createVirtualClock(time),
      onFault: (error) => faults.push(error),
    });
    return { time, begun, faults, rounds, move: (byMs: number) => moveClock(time, byMs, nextTurn) };
  }

  it("is done once in each interval, and never twice at once", async () => {
    const { begun, move } = start();
    await move(EVERY_MS - 1);
    expect(begun).toHaveLength(0);
    await move(1);
    expect(begun).toHaveLength(1);
    await move(10 * EVERY_MS);
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    await move(EVERY_MS);
    expect(begun).toHaveLength(2);
  });

  it("goes on after a fault, which it tells", async () => {
    const { begun, faults, move } = start();
    await move(EVERY_MS);
    begun[0]?.fail(new Error("the store"));
    await move(EVERY_MS);
    expect([begun.length, faults.map(String)]).toEqual([2, ["Error: the store"]]);
  });

  it("stops when the round that is under way has ended, and is done no more", async () => {
    const { time, begun, rounds, move } = start();
    await move(EVERY_MS);
    let hasStopped = false;
    const stopping = rounds.stop().then(() => (hasStopped = true));
    await nextTurn();
    expect(hasStopped).toBe(false);
    begun[0]?.end();
    await stopping;
    await move(10 * EVERY_MS);
    expect([begun.length, time.nextAt()]).toEqual([1, undefined]);
  });

  it("tells no fault of a round that it ends under", async () => {
    const { begun, faults, rounds, move } = start();
    await move(EVERY_MS);
    const stopping = rounds.stop();
    begun[0]?.fail(new Error("closed"));
    await stopping;
    expect(faults).toEqual([]);
  });

  it("is done sooner when it is scheduled anew and has less to wait for", async () => {
    let waitMs = 10 * EVERY_MS;
    const { begun, rounds, move } = start(() => waitMs);
    waitMs = 1;
    await move(1);
    expect(begun).toHaveLength(0);
    rounds.reschedule();
    await move(1);
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    await rounds.stop();
  });
});
