import { describeUnknownKind, hasHealthCheck, settingsIn } from "../../destinations/kind-settings.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import type { PreparedDestination } from "../../destinations/sender.ts";
import { parseFilter } from "../../model/filter.ts";
import { retryPolicyOf } from "../../model/retry-policy.ts";
import { fillIn } from "../../model/shape.ts";
import { toEngineKeys } from "../../model/signing-keys.ts";
import { ALL_TENANTS, SharedSettings, type RetryPolicySpec, type Subscription } from "../../model/subscription.ts";
import { toSuspensionRules } from "../../model/suspension.ts";
import {
  type HealthPlace,
  type TargetInput,
  THRESHOLDS,
  toTargetRules,
  USUAL_MAX_PROBE_MS,
} from "../../model/target.ts";
import type { Entry } from "../resource.ts";
import type { Settings } from "../sealed-settings.ts";
import type { KeptSubscription } from "./subscription-record.ts";

export interface UsualSettings {
  kinds: DestinationKinds;
  /** For subscriptions that set none and whose kind of destination has no default. */
  retryPolicy?: RetryPolicySpec | undefined;
  /** The longest time between two probes of a destination that is down. */
  maxProbeMs?: number | undefined;
}

/** Builds a subscription as routing and delivery use it: with all defaults, and the settings of its target. */
export function toSubscription(
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
