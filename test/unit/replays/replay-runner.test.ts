import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { firstCursor, formatCursor } from "../../../src/replays/replay-selection.ts";
import {
  createReplayRunner,
  type ReplayRunner,
  createLaneWindows,
  MAX_WINDOW,
} from "../../../src/replays/replay-runner.ts";
import type { ReplayRow } from "../../../src/store/port/jobs.ts";
import type { Store } from "../../../src/store/store.ts";
import { OK, useDeliveryBench, type DeliveryBench } from "../../support/delivery-bench.ts";
import { NOON, beginReplay, deleteSubscription, newDelivery, newEvent, stored } from "../../support/store-fixtures.ts";
import { withPort } from "../../support/with-port.ts";

const MINUTE_MS = 60_000;

describe("the runner of replays", () => {
  const openBench = useDeliveryBench();

  interface Setting {
    bench: DeliveryBench;
    runner: ReplayRunner;
    lanes: readonly Subscription[];
    faults: unknown[];
    /** When each step was written. */
    steps: number[];
    start(lane?: Subscription): Promise<ReplayRow>;
    show(): Promise<ReplayRow | undefined>;
  }

  /** Each lane with so many dead letters, event by event in turn. */
  async function open(
    counts: readonly number[],
    options: { isBusy?: boolean; fault?: () => Error } = {},
  ): Promise<Setting> {
    const steps: number[] = [];
    const faults: unknown[] = [];
    const bench: DeliveryBench = await openBench({
      wrap: (store: Store) =>
        withPort(store, "jobs", {
          stepReplay(...args) {
            steps.push(bench.clock.now());
            return options.fault === undefined ? store.jobs.stepReplay(...args) : Promise.reject(options.fault());
          },
        }),
    });
    bench.answerWith(() => OK);
    const lanes: Subscription[] = [];
    for (const _ of counts) lanes.push(await bench.subscribe());
    for (let n = 0; n < Math.max(...counts); n++) {
      const wanting = lanes.filter((_, i) => n < (counts[i] as number));
      const late = newEvent({ expiresAt: NOON, receivedAt: NOON - 1 });
      await stored(
        bench.store,
        late,
        wanting.map(({ seq }) => newDelivery(seq, { expiresAt: NOON })),
      );
    }
    while ((await bench.store.lanes.expire()).expired > 0);
    const runner = createReplayRunner({
      store: bench.store,
      subscriptions: subscriptionsOf(bench),
      clock: bench.clock,
      onDue: (one) => bench.scheduler.recordPending(one, bench.clock.now()),
      onCancelled: bench.scheduler.withdraw,
      isBusy: () => options.isBusy ?? false,
      onFault: (error) => faults.push(error),
    });
    return {
      bench,
      runner,
      lanes,
      faults,
      steps,
      async start(lane) {
        const replay = await beginReplay(bench.store, {
          id: "rpl_1",
          tenantId: undefined,
          kind: "dead_letters",
          filter: {},
          subscriptionSeq: lane?.seq,
          laneSeq: undefined,
          afterSeq: 0,
          upToSeq: 1_000_000,
          cursor: formatCursor(firstCursor(0, lane?.seq)),
          total: counts.reduce((sum, one) => sum + one, 0),
          totalIsExact: true,
          createdAt: NOON,
        });
        runner.add(replay);
        return replay;
      },
      show: () => bench.store.jobs.findReplay("rpl_1"),
    };
  }

  it("serves the other lanes while one is paused, and that one when it is back", async () => {
    const { bench, runner, lanes, start, show } = await open([300, 300, 20]);
    const paused = lanes[1] as Subscription;
    await bench.change(paused, { status: "inactive" });
    await start();
    await bench.move(MINUTE_MS);
    expect(await show()).toMatchObject({ status: "running", done: 320 });
    await bench.change(paused, { status: "active" });
    await bench.move(MINUTE_MS);
    expect(await show()).toMatchObject({ status: "completed", done: 620, skipped: 0, failed: 0 });
    expect(bench.sent).toHaveLength(620);
    await runner.stop();
  });

  it("goes on in another life from where the store says", async () => {
    const { bench, runner, start, show, steps } = await open([500, 500]);
    await start();
    while (steps.length < 4) await bench.move(20);
    await runner.stop();
    const left = await show();
    expect(left?.done).toBeGreaterThan(0);
    expect(left?.done).toBeLessThan(1000);
    const next = createReplayRunner({
      store: bench.store,
      subscriptions: subscriptionsOf(bench),
      clock: bench.clock,
      onDue: (one) => bench.scheduler.recordPending(one, bench.clock.now()),
      onCancelled: bench.scheduler.withdraw,
      isBusy: () => false,
      onFault: (error) => expect.unreachable(String(error)),
    });
    await next.start();
    await bench.move(MINUTE_MS);
    expect(await show()).toMatchObject({ status: "completed", done: 1000, skipped: 0 });
    expect(bench.sent).toHaveLength(1000);
    await next.stop();
  });

  it("counts those whose subscription is deleted as failed, and ends", async () => {
    const { bench, runner, lanes, start, show } = await open([5, 5]);
    await deleteSubscription(bench.store, (lanes[0] as Subscription).seq);
    await bench.remove(lanes[0] as Subscription);
    await start();
    await bench.move(MINUTE_MS);
    expect(await show()).toMatchObject({ status: "completed", done: 5, failed: 5, total: 10 });
    await runner.stop();
  });

  it("rests between its steps, and longer while the gateway is busy", async () => {
    const gaps = (steps: readonly number[]) => steps.slice(1).map((at, i) => at - (steps[i] as number));
    const calm = await open([600]);
    await calm.start();
    await calm.bench.move(MINUTE_MS);
    expect(await calm.show()).toMatchObject({ status: "completed" });
    expect(Math.min(...gaps(calm.steps))).toBeGreaterThanOrEqual(20);
    const busy = await open([600], { isBusy: true });
    await busy.start();
    await busy.bench.move(MINUTE_MS);
    expect(await busy.show()).toMatchObject({ status: "completed" });
    expect(Math.min(...gaps(busy.steps))).toBeGreaterThanOrEqual(1000);
    await Promise.all([calm.runner.stop(), busy.runner.stop()]);
  });

  it("tries again while the store has no room, and gives up on what stays wrong", async () => {
    const full = await open([3], { fault: () => new PosthornError("store_full", "The disk is full.") });
    await full.start();
    await full.bench.move(20 * MINUTE_MS);
    expect(await full.show()).toMatchObject({ status: "running", done: 0 });
    expect(full.faults.length).toBeGreaterThan(10);
    await full.runner.stop();
    const wrong = await open([3], { fault: () => new Error("secret inside") });
    await wrong.start();
    await wrong.bench.move(20 * MINUTE_MS);
    const given = await wrong.show();
    expect(given).toMatchObject({ status: "failed", done: 0, completedAt: expect.any(Number) });
    expect(given?.error).toBe("Something went wrong inside the gateway.");
    await wrong.runner.stop();
  });
});

/** None of them has a fallback. */
function subscriptionsOf(bench: DeliveryBench) {
  return {
    find: (seq: number) => [...bench.subscriptions()].find((one) => one.seq === seq),
    findFallback: () => undefined,
    findForward: () => undefined,
    rightsOf: () => ({ change: true, use: true }),
  };
}

/** A lane that gets `perSecond` done, and what is opened in it within `seconds`. */
function run(perSecond: number, seconds: number): { largest: number; opened: number } {
  const windows = createLaneWindows();
  let [open, largest, opened] = [0, 0, 0];
  for (let now = 0; now < seconds * 1000; now += 50) {
    open = Math.max(0, open - perSecond / 20);
    const room = windows.room(1, Math.ceil(open), now);
    open += room;
    opened += room;
    largest = Math.max(largest, open);
    if (room > 0) windows.recordOpened(1, Math.ceil(open), now);
  }
  return { largest, opened };
}

describe("how many replays a lane has open", () => {
  it("grows where they are done quickly, up to a limit", () => {
    const { largest, opened } = run(2000, 30);
    expect(largest).toBeGreaterThan(MAX_WINDOW / 2);
    expect(largest).toBeLessThanOrEqual(MAX_WINDOW);
    expect(opened).toBeGreaterThan(50_000);
  });

  it("shrinks where they are not, so that fresh ones never wait long behind them", () => {
    const windows = createLaneWindows();
    const first = windows.room(1, 0, 0);
    windows.recordOpened(1, first, 0);
    expect(windows.room(1, first, 100)).toBe(0);
    expect(windows.room(1, 0, 20_000)).toBe(first / 2);
    // Each lane has its own.
    expect(windows.room(2, 0, 20_000)).toBe(first);
  });

  it("stays at about what is done in a few seconds", () => {
    const { largest } = run(10, 600);
    expect(largest).toBeLessThanOrEqual(10 * 20);
  });
});
