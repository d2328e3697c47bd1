import {
  type Subscription,
  ALL_TENANTS,
  SharedSettings,
  type RetryPolicySpec,
  toSuspensionRules,
} from "../../model/subscription.ts";
import { isPresetName } from "../../model/target-rules.ts";
import {
  type TargetInput,
  type HealthPlace,
  THRESHOLDS,
  toTargetRules,
  USUAL_MAX_PROBE_MS,
} from "../../model/target.ts";
import type { Draft } from "../draft.ts";
import type { Change, Entry } from "../resource.ts";
import type { Settings, KeptSubscription } from "./subscription-record.ts";
import { describeUnknownKind, hasHealthCheck, settingsIn, type DestinationKinds } from "../../destinations/kinds.ts";
import type { PreparedDestination } from "../../destinations/destination-kind.ts";
import { parseFilter } from "../../model/filter.ts";
import { retryPolicyOf } from "../../model/retry-policy.ts";
import { fillIn } from "../../model/shape.ts";
import { toEngineKeys } from "../../model/signing-keys.ts";

/** Subscriptions as routing and delivery use them, each built from its record and the target that it names. */
export type KnownSubscriptions = ReturnType<typeof createKnownSubscriptions>;

export type KeptEntry = Entry<KeptSubscription>;

/** A created subscription has no `before`, a deleted one no `after`. */
export interface SubscriptionChanged {
  readonly before: Subscription | undefined;
  readonly after: Subscription | undefined;
}

type FindTarget = (name: string, tenantId: string, draft?: Draft) => TargetInput | undefined;

export function createKnownSubscriptions(usual: UsualSettings, findTarget: FindTarget | undefined) {
  const derived = new WeakMap<KeptEntry, Subscription>();
  const bySeq = new Map<number, Subscription>();
  const byId = new Map<string, Subscription>();
  let listed: readonly Subscription[] | undefined;
  /** Forwarding subscriptions by their fallbacks and the other way round; built when first used. */
  let pairs: ReturnType<typeof pairUp> | undefined;
  /** Whose fallback a subscription was before that was changed. */
  const formerForwards = new Map<number, number>();

  function changed(): void {
    listed = undefined;
    pairs = undefined;
  }

  const getPairs = () => (pairs ??= pairUp(listAll()));

  function remember(entry: KeptEntry): Subscription {
    const subscription = derive(entry);
    bySeq.set(entry.seq, subscription);
    byId.set(entry.id, subscription);
    changed();
    return subscription;
  }

  function forget({ seq, id }: KeptEntry): void {
    bySeq.delete(seq);
    byId.delete(id);
    changed();
    formerForwards.delete(seq);
  }

  function derive(entry: KeptEntry): Subscription {
    let subscription = derived.get(entry);
    if (subscription === undefined) derived.set(entry, (subscription = deriveWith(entry, entry.thing)));
    return subscription;
  }

  function deriveWith(entry: KeptEntry, thing: KeptSubscription, draft?: Draft): Subscription {
    const { target } = thing.settings;
    const shared = namesTarget(thing.settings) ? findTarget?.(target as string, entry.tenantId, draft) : undefined;
    return toSubscription(entry, thing, shared, usual);
  }

  function listAll(): readonly Subscription[] {
    return (listed ??= [...bySeq.values()].sort((a, b) => a.seq - b.seq));
  }

  return {
    find: (seq: number) => bySeq.get(seq),
    findById(id: string, tenantId: string | undefined): Subscription | undefined {
      const subscription = byId.get(id);
      return tenantId === undefined || tenantId === subscription?.tenantId ? subscription : undefined;
    },
    findFallback: ({ seq, fallback }: Subscription) =>
      fallback === undefined ? undefined : getPairs().fallbacks.get(seq),
    findForward: ({ seq }: Subscription) => getPairs().forwards.get(seq),
    /** The subscription whose fallback it was until that was changed, in this run; it may still have deliveries of it. */
    findFormerForward({ seq, events }: Subscription): Subscription | undefined {
      // What wants events itself may have others than those of the forward.
      if (events.length > 0 || getPairs().forwards.has(seq)) return undefined;
      return bySeq.get(formerForwards.get(seq) ?? -1);
    },
    /** Sorted by age; the same array until something changes. */
    list: (tenantId: string | undefined) =>
      tenantId === undefined ? listAll() : listAll().filter((one) => one.tenantId === tenantId),
    /** The same object for the same entry. */
    derive,
    /** The subscription as it would be with this thing, and with its target as the draft has it. */
    deriveWith,
    /** The subscription as it would be with this shared target. */
    deriveAt: (entry: KeptEntry, shared: TargetInput) => toSubscription(entry, entry.thing, shared, usual),
    take({ before, after }: Change<KeptSubscription>): SubscriptionChanged {
      const known = before && bySeq.get(before.seq);
      // Most have none, and pairing up takes time.
      const fallback = known?.fallback === undefined ? undefined : getPairs().fallbacks.get(known.seq);
      if (known !== undefined && fallback !== undefined) formerForwards.set(fallback.seq, known.seq);
      if (after === undefined && before !== undefined) forget(before);
      return { before: known, after: after && remember(after) };
    },
    /** Rebuilds the subscriptions that name a target. */
    retarget: (entries: readonly KeptEntry[]) =>
      entries
        .filter(({ thing }) => namesTarget(thing.settings))
        // Those that have changed too are taken by themselves.
        .filter(({ seq, version }) => bySeq.get(seq)?.version === version)
        .map((entry) => {
          const before = bySeq.get(entry.seq);
          derived.delete(entry);
          return { before, after: remember(entry) };
        }),
  };
}

function pairUp(all: readonly Subscription[]) {
  const fallbacks = new Map<number, Subscription>();
  const forwards = new Map<number, Subscription>();
  for (const forward of all) {
    if (forward.fallback === undefined) continue;
    const fallback = all.find(({ name, tenantId }) => name === forward.fallback && tenantId === forward.tenantId);
    if (fallback === undefined) continue;
    fallbacks.set(forward.seq, fallback);
    forwards.set(fallback.seq, forward);
  }
  return { fallbacks, forwards };
}

function namesTarget({ target }: Settings): boolean {
  return target !== undefined && target !== null && !isPresetName(target);
}

export interface UsualSettings {
  kinds: DestinationKinds;
  /** For subscriptions that set none and whose kind of destination has no default. */
  retryPolicy?: RetryPolicySpec | undefined;
  /** The longest time between two probes of a destination that is down. */
  maxProbeMs?: number | undefined;
}

/** Builds a subscription as routing and delivery use it: with all defaults, and the settings of its target. */
function toSubscription(
  entry: Omit<Entry<KeptSubscription>, "thing">,
  thing: KeptSubscription,
  shared: TargetInput | undefined,
  { kinds, retryPolicy = "standard", maxProbeMs }: UsualSettings,
): Subscription {
  const { settings: input, keys, status } = thing;
  const set = fillIn(SharedSettings.properties, input);
  const { kind } = set;
  const known = kinds.find(kind);
  const prepared = known?.prepare(settingsIn(input, known), { shared: input, target: shared }) ?? UNKNOWN;
  const { secrets, nextSecret, ed25519Key } = toEngineKeys(keys);
  return {
    seq: entry.seq,
    version: entry.version,
    id: entry.id,
    tenantId: entry.tenantId,
    tenants: set.tenants?.includes(ALL_TENANTS) === true ? ALL_TENANTS : (set.tenants ?? undefined),
    name: thing.name,
    kind,
    destination: prepared.destination,
    place: prepared.place,
    queuePlace: prepared.queuePlace,
    events: set.events,
    sources: set.sources ?? undefined,
    filter: set.event_filter === null ? undefined : parseFilter(set.event_filter),
    // Deliveries of an unknown kind are held for a release that can send them.
    status: known === undefined && status === "active" ? "suspended" : status,
    heldBecause: known === undefined ? describeUnknownKind(kind, kinds) : undefined,
    signatureHeader: prepared.signatureHeader,
    secrets,
    nextSecret,
    ed25519Key,
    retryPolicy: retryPolicyOf(input, prepared.retryPolicy ?? retryPolicy),
    timeoutMs: set.timeout * 1000,
    rateLimitPerMinute: set.rate_limit ?? undefined,
    concurrency: set.concurrency,
    ordered: set.ordered,
    onDeadHead: set.on_dead_head,
    maxAgeMs: set.max_age_s === null ? undefined : set.max_age_s * 1000,
    suspension: toSuspensionRules(input, hasHealthCheck(prepared, shared)),
    mode: set.mode,
    onGiveUp: set.on_give_up,
    fallback: set.fallback ?? undefined,
    drainWithinMs: set.drain_within_s * 1000,
    needs: prepared.needs,
    credentials: prepared.credentials,
    forwardHeaders: prepared.forwardHeaders,
    sharedTarget: shared?.name,
    targetRules: shared === undefined ? ownRules(input, prepared.health, maxProbeMs) : undefined,
    description: set.description ?? undefined,
    managedBy: thing.managedBy,
    createdBy: thing.createdBy,
    createdAt: entry.createdAt,
    updatedAt: entry.updatedAt,
  };
}

const UNKNOWN: PreparedDestination = Object.freeze({ destination: undefined, place: "" });

/** The rules of its own target; default values are left out. */
function ownRules(input: Settings, health: HealthPlace | undefined, maxProbeMs = USUAL_MAX_PROBE_MS) {
  const isSet = health !== undefined || THRESHOLDS.some((name) => input[name] !== undefined);
  return isSet || maxProbeMs !== USUAL_MAX_PROBE_MS ? toTargetRules(input, health, maxProbeMs) : undefined;
}
