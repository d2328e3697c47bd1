import { describeUnknownKind, hasHealthCheck, settingsIn } from "../../deliver/senders/kind-settings.ts";
import type { DestinationKinds } from "../../deliver/senders/kinds.ts";
import type { PreparedDestination } from "../../deliver/senders/sender.ts";
import { parseFilter } from "../../domain/filter.ts";
import { fixedInterval } from "../../domain/retry-policy.ts";
import { fillIn } from "../../domain/shape.ts";
import { toEngineKeys } from "../../domain/signing-keys.ts";
import { SharedSettings, USUAL_RETRIES, type Subscription } from "../../domain/subscription.ts";
import { toSuspensionRules } from "../../domain/suspension.ts";
import { type HealthPlace, type TargetInput, THRESHOLDS, toTargetRules } from "../../domain/target.ts";
import type { Entry } from "../resource.ts";
import type { Settings } from "../sealed-settings.ts";
import type { KeptSubscription } from "./subscription-record.ts";

/** A subscription as those who route and deliver read it: with everything that was not set, and what its target says. */
export function toSubscription(
  entry: Omit<Entry<KeptSubscription>, "thing">,
  thing: KeptSubscription,
  shared: TargetInput | undefined,
  kinds: DestinationKinds,
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
    name: thing.name,
    kind,
    destination: prepared.destination,
    place: prepared.place,
    queuePlace: prepared.queuePlace,
    events: set.events,
    sources: set.sources ?? undefined,
    filter: set.event_filter === null ? undefined : parseFilter(set.event_filter),
    // What nobody here can send is kept for a release that can.
    status: known === undefined && status === "active" ? "suspended" : status,
    heldBecause: known === undefined ? describeUnknownKind(kind, kinds) : undefined,
    signatureHeader: prepared.signatureHeader,
    secrets,
    nextSecret,
    ed25519Key,
    retryPolicy: toRetryPolicy(input, prepared),
    timeoutMs: set.timeout * 1000,
    rateLimitPerMinute: set.rate_limit ?? undefined,
    concurrency: set.concurrency,
    ordered: set.ordered,
    onDeadHead: set.on_dead_head,
    maxAgeMs: set.max_age_s === null ? undefined : set.max_age_s * 1000,
    suspension: toSuspensionRules(input, hasHealthCheck(prepared, shared)),
    mode: set.mode,
    fallback: set.fallback ?? undefined,
    drainWithinMs: set.drain_within_s * 1000,
    needs: prepared.needs,
    credentials: prepared.credentials,
    sharedTarget: shared?.name,
    targetRules: shared === undefined ? ownRules(input, prepared.health) : undefined,
    description: set.description ?? undefined,
    managedBy: thing.managedBy,
    createdBy: thing.createdBy,
    createdAt: entry.createdAt,
    updatedAt: entry.updatedAt,
  };
}

const UNKNOWN: PreparedDestination = Object.freeze({ destination: undefined, place: "" });

function toRetryPolicy(input: Settings, prepared: PreparedDestination) {
  const { retry_count: count, retry_interval: intervalS, retry_policy: policy } = input;
  if (count !== undefined || intervalS !== undefined) {
    return fixedInterval(count ?? USUAL_RETRIES.count, intervalS ?? USUAL_RETRIES.intervalS);
  }
  return policy ?? prepared.retryPolicy ?? "standard";
}

/** Those of its own target; the usual ones need no place. */
function ownRules(input: Settings, health: HealthPlace | undefined) {
  const isUsual = health === undefined && THRESHOLDS.every((name) => input[name] === undefined);
  return isUsual ? undefined : toTargetRules(input, health);
}
