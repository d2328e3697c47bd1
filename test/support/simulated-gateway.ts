/** The whole engine on the real store, without threads and sockets, so that it lives in virtual time and can die. */
import { join } from "node:path";
import type { Clock } from "../../src/model/clock.ts";
import { createIdSource } from "../../src/model/ids.ts";
import { type Dispatch, createDispatch } from "../../src/deliver/attempt.ts";
import { createFallbackDrain } from "../../src/deliver/fallback-drain.ts";
import type { HealthCheck } from "../../src/deliver/shared-checks.ts";
import { createHealthWatch } from "../../src/deliver/target-health.ts";
import { openInFlightFile } from "../../src/deliver/in-flight-file.ts";
import type { TargetMode } from "../../src/deliver/mode.ts";
import { createScheduler, type Scheduler, type SchedulerOptions } from "../../src/deliver/scheduler.ts";
import type { Slots } from "../../src/deliver/slots.ts";
import { createDestinationKinds } from "../../src/destinations/kinds.ts";
import type { DestinationKind } from "../../src/destinations/destination-kind.ts";
import type { Sender } from "../../src/destinations/sender.ts";
import type { Subscription } from "../../src/model/subscription.ts";
import { createReplays, type Replays } from "../../src/replays/replays.ts";
import { createSecretBox } from "../../src/resources/secret-box.ts";
import { openSubscriptions, type Subscriptions } from "../../src/resources/subscriptions/subscriptions.ts";
import {
  createSubscriptionLanes,
  type SubscriptionLanes,
} from "../../src/resources/subscriptions/subscription-lanes.ts";
import { createTargets, type Targets } from "../../src/resources/target-states.ts";
import { startUpkeep } from "../../src/jobs/upkeep.ts";
import { DEFAULT_PUBLISH_LIMITS } from "../../src/intake/publish/publish-body.ts";
import { createPublisher, type Publisher } from "../../src/intake/publish/publish.ts";
import { createChecker } from "../../src/sandbox/checks/checker.ts";
import { createSchemaChecker } from "../../src/sandbox/checks/schema-check.ts";
import { startFollowing, createRegistry } from "../../src/resources/registry.ts";
import { createMasking } from "../../src/accept/masking.ts";
import { createAuthors } from "../../src/resources/authors.ts";
import { openSharedTargets, type SharedTargets } from "../../src/resources/targets.ts";
import { createFanOut, type FanOut } from "../../src/accept/fan-out.ts";
import { createRouter } from "../../src/accept/router.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { ClaimedDelivery } from "../../src/store/port/lanes.ts";
import type { Store } from "../../src/store/store.ts";
import type { Chance } from "./chance.ts";
import { createVirtualClock, type VirtualTime } from "./virtual-clock.ts";
import { watchCalls, type Life } from "./watched-store.ts";

export interface SimulatedGateway {
  /** For those who look on: it answers without delay. */
  readonly store: Store;
  readonly clock: Clock;
  readonly subscriptions: Subscriptions;
  readonly lanes: SubscriptionLanes;
  readonly sharedTargets: SharedTargets;
  readonly scheduler: Scheduler;
  readonly targets: Targets;
  readonly accept: FanOut["accept"];
  readonly plan: FanOut["plan"];
  readonly publisher: Publisher;
  readonly replays: Replays;
  /** From now on the process cannot write any more (`lost`), or no longer hears of it (`unanswered`). */
  startDying(how: "lost" | "unanswered"): void;
  /** What a killed process leaves: the files, and nothing that goes on. */
  kill(): Promise<void>;
  /** A graceful end. Virtual time must go on until it resolves. */
  stop(deadlineMs: number): Promise<void>;
}

/** Each breaks a promise, to show that the simulation sees it. */
export interface BrokenParts {
  store?: (store: Store) => Store;
  scheduler?: (scheduler: Scheduler) => Scheduler;
  skipRecovery?: boolean;
  slots?: Slots;
}

export interface SimulatedGatewayOptions {
  folder: string;
  time: VirtualTime;
  chance: Chance;
  createSender: (parts: SenderParts) => Sender;
  /** How the health of targets is asked; without it none is. */
  check?: HealthCheck;
  /** More kinds of destinations; all of them have the one sender. */
  kinds?: readonly DestinationKind[];
  /** How many wait in the queue of a fallback; and whether senders wait for attempts. */
  countWaiting?: (fallback: Subscription) => Promise<number | undefined>;
  isAwaited?: SchedulerOptions["isAwaited"];
  /** How often the store was called; what it has not yet done. */
  calls: { made: number; open: number };
  maxInFlight: number;
  maxBodyBytes: number;
  /** How much fits into one transaction; with few, a fan-out goes on from its cursor. */
  maxRows: number;
  /** How long the store takes to answer. */
  commitMs: number;
  onFault: (error: unknown) => void;
  /** It is one of several on the folder, and hears of what the others change. */
  follows?: boolean;
  onDispatch?: (subscription: Subscription, delivery: ClaimedDelivery, mode: TargetMode | undefined) => void;
  onAttempt?: SchedulerOptions["onAttempt"];
  onMode?: SchedulerOptions["onMode"];
  onSuspend?: SchedulerOptions["onSuspend"];
  broken?: BrokenParts | undefined;
}

export interface SenderParts {
  clock: Clock;
  isAlive: () => boolean;
}

/** Longer than the gateway's own, because days pass here. */
const UPKEEP_EVERY_MS = 300_000;

export async function openSimulatedGateway(options: SimulatedGatewayOptions): Promise<SimulatedGateway> {
  const { time, chance, onFault, broken } = options;
  const life: Life = {
    state: "alive",
    calls: options.calls,
    tell: (run) => (options.commitMs === 0 ? run() : void time.after(options.commitMs, run)),
  };
  const isAlive = () => life.state !== "dead";
  const opened = await openSqliteStore({
    file: join(options.folder, "posthorn.db"),
    createClock: (lastKnownNow) => mortalClock(createVirtualClock(time, Math.max(time.wall(), lastKnownNow)), isAlive),
    dedupeHorizonMs: 7 * 86_400_000,
    thread: false,
    synchronous: "OFF",
    onFatal: onFault,
  });
  const limited = { ...opened, limits: { ...opened.limits, maxRows: options.maxRows } };
  const store = watchCalls(broken?.store?.(limited) ?? limited, life);
  const { clock } = store;
  const { random } = chance.fork();
  const createId = createIdSource(clock, random);
  const sender = options.createSender({ clock, isAlive });
  const inFlight = openInFlightFile(join(options.folder, "in-flight"), {
    places: options.maxInFlight,
    onFault,
    defer: (write) => write(),
  });
  const local = createDispatch({
    senders: { find: () => sender, close: () => sender.close() },
    store,
    clock,
  });
  const dispatch: Dispatch = {
    ...local,
    send(deliveries, subscription, done) {
      for (const delivery of deliveries) {
        options.onDispatch?.(subscription, delivery, scheduler.findMode(subscription.seq));
      }
      local.send(deliveries, subscription, done);
    },
  };
  const router = createRouter();
  const authors = createAuthors();
  const registry = createRegistry({ records: store.records, clock, authors });
  const sharedTargets = await openSharedTargets({
    registry,
    checkDestination: () => undefined,
    findUser: () => undefined,
    findOwner: () => undefined,
    async onChange(changes) {
      targets.take(changes);
      await subscriptions.retarget();
      watchHealth();
    },
  });
  const targets = createTargets({
    shared: sharedTargets,
    store,
    clock,
    authors,
    subscriptions: () => subscriptions,
    scheduler: () => ownScheduler,
    onMode: () => undefined,
    onChange: () => watchHealth(),
  });
  const subscriptions = await openSubscriptions({
    registry,
    clock,
    random,
    secretBox: createSecretBox("a master key for simulations"),
    createId,
    kinds: createDestinationKinds(options.kinds),
    rejectDestination: () => undefined,
    findTarget: sharedTargets.findInput,
    async onChange(changes) {
      router.update(subscriptions.list(undefined));
      for (const { before, after } of changes) scheduler.refresh((after ?? before)?.seq as number);
      watchHealth();
      await lanes.skipDeadHeads(changes);
    },
  });
  const lanes = createSubscriptionLanes({
    store,
    subscriptions,
    onMovedUp: (seq) => scheduler.refresh(seq),
  });
  const ownScheduler = createScheduler({
    inFlight,
    store,
    dispatch,
    clock,
    random,
    findSubscription: subscriptions.find,
    findSavedState: targets.findSaved,
    findSharedTarget: targets.findShared,
    findFallback: subscriptions.findFallback,
    findForward: subscriptions.findForward,
    isAwaited: options.isAwaited,
    onTargetFailed: (target) => health.checkSoon(target),
    maxInFlight: options.maxInFlight,
    maxBodyBytes: options.maxBodyBytes,
    slots: broken?.slots,
    onAttempt: options.onAttempt,
    onFault,
    onMode(subscription, change, target) {
      options.onMode?.(subscription, change, target);
      targets.saveMode(targets.of(subscription)).catch(onFault);
    },
    onFailing: () => undefined,
    onState: (subscription, state) => void targets.saveState(subscription, state).catch(onFault),
    onSuspend(subscription, reason, facts) {
      options.onSuspend?.(subscription, reason, facts);
      subscriptions.suspend(subscription).catch(onFault);
    },
  });
  const scheduler = broken?.scheduler?.(ownScheduler) ?? ownScheduler;
  const drain = createFallbackDrain({
    clock,
    store,
    scheduler,
    listForwards: () => subscriptions.list(undefined).filter(({ fallback }) => fallback !== undefined),
    findFallback: subscriptions.findFallback,
    listFormerFallbacks: () => [],
    countQueue: (fallback) => options.countWaiting?.(fallback) ?? Promise.resolve(undefined),
    onOverdue: () => undefined,
    onFault,
  });
  const health = createHealthWatch({
    clock,
    random,
    drain,
    check: (address, owner, done) => options.check?.(address, owner, (error) => void (isAlive() && done(error))),
    lanes: ownScheduler.targets,
    onMode(target, change) {
      if (change === "closed") drain.bringBack(target);
      const known = targets.findKnown(target);
      if (known !== undefined) targets.saveMode(known).catch(onFault);
    },
  });
  function watchHealth(): void {
    if (options.check !== undefined) health.watch(targets.listChecked());
  }
  const fanOut = createFanOut({ store, router, scheduler, clock });
  const upkeep = startUpkeep({ store, clock, onMovedUp: scheduler.refresh, onFault, everyMs: UPKEEP_EVERY_MS });
  const replays = createReplays({
    store,
    subscriptions,
    clock,
    authors,
    onDue: (subscription) => scheduler.recordPending(subscription, clock.now()),
    onCancelled: scheduler.withdraw,
  });
  const { accept } = fanOut;
  const publisher = createPublisher({
    accept,
    clock,
    createId,
    limits: DEFAULT_PUBLISH_LIMITS,
    schemas: createSchemaChecker(createChecker()),
    masking: createMasking(),
  });

  if (broken?.skipRecovery !== true) await store.lanes.recover(inFlight.left, inFlight.wasStopped);
  inFlight.begin();
  router.update(subscriptions.list(undefined));
  await fanOut.resume();
  await scheduler.start();
  watchHealth();
  void lanes.resume().catch(onFault);
  const following = options.follows === true ? startFollowing({ registry, clock, onFault }) : undefined;

  return {
    store: opened,
    clock,
    subscriptions,
    lanes,
    sharedTargets,
    scheduler,
    targets,
    accept,
    plan: fanOut.plan,
    publisher,
    replays,
    startDying(how) {
      life.state = how;
    },
    async kill() {
      life.state = "dead";
      void upkeep.stop();
      // The disk keeps what was on its way to it; nobody hears of it.
      await opened.close();
      inFlight.close();
    },
    async stop(deadlineMs) {
      await following?.stop();
      health.stop();
      await scheduler.stop(deadlineMs);
      inFlight.stop();
      await fanOut.settled();
      await upkeep.stop();
      await store.close();
      inFlight.close();
      life.state = "dead";
    },
  };
}

/** Timers of a dead process do not fire. */
function mortalClock(clock: Clock, isAlive: () => boolean): Clock {
  return {
    ...clock,
    setTimer: (at, run) => clock.setTimer(at, () => void (isAlive() && run())),
  };
}
