import { type Accepted, type Done, type Forward, type Rejected, type Stored, rejectedBy } from "../model/accepted.ts";
import type { Clock } from "../model/clock.ts";
import { isDamage, PosthornError } from "../model/errors.ts";
import { hopsOf, originIdOf } from "../model/event.ts";
import { TEST_EVENT_TYPE } from "../model/pattern.ts";
import { traceOf } from "../model/trace-context.ts";
import type { Subscription } from "../model/subscription.ts";
import type { NewDelivery, NewEvent, UnfinishedFanOut } from "../store/port/event-log.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import { type Router, takesFrom } from "./router.ts";

/**
 * An event on its way in: a draft that each stage passes on, changed only by making a new one. It is frozen when it
 * is accepted. Code that creates a draft names every field: V8 gives objects made with a spread hidden classes of
 * their own, so a spread is used only for the few drafts that are changed.
 */
export type IncomingEvent = Readonly<NewEvent>;

type Ageing = Pick<IncomingEvent, "dueAt" | "expiresAt">;

/** The rows of an event that another transaction writes, and a callback for its result. */
export interface Plan {
  event: IncomingEvent;
  deliveries: readonly NewDelivery[];
  done: Done<Accepted>;
}

/** The scheduler, as the fan-out needs it. */
interface Deliverer {
  /** Whether a delivery may be claimed on insert. Its place is reserved until it is written or released. */
  reserve(subscription: Subscription, dueAt: number, bodyBytes: number, isTest: boolean): boolean;
  unreserve(subscription: Subscription): void;
  /** A delivery that was claimed on insert has been written. */
  handOver(delivery: ClaimedDelivery): void;
  /** The fallback that gets the delivery because its target is down; undefined when there is none. */
  divert(subscription: Subscription, dueAt: number): Subscription | undefined;
  /** A new delivery waits in the table. */
  recordPending(subscription: Subscription, dueAt: number): void;
}

interface FanOutOptions {
  store: Store;
  router: Router;
  scheduler: Deliverer;
  clock: Clock;
  onUnmatched?: ((event: IncomingEvent) => void) | undefined;
}

/** After a fault of the store. */
const AGAIN_MS = 1000;

export type FanOut = ReturnType<typeof createFanOut>;

/** Writes an event and its deliveries in one transaction. A fan-out too large for one transaction continues from a cursor. */
export function createFanOut({ store, router, scheduler, clock, onUnmatched }: FanOutOptions) {
  const maxDeliveries = store.limits.maxRows - 1;
  const running = new Set<Promise<void>>();
  let isResumed = false;

  function toDelivery(subscription: Subscription, event: Ageing, claim: boolean): NewDelivery {
    const { maxAgeMs, seq, ordered } = subscription;
    const oldAt = maxAgeMs === undefined ? undefined : event.dueAt + maxAgeMs;
    const expiresAt =
      oldAt === undefined || event.expiresAt === undefined
        ? (oldAt ?? event.expiresAt)
        : Math.min(oldAt, event.expiresAt);
    return { subscriptionSeq: seq, claim, ordered, expiresAt };
  }

  /** Accepts an event for these subscriptions; their patterns and filters are not asked. */
  function acceptFor(event: IncomingEvent, subscriptions: readonly Subscription[], done: Done<Accepted>): void {
    const first = subscriptions.length > maxDeliveries ? takeFirst(subscriptions) : subscriptions;
    // An expired delivery must wait in the lane, where it is found and becomes a dead letter.
    const mayGo = event.expiresAt === undefined || event.expiresAt > clock.now();
    const isTest = event.type === TEST_EVENT_TYPE;
    const isPartial = first.length < subscriptions.length;
    const deliveries: NewDelivery[] = [];
    // One object for all deliveries: a thousand of them hold the event's body once.
    let content: ClaimedDelivery["event"] | undefined;
    const unreserveAll = () =>
      deliveries.forEach(({ claim }, i) => claim && scheduler.unreserve(first[i] as Subscription));
    const goOn = (result: Stored): Accepted => {
      try {
        if (isPartial) continueLater(result.eventSeq, event, subscriptions.slice(first.length));
        if (subscriptions.length === 0) onUnmatched?.(event);
        result.forward = handOver(event, result, content, first, deliveries);
        const unseen = countForSeveral(subscriptions);
        result.deliveries = subscriptions.length - unseen;
        if (unseen > 0) result.operatorDeliveries = unseen;
        return result;
      } catch (error) {
        return notAccepted(error);
      }
    };
    const answer = (result: Accepted) => {
      if (result.kind === "stored") return done(goOn(result));
      unreserveAll();
      done(result);
    };
    try {
      for (const subscription of first) {
        const claim = mayGo && scheduler.reserve(subscription, event.dueAt, event.body.length, isTest);
        deliveries.push(toDelivery(subscription, event, claim));
        if (claim) content ??= contentOf(event);
      }
      store.events.accept(isPartial ? { ...event, fanOutCursor: cursorAfter(first) } : event, deliveries, answer);
    } catch (error) {
      unreserveAll();
      throw error;
    }
  }

  /** All ordered deliveries are written with the event: a later event must find the delivery of the event before it. */
  function takeFirst(subscriptions: readonly Subscription[]): readonly Subscription[] {
    const ordered = subscriptions.filter((subscription) => subscription.ordered).length;
    return subscriptions.slice(0, Math.max(maxDeliveries, ordered));
  }

  /** A delivery that cannot begin keeps no other of the event from it; the error is thrown after the last. */
  function handOver(
    event: IncomingEvent,
    { eventSeq, claimed }: Stored,
    /** What is sent of the event; undefined when no delivery was to be claimed. */
    content: ClaimedDelivery["event"] | undefined,
    subscriptions: readonly Subscription[],
    deliveries: readonly NewDelivery[],
  ): Forward | undefined {
    let forward: Forward | undefined;
    let fault: { error: unknown } | undefined;
    for (let i = 0; i < subscriptions.length; i++) {
      const subscription = subscriptions[i] as Subscription;
      const isForwarding = subscription.mode === "forward";
      // The sender waits for the oldest subscription: where patterns overlap, that is the one its sources always had.
      if (isForwarding && (forward === undefined || subscription.seq < forward.subscriptionSeq)) {
        forward = { subscriptionSeq: subscription.seq, isClaimed: claimed[i] === true };
      }
      try {
        if (claimed[i] === true && content !== undefined) {
          scheduler.handOver({
            eventSeq,
            subscriptionSeq: subscription.seq,
            generation: 1,
            attemptCount: 0,
            uncountedAttempts: 0,
            trigger: "first",
            expiresAt: deliveries[i]?.expiresAt,
            request: isForwarding || subscription.needs?.request === true ? event.request : undefined,
            hasDetails: event.details !== undefined,
            details: subscription.needs?.details === true ? event.details : undefined,
            event: content,
          });
        } else if (deliveries[i]?.claim === true) {
          scheduler.unreserve(subscription);
        } else {
          scheduler.recordPending(subscription, event.dueAt);
        }
      } catch (error) {
        fault ??= { error };
      }
    }
    if (fault !== undefined) throw fault.error;
    return forward;
  }

  function continueLater(eventSeq: number, event: Ageing, rest: readonly Subscription[]): void {
    let left = rest;
    const work = continueFanOut(eventSeq, event, rest, (count) => (left = left.slice(count))).catch(
      (error: unknown) => {
        // When the gateway stops meanwhile, `resume` completes the fan-out at the next start.
        if (error instanceof PosthornError && error.code === "shutting_down") return;
        clock.setTimer(clock.now() + AGAIN_MS, () => continueLater(eventSeq, event, left));
      },
    );
    running.add(work);
    void work.then(() => running.delete(work));
  }

  async function continueFanOut(
    eventSeq: number,
    event: Ageing,
    rest: readonly Subscription[],
    onStep?: (count: number) => void,
  ): Promise<void> {
    for (let from = 0; from < rest.length || from === 0; from += maxDeliveries) {
      const step = rest.slice(from, from + maxDeliveries);
      const isLast = from + maxDeliveries >= rest.length;
      await store.events.fanOut(
        eventSeq,
        step.map((subscription) => toDelivery(subscription, event, false)),
        isLast ? undefined : step.at(-1)?.seq,
      );
      onStep?.(step.length);
      for (const subscription of step) scheduler.recordPending(subscription, event.dueAt);
    }
  }

  /** The subscriptions that get the event; a forwarding one whose target is down is replaced by its fallback. */
  function chooseLanes(event: IncomingEvent): readonly Subscription[] {
    const wanting = router.select(event);
    // A fan-out that goes on later goes by age, and finds those that are meant; from there it moves.
    if (wanting.length > maxDeliveries || !wanting.some(({ fallback }) => fallback !== undefined)) return wanting;
    return wanting.map((one) => {
      const fallback = scheduler.divert(one, event.dueAt);
      // An event that was pulled from that queue is not put back there.
      if (fallback === undefined || !takesFrom(fallback, event)) return one;
      // It may come back, and is for the target as long as it would have been without the fallback.
      return { ...fallback, maxAgeMs: one.maxAgeMs };
    });
  }

  /** The fan-out of a damaged event stays unfinished: nobody can know who wants it. */
  async function loadBodyForFilters(event: UnfinishedFanOut): Promise<{ body: Uint8Array | undefined } | "damaged"> {
    const isNeeded = router.match(event.tenantId, event.type).some(({ filter }) => filter?.readsData === true);
    if (!isNeeded) return { body: undefined };
    try {
      return { body: (await store.reads.loadEvent(event.eventSeq))?.body };
    } catch (error) {
      if (isDamage(error)) return "damaged";
      throw error;
    }
  }

  return {
    /** `done` is called when event and deliveries are on disk. */
    accept: (event: IncomingEvent, done: Done<Accepted>): void => acceptFor(event, chooseLanes(event), done),
    acceptFor,
    /**
     * Plans the deliveries of an event that the caller writes in a transaction of its own. The caller then calls `done`.
     * No planned delivery is claimed on insert, because a plan may be dropped. Before `resume` has run, the event is left
     * to it.
     */
    plan(event: IncomingEvent): Plan {
      const subscriptions = isResumed ? chooseLanes(event) : [];
      const first = subscriptions.length > maxDeliveries ? takeFirst(subscriptions) : subscriptions;
      const deliveries = first.map((subscription) => toDelivery(subscription, event, false));
      const isPartial = first.length < subscriptions.length;
      const cursor = isPartial ? cursorAfter(first) : isResumed ? undefined : 0;
      return {
        event: cursor === undefined ? event : { ...event, fanOutCursor: cursor },
        deliveries,
        done(result) {
          if (result.kind !== "stored") return;
          if (isPartial) continueLater(result.eventSeq, event, subscriptions.slice(first.length));
          handOver(event, result, undefined, first, deliveries);
        },
      };
    },
    /** Completes fan-outs that a crash interrupted. Must run before new events are accepted. */
    async resume(): Promise<void> {
      isResumed = true;
      for (const event of await store.events.loadUnfinishedFanOuts()) {
        // A subscription created in between gets the event too: a wall clock that was set back must not exclude it.
        const filtered = await loadBodyForFilters(event);
        if (filtered === "damaged") continue;
        const wanting = router.select({ ...event, ...filtered });
        const rest = wanting.filter(({ seq, ordered }) => ordered || seq > event.cursor);
        await continueFanOut(event.eventSeq, event, rest);
      }
    },
    /** Resolves when all running fan-outs are complete. */
    async settled(): Promise<void> {
      await Promise.all(running);
    },
  };
}

/** The result of an event at which a step has thrown an error. */
export function notAccepted(fault: unknown): Rejected {
  return rejectedBy(fault, "accept", "The event could not be accepted.");
}

/** Every field by name: with a spread, V8 gives each object a hidden class of its own. */
function contentOf(event: IncomingEvent): ClaimedDelivery["event"] {
  return {
    id: event.id,
    type: event.type,
    version: event.version,
    source: event.source,
    tenantId: event.tenantId,
    priority: event.priority,
    origin: event.origin,
    orderingKey: event.orderingKey,
    occurredAt: event.occurredAt,
    receivedAt: event.receivedAt,
    contentType: event.contentType,
    hops: hopsOf(event.details),
    trace: traceOf(event.details),
    originId: originIdOf(event.details),
    size: event.body.length,
    body: event.body,
  };
}

function countForSeveral(subscriptions: readonly Subscription[]): number {
  let count = 0;
  for (const { tenants } of subscriptions) if (tenants !== undefined) count++;
  return count;
}

/** Only unordered subscriptions are sorted by age, so only they can be continued from a cursor. */
function cursorAfter(subscriptions: readonly Subscription[]): number {
  const last = subscriptions.at(-1);
  return last === undefined || last.ordered ? 0 : last.seq;
}
