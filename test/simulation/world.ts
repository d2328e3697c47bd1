/** The gateway of a simulation with everything around it: senders, destinations, time, and what each of them knows. */
import { PosthornError } from "../../src/model/errors.ts";
import type { Subscription, SubscriptionInput } from "../../src/model/subscription.ts";
import type { Accepted } from "../../src/model/accepted.ts";
import type { DeliveryKey } from "../../src/store/port/lanes.ts";
import type { SentEvent } from "../support/accounting.ts";
import type { Chance } from "../support/chance.ts";
import {
  createSimulatedSender,
  hashOf,
  type Destination,
  type SimulatedSender,
} from "../support/simulated-destination.ts";
import { openSimulatedGateway, type BrokenParts, type SimulatedGateway } from "../support/simulated-gateway.ts";
import { createVirtualTime, type VirtualTime } from "../support/virtual-clock.ts";
import { nextTurn, settleCalls } from "../support/watched-store.ts";
import { createObserver, type Observer } from "./observer.ts";
import { drawDestination, drawEvents, isWanted, MINUTE, type DrawnEvent, type Scenario } from "./scenario.ts";

const START_AT = 1_760_000_000_000;

export interface World {
  readonly time: VirtualTime;
  readonly scenario: Scenario;
  readonly observer: Observer;
  readonly gateway: SimulatedGateway;
  /** What will be published. */
  readonly drawn: readonly DrawnEvent[];
  readonly senders: readonly SentEvent[];
  readonly crashes: number;
  /** Every subscription there ever was, as it was last seen. */
  readonly subscriptions: ReadonlyMap<string, Subscription>;
  /** Deliveries (`eventSeq subscriptionSeq`) that an operator cancelled. */
  readonly cancelled: Set<string>;
  readonly deleted: Set<string>;
  /** An operator replayed an event to a subscription that did not have it. */
  noteNewDelivery(eventId: string, key: DeliveryKey): void;
  /** Those deliveries, as `eventSeq subscriptionSeq`. */
  readonly madeByReplay: ReadonlySet<string>;
  createSubscription(input: SubscriptionInput): Promise<Subscription>;
  publishAll(): void;
  healDestinations(): void;
  /** Ends the process in the middle of its work, and starts another one. */
  crash(chance: Chance): Promise<void>;
  restart(chance: Chance): Promise<void>;
  /** Runs `act`, and lets time pass until it is done. */
  plan(at: number, act: () => Promise<void>): void;
  /** Runs `act`, which lets time pass by itself. */
  planAccident(at: number, act: () => Promise<void>): void;
  pump<T>(work: Promise<T>): Promise<T>;
  runUntil(elapsedMs: number, isOver?: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  folder: string;
  chance: Chance;
  scenario: Scenario;
  broken: BrokenParts | undefined;
}

export async function openWorld({ folder, chance, scenario, broken }: WorldOptions): Promise<World> {
  const time = createVirtualTime(START_AT);
  const observer = createObserver(time);
  const drawn = drawEvents(chance.fork(), scenario);
  const destinations = new Map<string, Destination>();
  const subscriptions = new Map<string, Subscription>();
  const sent = new Map<string, SentEvent>();
  const cancelled = new Set<string>();
  const deleted = new Set<string>();
  const madeByReplay = new Set<string>();
  const planned: (() => Promise<void>)[] = [];
  let isHealed = false;
  let stamp = 0;
  let crashes = 0;
  let sender: SimulatedSender;
  let calls = { made: 0, open: 0 };
  const settle = () => settleCalls(() => calls);
  /** What would happen to a process that is not there happens right after its start. */
  let isDown = false;
  const whenUp: (() => void)[] = [];
  const whileUp = (run: () => void) => () => (isDown ? void whenUp.push(run) : run());
  let gateway = await pump(open());

  async function open(): Promise<SimulatedGateway> {
    calls = { made: 0, open: 0 };
    return openSimulatedGateway({
      folder,
      time,
      chance,
      calls,
      createSender({ clock, isAlive }) {
        const own = createSimulatedSender({
          time,
          isAlive,
          findDestination: ({ subscription }) => destinations.get(subscription.id) as Destination,
          onSend(sending) {
            observer.sent(sending, { now: clock.now(), inFlight: own.inFlight });
            if (own.inFlight.size > scenario.maxInFlight + subscriptions.size) {
              observer.violation(`${own.inFlight.size} are in flight`);
            }
          },
        });
        sender = own;
        return own;
      },
      maxInFlight: scenario.maxInFlight,
      maxBodyBytes: scenario.maxBodyBytes,
      maxRows: scenario.maxRows,
      commitMs: scenario.commitMs,
      onFault: (error) => observer.violation(`a fault: ${describe(error)}`),
      onDispatch: observer.dispatched,
      onAttempt: observer.attempted,
      onMode: observer.modeChanged,
      onSuspend: ({ name }, reason) => observer.trace(`suspend ${name}: ${reason}`),
      broken,
    });
  }

  function publish(event: DrawnEvent): void {
    const { publisher, subscriptions: known, accept, clock } = gateway;
    const hash = hashOf(Buffer.from(event.payload));
    const expected = known
      .list(event.tenantId)
      .filter((subscription) => isWanted(subscription.events, event.type)).length;
    let record = sent.get(event.payload);
    if (record === undefined) {
      const { tenantId, orderingKey } = event;
      const unanswered = { answer: "unknown", answeredAt: Number.POSITIVE_INFINITY, eventId: undefined } as const;
      record = { hash, tenantId, orderingKey, sentAt: ++stamp, deliveries: undefined, ...unanswered };
      sent.set(event.payload, record);
    }
    const mine = record;
    const answered = (result: Accepted | undefined) => noteAnswer(event, mine, expected, result);
    if (event.eventId === undefined && event.expiresInMs === undefined && event.payload.length % 2 === 0) {
      const dueAt = clock.now() + Math.round(event.deliverInMs ?? 0);
      return accept({ ...received(event, time.wall()), dueAt, fanOutCursor: undefined }, answered);
    }
    publisher.publish(Buffer.from(publishBody(event, time.wall())), {}, ({ results }) => answered(results[0]));
  }

  function noteAnswer(event: DrawnEvent, record: SentEvent, expected: number, result: Accepted | undefined): void {
    observer.trace(`publish ${event.eventId ?? ""}${event.payload.slice(0, 14)}: ${result?.kind}`);
    if (result?.kind === "stored") {
      if (record.answer === "acknowledged") observer.violation(`${result.eventId} was stored twice`);
      if (result.deliveries !== expected) {
        observer.violation(`${result.eventId} has ${result.deliveries} deliveries instead of ${expected}`);
      }
      Object.assign(record, { answer: "acknowledged", answeredAt: ++stamp, eventId: result.eventId });
      record.deliveries = expected;
    } else if (result?.kind === "duplicate") {
      if (record.answer === "unknown") {
        Object.assign(record, { answer: "acknowledged", answeredAt: ++stamp, eventId: result.eventId });
      }
    } else {
      observer.violation(
        `an event was ${result?.kind}: ${describe(result && "error" in result ? result.error : result)}`,
      );
    }
  }

  /** Lets time pass until it is done. */
  async function pump<T>(work: Promise<T>, beforeStep?: () => void): Promise<T> {
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    done.catch(() => undefined);
    for (;;) {
      await settle();
      if (isDone || time.nextAt() === undefined) return done;
      beforeStep?.();
      time.step();
    }
  }

  async function runUntil(end: number, isOver: () => boolean = () => false): Promise<void> {
    for (let at = time.nextAt(); at !== undefined && at <= end && !isOver(); at = time.nextAt()) {
      const { made } = calls;
      time.step();
      if (calls.made !== made) await settle();
      for (let act = planned.shift(); act !== undefined; act = planned.shift()) await act();
    }
    time.moveTo(end);
  }

  async function comeBack(downChance: Chance): Promise<void> {
    const end = time.elapsedMs + downChance.pick([0, 1_000, 10 * MINUTE]) * downChance.between(0, 1);
    for (let at = time.nextAt(); at !== undefined && at <= end; at = time.nextAt()) time.step();
    gateway = await pump(open());
    isDown = false;
    for (const run of whenUp.splice(0)) time.after(1, run);
  }

  return {
    time,
    scenario,
    observer,
    drawn,
    subscriptions,
    cancelled,
    deleted,
    get gateway() {
      return gateway;
    },
    get senders() {
      return [...sent.values()];
    },
    get crashes() {
      return crashes;
    },
    madeByReplay,
    noteNewDelivery(eventId, { eventSeq, subscriptionSeq }) {
      madeByReplay.add(`${eventSeq} ${subscriptionSeq}`);
      for (const record of sent.values()) {
        if (record.eventId === eventId && record.deliveries !== undefined) record.deliveries++;
      }
    },
    async createSubscription(input) {
      const { name } = input;
      const destination = drawDestination(chance.fork(), time.elapsedMs, scenario.activeMs);
      const subscription = await gateway.subscriptions.create(input);
      if (isHealed) destination.moods = [];
      destinations.set(subscription.id, destination);
      subscriptions.set(subscription.id, subscription);
      observer.trace(`create ${name} ${JSON.stringify({ ...input, name: undefined, url: undefined })}`);
      return subscription;
    },
    publishAll() {
      for (const event of drawn) {
        for (const afterMs of [0, ...event.repeatsAfterMs]) {
          time.after(
            event.at + afterMs - time.elapsedMs,
            whileUp(() => publish(event)),
          );
        }
      }
    },
    healDestinations() {
      isHealed = true;
      observer.trace("destinations are healed");
      for (const destination of destinations.values()) destination.moods = [];
    },
    async crash(crashChance) {
      crashes++;
      gateway.startDying(crashChance.pick(["lost", "unanswered"] as const));
      // Its last moments: what it writes is lost, or nobody hears of it.
      const end = time.elapsedMs + crashChance.pick([0, 5, 500]);
      const unsettled = new Set(sender.inFlight);
      for (let at = time.nextAt(); at !== undefined && at <= end; at = time.nextAt()) {
        time.step();
        await nextTurn();
        for (const sending of sender.inFlight) unsettled.add(sending);
      }
      observer.trace(`crash with ${unsettled.size} in flight`);
      observer.interrupted(unsettled, gateway.clock.now());
      isDown = true;
      await gateway.kill();
      await comeBack(crashChance);
      observer.trace("started again");
    },
    async restart(restartChance) {
      observer.stopBegan();
      isDown = true;
      let left = [...sender.inFlight];
      await pump(gateway.stop(20_000), () => (left = left.filter((sending) => sender.inFlight.has(sending))));
      observer.interrupted(left, gateway.clock.now());
      await comeBack(restartChance);
      observer.trace("started again after a stop");
    },
    plan(at, act) {
      time.after(
        at - time.elapsedMs,
        whileUp(() => void planned.push(() => pump(act()))),
      );
    },
    planAccident(at, act) {
      time.after(
        at - time.elapsedMs,
        whileUp(() => void planned.push(act)),
      );
    },
    pump,
    runUntil,
    async close() {
      await gateway.kill();
    },
  };
}

function publishBody(event: DrawnEvent, wall: number): string {
  const fields: Record<string, unknown> = {
    event_type: event.type,
    event_id: event.eventId,
    tenant_id: event.tenantId,
    priority: event.priority,
    ordering_key: event.orderingKey,
    deliver_at: event.deliverInMs === undefined ? undefined : new Date(wall + event.deliverInMs).toISOString(),
    expires_at: event.expiresInMs === undefined ? undefined : new Date(wall + event.expiresInMs).toISOString(),
  };
  return `${JSON.stringify(fields).slice(0, -1)},"payload":${event.payload}}`;
}

/** As a webhook receiver would hand it over. */
function received(event: DrawnEvent, wall: number) {
  return {
    id: `evt-${hashOf(Buffer.from(event.payload))}`,
    givenId: false,
    type: event.type,
    version: "1.0",
    source: "shop",
    tenantId: event.tenantId,
    priority: event.priority,
    origin: "webhook" as const,
    occurredAt: wall,
    receivedAt: wall,
    expiresAt: undefined,
    orderingKey: event.orderingKey,
    dedupeKey: undefined,
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: Buffer.from(event.payload),
  };
}

function describe(error: unknown): string {
  if (error instanceof PosthornError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
