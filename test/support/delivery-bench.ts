/** A scheduler on a real store in virtual time, with a dispatch that answers when the test says so. */
import type { Accepted } from "../../src/model/accepted.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import type { Clock } from "../../src/model/clock.ts";
import { DELIVERED, failedHere, type Outcome } from "../../src/model/outcome.ts";
import { createSeededRandom } from "./seeded-random.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import type { Dispatch } from "../../src/deliver/attempt.ts";
import type { HealthCheck } from "../../src/deliver/shared-checks.ts";
import { createHealthWatch, type HealthWatch } from "../../src/deliver/target-health.ts";
import { createScheduler, type Scheduler } from "../../src/deliver/scheduler.ts";
import type { SchedulerOptions } from "../../src/deliver/scheduler.ts";
import { ONE_BY_ONE, type BatchLimits } from "../../src/destinations/sender.ts";
import { createFanOut, type FanOut } from "../../src/accept/fan-out.ts";
import { createRouter } from "../../src/accept/router.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { NewEvent } from "../../src/store/port/event-log.ts";
import type { ClaimedDelivery } from "../../src/store/port/lanes.ts";
import type { Store } from "../../src/store/store.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { answered, HTTP_DESTINATION, recordOf, unreachable } from "./http-outcomes.ts";
import { newEvent, insertSubscription, NOON } from "./store-fixtures.ts";
import { createVirtualClock, createVirtualTime, moveClock, type VirtualTime } from "./virtual-clock.ts";
import { settleCalls, watchCalls, type Life } from "./watched-store.ts";
import { MEMORY_FOLDER } from "./memory-folder.ts";

export interface Flight {
  readonly eventId: string;
  readonly delivery: ClaimedDelivery;
  /** Of all that go with it, itself the first. */
  readonly eventIds: readonly string[];
  readonly subscription: Subscription;
  readonly startedAt: number;
  /** The same for each, or what the function says. */
  answer(outcome?: Outcome | ((eventId: string) => Outcome)): Promise<void>;
}

export interface DeliveryBench {
  readonly time: VirtualTime;
  readonly clock: Clock;
  readonly store: Store;
  readonly scheduler: Scheduler;
  /** Checks what it is told to. */
  readonly health: HealthWatch;
  readonly fanOut: FanOut;
  /** What is in flight, oldest first. */
  readonly flights: readonly Flight[];
  /** Ids of events in the order in which they were sent. */
  readonly sent: readonly string[];
  /** What the scheduler told about modes and suspensions. */
  readonly told: readonly string[];
  /** Answers every attempt after `afterMs`, until it is called again. */
  answerWith(answer: ((flight: Flight) => Outcome | undefined) | undefined, afterMs?: number): void;
  subscribe(change?: Partial<Subscription>): Promise<Subscription>;
  subscriptions(): Iterable<Subscription>;
  change(subscription: Subscription, change: Partial<Subscription>): Promise<Subscription>;
  remove(subscription: Subscription): Promise<void>;
  publish(change?: Partial<NewEvent>): Promise<Accepted>;
  /** Publishes one event for each id, all at once. */
  publishAll(ids: readonly string[], change?: Partial<NewEvent>): Promise<void>;
  stateOf(eventSeq: number, subscription: Pick<Subscription, "seq">): Promise<string | undefined>;
  /** Until nothing happens any more without the clock. */
  settle(): Promise<void>;
  move(byMs: number): Promise<void>;
  close(): Promise<void>;
}

export const OK: Outcome = DELIVERED;
export const DOWN: Outcome = unreachable();

export function refused(status: number): Outcome {
  return answered(status);
}

export function gone(): Outcome {
  return answered(410);
}

export interface DeliveryBenchOptions extends Partial<
  Pick<
    SchedulerOptions,
    "maxInFlight" | "maxBodyBytes" | "findSavedState" | "findSharedTarget" | "onAttempt" | "onSettled" | "onFault"
  >
> {
  /** How many go in one attempt; without it each goes alone. */
  limits?: BatchLimits;
  /** The health of targets; without it they are well. */
  check?: HealthCheck;
  wrap?: (store: Store) => Store;
}

/** For a test file: every bench that it opens is closed after its test. */
export function useDeliveryBench(): (options?: DeliveryBenchOptions) => Promise<DeliveryBench> {
  let opened: DeliveryBench[] = [];
  afterEach(async () => {
    for (const bench of opened) await bench.close();
    opened = [];
  });
  afterAll(async () => {
    // The last test's promises may hold its bench for a few turns.
    for (let i = 0; i < 4; i++) await collectGarbage();
  });
  return async (options) => {
    const bench = await openDeliveryBench(options);
    opened.push(bench);
    return bench;
  };
}

async function openDeliveryBench(options: DeliveryBenchOptions = {}): Promise<DeliveryBench> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-bench-"));
  const time = createVirtualTime(NOON);
  const clock = createVirtualClock(time);
  const life: Life = { state: "alive", calls: { made: 0, open: 0 }, tell: (run) => run() };
  const file = join(folder, "posthorn.db");
  const opened = await openSqliteStore({
    file,
    createClock: () => clock,
    dedupeHorizonMs: 86_400_000,
    thread: false,
    synchronous: "OFF",
    onFatal: (error) => {
      throw error;
    },
  });
  const store = watchCalls(options.wrap?.(opened) ?? opened, life);
  const subscriptions = new Map<number, Subscription>();
  const flights: Flight[] = [];
  const sent: string[] = [];
  const told: string[] = [];
  let respond: ((flight: Flight) => Outcome | undefined) | undefined;
  let latencyMs = 1;

  const settle = () => settleCalls(() => life.calls);
  const dispatch: Dispatch = {
    limitsOf: () => options.limits ?? ONE_BY_ONE,
    send(deliveries, subscription, done) {
      const startedAt = clock.now();
      const eventIds = deliveries.map(({ event }) => event.id);
      const delivery = deliveries[0] as ClaimedDelivery;
      const finish = (outcome: Outcome | ((eventId: string) => Outcome)) => {
        const at = flights.indexOf(flight);
        if (at === -1) return;
        flights.splice(at, 1);
        const of = typeof outcome === "function" ? outcome : () => outcome;
        const durationMs = clock.now() - startedAt;
        done(eventIds.map((id) => ({ outcome: of(id), startedAt, durationMs, record: recordOf(subscription) })));
      };
      const flight: Flight = {
        eventId: delivery.event.id,
        eventIds,
        delivery,
        subscription,
        startedAt,
        async answer(outcome = OK) {
          finish(outcome);
          await settle();
        },
      };
      flights.push(flight);
      sent.push(...eventIds);
      const outcome = respond?.(flight);
      if (outcome !== undefined) time.after(latencyMs, () => finish(outcome));
    },
    async close() {
      for (const flight of flights.slice()) void flight.answer(failedHere("stopped"));
    },
  };
  const scheduler = createScheduler({
    inFlight: { start: (deliveries, go) => go(deliveries.map(() => 0)), end: () => undefined },
    store,
    dispatch,
    clock,
    random: createSeededRandom(1),
    findSubscription: (seq) => subscriptions.get(seq),
    maxInFlight: options.maxInFlight ?? 100,
    maxBodyBytes: options.maxBodyBytes ?? 1_000_000,
    findSavedState: options.findSavedState,
    findSharedTarget: options.findSharedTarget,
    onTargetFailed: (target) => health.checkSoon(target),
    onAttempt: options.onAttempt,
    onSettled: options.onSettled,
    onFault: options.onFault ?? throwFault,
    onMode: ({ name }, change) => told.push(`${name} ${change}`),
    onFailing: ({ name }) => told.push(`${name} failing`),
    onState: () => undefined,
    onSuspend(subscription, reason) {
      told.push(`${subscription.name} suspended: ${reason}`);
      subscriptions.set(subscription.seq, { ...subscription, status: "suspended" });
      scheduler.refresh(subscription.seq);
    },
  });
  const health = createHealthWatch({
    clock,
    random: createSeededRandom(2),
    check: options.check ?? ((_, __, done) => void time.after(1, () => done(undefined))),
    lanes: scheduler.targets,
    onMode: (_, change) => told.push(`health ${change}`),
  });
  const router = createRouter();
  const fanOut = createFanOut({ store, router, scheduler, clock });

  function replace(subscription: Subscription): Subscription {
    subscriptions.set(subscription.seq, subscription);
    router.update([...subscriptions.values()]);
    return subscription;
  }

  async function publish(change: Partial<NewEvent> = {}): Promise<Accepted> {
    const now = clock.now();
    const event = newEvent({ receivedAt: now, dueAt: now, ...change });
    const result = await new Promise<Accepted>((resolve) => fanOut.accept(event, resolve));
    await settle();
    return result;
  }

  return {
    time,
    clock,
    store,
    scheduler,
    health,
    fanOut,
    flights,
    sent,
    told,
    answerWith(answer, afterMs = 1) {
      respond = answer;
      latencyMs = afterMs;
    },
    async subscribe(change = {}) {
      const name = change.name ?? `sub-${subscriptions.size + 1}`;
      const tenantId = change.tenantId ?? "default";
      const seq = await insertSubscription(store, name, { tenantId });
      return replace({ ...BASE, ...change, seq, id: `sub_${name}`, name, tenantId });
    },
    subscriptions: () => subscriptions.values(),
    async change(subscription, change) {
      const changed = replace({ ...subscription, ...change });
      scheduler.refresh(changed.seq);
      await settle();
      return changed;
    },
    async remove({ seq }) {
      subscriptions.delete(seq);
      router.update([...subscriptions.values()]);
      scheduler.refresh(seq);
      await settle();
    },
    publish,
    async publishAll(ids, change) {
      await Promise.all(ids.map((id) => publish({ id, ...change })));
    },
    async stateOf(eventSeq, { seq }) {
      return (await store.reads.findDelivery({ eventSeq, subscriptionSeq: seq }))?.state;
    },
    settle,
    move: (byMs) => moveClock(time, byMs, settle),
    async close() {
      await opened.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function throwFault(error: unknown): never {
  throw error;
}

const BASE: Omit<Subscription, "seq" | "id" | "name" | "tenantId"> = {
  version: 1,
  kind: "http",
  destination: HTTP_DESTINATION,
  place: HTTP_DESTINATION.url,
  events: ["#"],
  filter: undefined,
  status: "active",
  secrets: [],
  retryPolicy: { delays_s: [10, 100, 1000, 10_000] },
  timeoutMs: 30_000,
  rateLimitPerMinute: undefined,
  concurrency: 4,
  ordered: false,
  onDeadHead: "block",
  maxAgeMs: undefined,
  description: undefined,
  managedBy: "api",
  createdAt: NOON,
  updatedAt: NOON,
};
