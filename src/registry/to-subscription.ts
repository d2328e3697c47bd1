import { toDestinationAuth } from "../domain/destination-auth.ts";
import { parseFilter, type Filter } from "../domain/filter.ts";
import { fixedInterval } from "../domain/retry-policy.ts";
import { toEngineKeys } from "../domain/signing-keys.ts";
import type { Subscription, SubscriptionInput } from "../domain/subscription.ts";
import { toSuspensionRules } from "../domain/suspension.ts";
import { type TargetInput, THRESHOLDS, toTargetRules } from "../domain/target.ts";
import { findHealth, findPreset, presetSettings } from "../domain/target-presets.ts";
import type { Entry } from "./resource.ts";
import type { Settings } from "./sealed-settings.ts";
import type { KeptSubscription } from "./subscription-record.ts";

/** A subscription as those who route and deliver read it: with everything that was not set, and what its target says. */
export function toSubscription(
  entry: Omit<Entry<KeptSubscription>, "thing">,
  thing: KeptSubscription,
  shared: TargetInput | undefined,
): Subscription {
  const { settings: input, keys } = thing;
  const preset = presetSettings(input, shared);
  const { secrets, nextSecret, ed25519Key } = toEngineKeys(keys);
  const isFixed = input.retry_count !== undefined || input.retry_interval !== undefined;
  return {
    seq: entry.seq,
    version: entry.version,
    id: entry.id,
    tenantId: entry.tenantId,
    name: thing.name,
    kind: "http",
    url: input.url,
    events: input.events,
    filter: toFilter(input.event_filter),
    status: thing.status,
    format: input.format ?? "auto",
    signatureHeader: input.signature_header ?? "X-Webhook-Signature",
    secrets,
    nextSecret,
    ed25519Key,
    retryPolicy: isFixed
      ? fixedInterval(input.retry_count ?? 3, input.retry_interval ?? 60)
      : (input.retry_policy ?? preset.retryPolicy ?? "standard"),
    retryOn: {
      statuses: input.retry_on?.statuses ?? [],
      sourceStatuses: preset.sourceStatuses,
      bodyContains: input.retry_on?.body_contains,
      bodyIs: preset.retryBody,
    },
    timeoutMs: (input.timeout ?? 30) * 1000,
    rateLimitPerMinute: input.rate_limit ?? undefined,
    concurrency: input.concurrency ?? 32,
    ordered: input.ordered ?? false,
    onDeadHead: input.on_dead_head ?? "block",
    maxAgeMs: input.max_age_s === undefined || input.max_age_s === null ? undefined : input.max_age_s * 1000,
    suspension: toSuspensionRules(input, hasHealthCheck(input, shared)),
    headers: input.headers ?? {},
    allowedIps: input.allowed_ips ?? undefined,
    auth: toDestinationAuth(input.auth),
    mode: input.mode ?? "queue",
    forwardHeaders: input.forward_headers?.map((name) => name.toLowerCase()),
    allowOwnUrl: input.allow_own_url ?? false,
    sharedTarget: shared?.name,
    targetRules: shared === undefined ? ownRules(input) : undefined,
    maxBytes: preset.maxBytes,
    wantsPlainJson: preset.wantsPlainJson,
    description: input.description,
    managedBy: thing.managedBy,
    createdBy: thing.createdBy,
    createdAt: entry.createdAt,
    updatedAt: entry.updatedAt,
  };
}

function toFilter(given: SubscriptionInput["event_filter"]): Filter | undefined {
  return given === undefined || given === null ? undefined : parseFilter(given);
}

/** Those of its own target; the usual ones need no place. */
function ownRules(input: Settings) {
  const health = findHealth(input.health_url, findPreset(input.target), input.url);
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

function hasHealthCheck(input: Settings, shared: TargetInput | undefined): boolean {
  if (shared === undefined) return ownRules(input)?.health !== undefined;
  return findHealth(shared.health_url, findPreset(shared.preset), shared.url) !== undefined;
}
