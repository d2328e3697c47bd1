import { describe, expect, it } from "vitest";
import type { Subscription } from "../../../src/model/subscription.ts";
import { firstCursor, formatCursor } from "../../../src/replays/replay-selection.ts";
import { createReplayRunner } from "../../../src/replays/replay-runner.ts";
import type { NewReplay } from "../../../src/store/port/jobs.ts";
import { OK, useDeliveryBench, type DeliveryBench } from "../../support/delivery-bench.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { NOON, beginReplay, newDelivery, newEvent, stored } from "../../support/store-fixtures.ts";

const SECOND_MS = 1000;
const LATENCY_MS = 50;
const DEAD = sized({ short: 5_000, middle: 20_000, long: 20_000 });
const SECONDS_BESIDE = sized({ short: 100, middle: 300, long: 300 });

interface Load {
  dead: number;
  /** Attempts of the lane in flight at once; each takes 50 ms. */
  concurrency: number;
  freshPerSecond: number;
  seconds: number;
}

interface Figures {
  /** From its acceptance to its first attempt, the slowest hundredth left out, and the slowest. */
  p99Ms: number;
  maxMs: number;
  replayed: number;
  /** How often each of the replayed ones was sent. */
  times: ReadonlySet<number>;
  secondsTaken: number;
}

describe("fresh events while dead letters are replayed", () => {
  const openBench = useDeliveryBench();

  async function makeDead(bench: DeliveryBench, { seq }: Subscription, dead: number): Promise<void> {
    const late = { expiresAt: NOON, receivedAt: NOON - 1 };
    const events = Array.from({ length: dead }, (_, n) => newEvent({ ...late, id: `old-${n}` }));
    await Promise.all(events.map((event) => stored(bench.store, event, [newDelivery(seq, { expiresAt: NOON })])));
    while ((await bench.store.lanes.expire()).expired > 0);
  }

  /** The way of a job, or all of them at once, as if they were new. */
  async function simulate(load: Load, how: "as a job" | "at once" | "not at all"): Promise<Figures> {
    const bench = await openBench({ maxInFlight: 1000 });
    const lane = await bench.subscribe({ concurrency: load.concurrency });
    const find = (seq: number) => [...bench.subscriptions()].find((one) => one.seq === seq);
    const onDue = (one: Subscription) => bench.scheduler.recordPending(one, bench.clock.now());
    const faults: unknown[] = [];
    const runner = createReplayRunner({
      store: bench.store,
      subscriptions: {
        find,
        findFallback: () => undefined,
        findForward: () => undefined,
        rightsOf: () => ({ change: true, use: true }),
      },
      clock: bench.clock,
      onDue,
      onCancelled: () => undefined,
      isBusy: () => false,
      onFault: (error) => faults.push(error),
    });
    if (how !== "not at all") await makeDead(bench, lane, load.dead);

    const acceptedAt = new Map<string, number>();
    const waits: number[] = [];
    const times = new Map<string, number>();
    bench.answerWith(({ eventId, startedAt }) => {
      const at = acceptedAt.get(eventId);
      if (at === undefined) times.set(eventId, (times.get(eventId) ?? 0) + 1);
      else waits.push(startedAt - at);
      return OK;
    }, LATENCY_MS);

    const replay = newReplay(lane.seq, load.dead);
    if (how === "as a job") runner.add(await beginReplay(bench.store, replay));
    if (how === "at once") {
      const keys = Array.from({ length: load.dead }, (_, n) => ({ eventSeq: n + 1, subscriptionSeq: lane.seq }));
      const options = { ordered: false, expiresAt: undefined };
      await Promise.all(keys.map((key) => bench.store.lanes.change(key, { act: "replay", ...options })));
      onDue(lane);
    }
    let [fresh, endedAfter] = [0, 0];
    for (let second = 1; second <= load.seconds; second++) {
      for (let n = 0; n < load.freshPerSecond; n++) {
        const id = `fresh-${fresh++}`;
        acceptedAt.set(id, bench.clock.now());
        void bench.publish({ id });
        await bench.move(SECOND_MS / load.freshPerSecond);
      }
      if (endedAfter === 0 && times.size === load.dead) endedAfter = second;
    }
    await runner.stop();
    expect(faults).toEqual([]);
    const sorted = waits.toSorted((a, b) => a - b);
    return {
      p99Ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY),
      maxMs: Math.round(sorted.at(-1) ?? Number.POSITIVE_INFINITY),
      replayed: times.size,
      times: new Set(times.values()),
      secondsTaken: endedAfter,
    };
  }

  it(`hardly wait for them: ${count(DEAD)} are replayed beside a steady stream`, async () => {
    // 320 a second can be sent.
    const load = { dead: DEAD, concurrency: 16, freshPerSecond: 40, seconds: DEAD / 250 };
    const figures = await simulate(load, "as a job");
    report(
      `replay of ${count(load.dead)} beside ${load.freshPerSecond} events/s in a lane of 320/s: done after ` +
        `${figures.secondsTaken} s, fresh events waited p99 ${figures.p99Ms} ms, at most ${figures.maxMs} ms`,
    );
    expect(figures.replayed).toBe(load.dead);
    expect([...figures.times]).toEqual([1]);
    expect(figures.secondsTaken).toBeGreaterThan(0);
    expect(figures.p99Ms).toBeLessThanOrEqual(500);
    expect(figures.maxMs).toBeLessThanOrEqual(1000);
  });

  it("hardly wait for them even where there is little room beside the stream", async () => {
    // 40 a second can be sent.
    const load = { dead: 3000, concurrency: 2, freshPerSecond: 36, seconds: SECONDS_BESIDE };
    const figures = await simulate(load, "as a job");
    report(
      `replay beside 36 events/s in a lane of 40/s: ${count(figures.replayed)} after ${load.seconds} s, fresh events ` +
        `waited p99 ${figures.p99Ms} ms, at most ${figures.maxMs} ms`,
    );
    expect(figures.replayed).toBeGreaterThan(load.seconds);
    expect(figures.maxMs).toBeLessThanOrEqual(3000);
  });

  it("is a test that can fail: opened at once, as if they were new, they hold everything up", async () => {
    const load = { dead: 600, concurrency: 2, freshPerSecond: 20, seconds: 20 };
    const [together, without] = [await simulate(load, "at once"), await simulate(load, "not at all")];
    report(
      `control, all at once: fresh events waited up to ${together.maxMs} ms, without a replay ${without.maxMs} ms`,
    );
    expect(together.maxMs).toBeGreaterThan(10_000);
    expect(without.maxMs).toBeLessThan(200);
  });
});

function newReplay(subscriptionSeq: number, dead: number): NewReplay {
  return {
    id: "rpl_1",
    tenantId: "default",
    kind: "dead_letters",
    filter: {},
    subscriptionSeq,
    laneSeq: undefined,
    afterSeq: 0,
    upToSeq: dead,
    cursor: formatCursor(firstCursor(0, subscriptionSeq)),
    total: dead,
    totalIsExact: true,
    createdAt: NOON,
  };
}
