import type { Clock } from "../model/clock.ts";
import { isDamage } from "../model/errors.ts";
import { actOf, opensDeliveries } from "../model/replay.ts";
import { ALL_TENANTS, type Subscription } from "../model/subscription.ts";
import { asksFor, letsThrough } from "../accept/router.ts";
import type { FoundDelivery, NewReplay, ReplayItem, ReplayPage, ReplayWalk } from "../store/port/jobs.ts";
import type { DeliveryKey } from "../store/port/lanes.ts";
import type { Store } from "../store/store.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";
import { isTerminal, type DeliveryState } from "../model/delivery.ts";

type Walked = Pick<NewReplay, "kind" | "filter" | "tenantId" | "subscriptionSeq" | "upToSeq">;

const OVER = { dead_letters: "dead", purge: "dead", events: "ended", recover: "events", cancel: "open" } as const;

/** Finds the deliveries of a job, and decides which of them are changed, and how. */
export function createReplaySelection(options: {
  store: Pick<Store, "reads">;
  subscriptions: Pick<Subscriptions, "find" | "findFallback" | "findForward" | "rightsOf">;
  clock: Clock;
}) {
  const { store, subscriptions, clock } = options;
  const isReplayedElsewhere = createMovedDeliveries(subscriptions);

  async function isElsewhere(
    { kind, subscriptionSeq: meant }: Walked,
    { eventSeq, isMissing, movedTo }: FoundDelivery,
    subscription: Subscription,
  ): Promise<boolean> {
    const findState = async (subscriptionSeq: number) =>
      (await store.reads.findDelivery({ eventSeq, subscriptionSeq }))?.state;
    if (isMissing && kind === "recover") {
      // An event that went straight to the fallback is not missing.
      const fallback = subscriptions.findFallback(subscription);
      return fallback !== undefined && (await findState(fallback.seq)) !== undefined;
    }
    // A dead letter of the fallback belongs to the fallback; the forwarding delivery is not dead.
    const isMeant = meant !== undefined || kind !== "events";
    return isReplayedElsewhere({ subscription, movedTo, isMeant }, findState);
  }

  async function isWanted(subscription: Subscription, { eventSeq, type }: FoundDelivery): Promise<boolean> {
    if (!asksFor(subscription, type)) return false;
    const { filter, sources, queuePlace } = subscription;
    if ((filter ?? sources ?? queuePlace) === undefined) return true;
    const event = await store.reads.loadEvent(eventSeq);
    return event !== undefined && letsThrough(subscription, event);
  }

  /** The tenants whose events the subscription gets; undefined for all. */
  function tenantsOf(seq: number | undefined, tenantId: string | undefined): readonly string[] | undefined {
    const tenants = seq === undefined ? undefined : subscriptions.find(seq)?.tenants;
    if (tenants === ALL_TENANTS) return undefined;
    return tenants ?? (tenantId === undefined ? undefined : [tenantId]);
  }

  function walkOf({ kind, filter, tenantId, subscriptionSeq, upToSeq }: Walked, lane: number | undefined): ReplayWalk {
    const { event_type: type, source, reason } = filter;
    const [since, until] = [parseTime(filter.since), parseTime(filter.until)];
    const shared = { upToSeq, type, source, reason, since, until, now: clock.now() };
    // A walk over one subscription's events examines no deliveries of the others.
    if (kind === "recover" || (kind === "events" && lane !== undefined)) {
      const include = kind === "recover" ? (filter.include ?? "failed") : subscriptionSeq === undefined ? "had" : "any";
      return { ...shared, over: "events", tenants: tenantsOf(lane, tenantId), subscriptionSeq: lane, include };
    }
    const isPending = filter.status === "pending";
    return { ...shared, over: OVER[kind], tenantId, subscriptionSeq: lane ?? subscriptionSeq, isPending };
  }

  /** Asked again at each page: a job may run for days, and what only operators may do can change. */
  function createMayTouch({ kind, filter, tenantId }: Walked): (found: FoundDelivery) => boolean {
    if (filter.is_bound === undefined) return () => true;
    const act = actOf(kind, filter);
    const known = new Map<number, boolean>();
    return ({ subscriptionSeq: seq }) => {
      let may = known.get(seq);
      if (may === undefined) {
        const subscription = subscriptions.find(seq);
        known.set(seq, (may = subscription === undefined || subscriptions.rightsOf(subscription, tenantId)[act]));
      }
      return may;
    };
  }

  return {
    /** `lane`: only that of this subscription. Leaves out what the caller who started the job may not do. */
    async walk(
      replay: Walked,
      after: DeliveryKey,
      { lane, ...limits }: { limit: number; maxScanned: number; lane?: number | undefined },
    ): Promise<ReplayPage> {
      const page = await store.reads.walk(walkOf(replay, lane), after, limits);
      return { ...page, found: page.found.filter(createMayTouch(replay)) };
    },

    /** `impossible`: its subscription was deleted, or its event is damaged. */
    async select(
      replay: Walked,
      found: readonly FoundDelivery[],
    ): Promise<{ items: ReplayItem[]; impossible: number }> {
      const items: ReplayItem[] = [];
      let impossible = 0;
      for (const one of found) {
        const { eventSeq, subscriptionSeq, isMissing } = one;
        const subscription = subscriptions.find(subscriptionSeq);
        const opens = opensDeliveries(replay.kind);
        if (subscription === undefined && opens) {
          impossible++;
          continue;
        }
        if (subscription !== undefined && isMissing) {
          const wanted = await isWanted(subscription, one).catch(asDamaged);
          if (wanted === "damaged") impossible++;
          if (wanted !== true) continue;
        }
        if (subscription !== undefined && opens && (await isElsewhere(replay, one, subscription))) continue;
        const terms = subscription === undefined ? { ordered: false } : termsOf(subscription, clock.now());
        items.push({ eventSeq, subscriptionSeq, isMissing, expiresAt: undefined, ...terms });
      }
      return { items, impossible };
    },
  };
}

/** For a delivery that is opened now. */
export function termsOf({ ordered, maxAgeMs }: Subscription, now: number) {
  return { ordered, expiresAt: maxAgeMs === undefined ? undefined : now + maxAgeMs };
}

/** Nobody can know whether the subscription wants it, and it could not be delivered. */
function asDamaged(error: unknown): "damaged" {
  if (isDamage(error)) return "damaged";
  throw error;
}

export function parseTime(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

interface EndedDelivery {
  subscription: Subscription;
  /** The subscription that the delivery went to. */
  movedTo: number | undefined;
  /** Only this delivery is selected: by its subscription, or because it is dead. */
  isMeant: boolean;
}

/**
 * An event whose delivery went to a fallback, or back, has two ended deliveries. A replay opens only one: that of the
 * forwarding subscription, or the last one when the two subscriptions are no longer linked. `findState`: of the delivery
 * of the same event to another subscription; undefined when there is none.
 */
export function createMovedDeliveries(subscriptions: Pick<Subscriptions, "find" | "findFallback" | "findForward">) {
  const { find, findFallback, findForward } = subscriptions;
  return async (
    { subscription, movedTo, isMeant }: EndedDelivery,
    findState: (subscriptionSeq: number) => Promise<DeliveryState | undefined>,
  ): Promise<boolean> => {
    const fallback = findFallback(subscription)?.seq;
    const forward = findForward(subscription)?.seq;
    for (const seq of new Set([fallback, forward, movedTo])) {
      if (seq === undefined || find(seq) === undefined) continue;
      const state = await findState(seq);
      if (state === undefined) continue;
      // It is already on its way there.
      if (!isTerminal(state) || (!isMeant && seq !== fallback)) return true;
    }
    return false;
  };
}

/**
 * The position of a job. It walks over all deliveries in one order. A lane whose window is full leaves that
 * walk and continues with its own, so that one slow or paused subscription does not delay the others.
 */
export interface ReplayCursor {
  /** Undefined when the common walk has ended. */
  at: DeliveryKey | undefined;
  /** By subscription: the event that its own walk has reached; undefined when it has ended. */
  lanes: Map<number, number | undefined>;
}

interface CursorText {
  at: readonly [eventSeq: number, subscriptionSeq: number] | null;
  lanes: Readonly<Record<string, number | null>>;
}

export function formatCursor({ at, lanes }: ReplayCursor): string {
  const text: CursorText = {
    at: at === undefined ? null : [at.eventSeq, at.subscriptionSeq],
    lanes: Object.fromEntries([...lanes].map(([seq, eventSeq]) => [seq, eventSeq ?? null])),
  };
  return JSON.stringify(text);
}

export function parseCursor(text: string): ReplayCursor {
  const { at, lanes } = JSON.parse(text) as CursorText;
  return {
    at: at === null ? undefined : { eventSeq: at[0], subscriptionSeq: at[1] },
    lanes: new Map(Object.entries(lanes).map(([seq, eventSeq]) => [Number(seq), eventSeq ?? undefined])),
  };
}

/** A job for one subscription has only that lane's walk. */
export function firstCursor(afterSeq: number, subscriptionSeq: number | undefined): ReplayCursor {
  return subscriptionSeq === undefined
    ? { at: { eventSeq: afterSeq, subscriptionSeq: Number.MAX_SAFE_INTEGER }, lanes: new Map() }
    : { at: undefined, lanes: new Map([[subscriptionSeq, afterSeq]]) };
}

export function isAtEnd({ at, lanes }: ReplayCursor): boolean {
  return at === undefined && [...lanes.values()].every((eventSeq) => eventSeq === undefined);
}
