import { describeUnknownKind, settingsIn } from "../../deliver/senders/kind-settings.ts";
import type { DestinationKinds } from "../../deliver/senders/kinds.ts";
import type { PreparedDestination } from "../../deliver/senders/sender.ts";
import { parseFilter, type Filter } from "../../domain/filter.ts";
import { fixedInterval } from "../../domain/retry-policy.ts";
import { toEngineKeys } from "../../domain/signing-keys.ts";
import { DEFAULT_KIND, type SharedSettings, type Subscription } from "../../domain/subscription.ts";
import { toSuspensionRules } from "../../domain/suspension.ts";
import { type HealthPlace, type TargetInput, THRESHOLDS, toTargetRules } from "../../domain/target.ts";
import { findHealth, findPreset } from "../../domain/target-presets.ts";
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
  const { kind = DEFAULT_KIND } = input;
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
    events: input.events,
    sources: input.sources ?? undefined,
    filter: toFilter(input.event_filter),
    // What nobody here can send is kept for a release that can.
    status: known === undefined && status === "active" ? "suspended" : status,
    heldBecause: known === undefined ? describeUnknownKind(kind, kinds) : undefined,
    signatureHeader: prepared.signatureHeader,
    secrets,
    nextSecret,
    ed25519Key,
    retryPolicy: toRetryPolicy(input, prepared),
    timeoutMs: (input.timeout ?? 30) * 1000,
    rateLimitPerMinute: input.rate_limit ?? undefined,
    concurrency: input.concurrency ?? 32,
    ordered: input.ordered ?? false,
    onDeadHead: input.on_dead_head ?? "block",
    maxAgeMs: input.max_age_s === undefined || input.max_age_s === null ? undefined : input.max_age_s * 1000,
    suspension: toSuspensionRules(input, hasHealthCheck(prepared, shared)),
    mode: input.mode ?? "queue",
    needs: prepared.needs,
    credentials: prepared.credentials,
    sharedTarget: shared?.name,
    targetRules: shared === undefined ? ownRules(input, prepared.health) : undefined,
    description: input.description,
    managedBy: thing.managedBy,
    createdBy: thing.createdBy,
    createdAt: entry.createdAt,
    updatedAt: entry.updatedAt,
  };
}

const UNKNOWN: PreparedDestination = Object.freeze({ destination: undefined, place: "" });

function toFilter(given: SharedSettings["event_filter"]): Filter | undefined {
  return given === undefined || given === null ? undefined : parseFilter(given);
}

function toRetryPolicy(input: Settings, prepared: PreparedDestination) {
  const { retry_count: count, retry_interval: intervalS, retry_policy: policy } = input;
  if (count !== undefined || intervalS !== undefined) return fixedInterval(count ?? 3, intervalS ?? 60);
  return policy ?? prepared.retryPolicy ?? "standard";
}

/** Those of its own target; the usual ones need no place. */
function ownRules(input: Settings, health: HealthPlace | undefined) {
  const isUsual = health === undefined && THRESHOLDS.every((name) => input[name] === undefined);
  if (isUsual) return undefined;
  const { health_interval_s, failures_to_open, successes_to_close } = input;
  return toTargetRules(
    {
      ...(health_interval_s !== undefined && { health_interval_s }),
      ...(failures_to_open !== undefined && { failures_to_open }),
      ...(successes_to_close !== undefined && { successes_to_close }),
    },
    health,
  );
}

function hasHealthCheck({ health }: PreparedDestination, shared: TargetInput | undefined): boolean {
  if (shared === undefined) return health !== undefined;
  return findHealth(shared.health_url, findPreset(shared.preset), shared.url) !== undefined;
}
