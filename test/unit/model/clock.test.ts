import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSystemClock, createSystemRandom, startRounds } from "../../../src/model/clock.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { nextTurn } from "../../support/watched-store.ts";

const HOUR_MS = 3_600_000;

/** A machine whose time is moved by hand: `pass` lets time go by, `setWall` is someone setting the clock. */
function fakeMachine(startMs = 1_700_000_000_000) {
  let monotonicMs = 123.4;
  let offsetMs = startMs - monotonicMs;
  const timers = new Set<{ dueMs: number; run: () => void }>();
  const waits: number[] = [];
  return {
    waits,
    timers,
    options: {
      wall: () => Math.floor(monotonicMs + offsetMs),
      monotonic: () => monotonicMs,
      setTimeout(run: () => void, delayMs: number) {
        const timer = { dueMs: monotonicMs + Math.max(1, Math.ceil(delayMs)), run };
        waits.push(delayMs);
        timers.add(timer);
        return timer;
      },
      clearTimeout: (handle: unknown) => void timers.delete(handle as { dueMs: number; run: () => void }),
    },
    jumpWall: (byMs: number) => void (offsetMs += byMs),
    pass(ms: number) {
      const endMs = monotonicMs + ms;
      for (;;) {
        const next = [...timers].filter((timer) => timer.dueMs <= endMs).sort((x, y) => x.dueMs - y.dueMs)[0];
        if (next === undefined) break;
        monotonicMs = Math.max(monotonicMs, next.dueMs);
        timers.delete(next);
        next.run();
      }
      monotonicMs = endMs;
    },
  };
}

describe("now()", () => {
  it("starts from the wall clock and follows it", () => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    machine.pass(10_000);
    expect(Math.abs(clock.now() - clock.wall())).toBeLessThanOrEqual(1);
  });

  it("neither stops, jumps nor goes back, however the wall clock is set", () => {
    const step = fc.record({ passMs: fc.double({ min: 0, max: 10_000, noNaN: true }), jumpMs: fc.integer() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const machine = fakeMachine();
        const clock = createSystemClock(machine.options);
        for (const { passMs, jumpMs } of steps) {
          const before = clock.now();
          machine.jumpWall(jumpMs);
          machine.pass(passMs);
          const elapsedMs = clock.now() - before;
          expect(elapsedMs).toBeGreaterThanOrEqual(Math.floor(passMs * 0.9) - 1);
          expect(elapsedMs).toBeLessThanOrEqual(Math.ceil(passMs * 1.1) + 1);
          expect(Number.isInteger(clock.now())).toBe(true);
        }
      }),
    );
  });

  it.each([HOUR_MS, -HOUR_MS])("agrees again ten hours after a jump of %i ms, and not much before", (jumpMs) => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    machine.jumpWall(jumpMs);
    for (let minute = 0; minute < 9 * 60; minute++) {
      machine.pass(60_000);
      clock.now();
    }
    expect(Math.abs(clock.now() - clock.wall())).toBeGreaterThan(60_000);
    machine.pass(1.1 * HOUR_MS);
    expect(Math.abs(clock.now() - clock.wall())).toBeLessThanOrEqual(1);
  });

  it("may start ahead of the wall clock", () => {
    const machine = fakeMachine(1000);
    const clock = createSystemClock({ ...machine.options, startAt: 5000 });
    expect([clock.now(), clock.wall()]).toEqual([5000, 1000]);
    machine.pass(100);
    expect(clock.now()).toBe(5090);
  });

  it("reads the machine's own clocks by default", () => {
    const before = Date.now();
    const clock = createSystemClock();
    const [wall, now] = [clock.wall(), clock.now()];
    const after = Date.now();
    expect([before <= wall, wall <= after]).toEqual([true, true]);
    // Its steps are fractions of milliseconds, and those of the wall clock are whole ones.
    expect([before - 1 <= now, now <= after + 1]).toEqual([true, true]);
  });
});

describe("a timer", () => {
  it("runs once, at its time or just after, also when that is further away than a timeout may be", () => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    const at = clock.now() + 40 * 24 * HOUR_MS;
    const runs: number[] = [];
    clock.setTimer(at, () => runs.push(clock.now()));
    machine.pass(40 * 24 * HOUR_MS - 10);
    expect(runs).toEqual([]);
    machine.pass(HOUR_MS);
    expect(runs).toHaveLength(1);
    expect((runs[0] ?? 0) - at).toBeGreaterThanOrEqual(0);
    expect((runs[0] ?? 0) - at).toBeLessThan(10);
    expect(Math.max(...machine.waits)).toBeLessThan(2 ** 31);
  });

  it.each([HOUR_MS, -HOUR_MS])("keeps to now() when the wall clock jumps by %i ms", (jumpMs) => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    const at = clock.now() + HOUR_MS;
    let ranAt: number | undefined;
    clock.setTimer(at, () => (ranAt = clock.now()));
    machine.jumpWall(jumpMs);
    machine.pass(2 * HOUR_MS);
    expect(ranAt).toBeGreaterThanOrEqual(at);
    expect(ranAt).toBeLessThanOrEqual(at + 6000);
  });

  it("in the past runs soon, but not inside the call", () => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    let runs = 0;
    clock.setTimer(clock.now() - 5000, () => runs++);
    expect(runs).toBe(0);
    machine.pass(2);
    expect(runs).toBe(1);
  });

  it("does not run after it was cancelled, also between two waits", () => {
    const machine = fakeMachine();
    const clock = createSystemClock(machine.options);
    const timer = clock.setTimer(clock.now() + HOUR_MS, () => expect.fail("it ran"));
    machine.pass(HOUR_MS / 2);
    timer.cancel();
    machine.pass(HOUR_MS);
    expect(machine.timers.size).toBe(0);
  });

  it("runs on the real event loop", async () => {
    const clock = createSystemClock();
    const at = clock.now() + 5;
    // The clock's timers do not keep the process alive; this one does while the test waits.
    const keepAlive = setInterval(() => {}, 1000);
    const ranAt = await new Promise<number>((resolve) => clock.setTimer(at, () => resolve(clock.now())));
    clearInterval(keepAlive);
    expect(ranAt).toBeGreaterThanOrEqual(at);
  });
});

describe("the system's chance", () => {
  it("gives as many bytes as asked for, never the same ones", () => {
    const random = createSystemRandom();
    for (const length of [0, 1, 1024, 1025, 5000]) expect(random.bytes(length)).toHaveLength(length);
    const drawn = Array.from({ length: 1000 }, () => Buffer.from(random.bytes(16)).toString("hex"));
    expect(new Set(drawn).size).toBe(1000);
    expect(drawn).not.toContain("0".repeat(32));
  });

  it("leaves alone what it handed out before", () => {
    const random = createSystemRandom();
    const first = random.bytes(32);
    const copy = Uint8Array.from(first);
    for (let n = 0; n < 500; n++) random.bytes(32);
    expect(first).toEqual(copy);
  });

  it("gives fractions from 0 to below 1", () => {
    const { next } = createSystemRandom();
    for (let n = 0; n < 100; n++) expect(Math.floor(next())).toBe(0);
  });
});

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
