import type { Subscription } from "../../domain/subscription.ts";
import { publicKeyOf } from "../../domain/ed25519.ts";
import type { Settings } from "../../registry/sealed-settings.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import type { Summary } from "../../operate/statistics.ts";
import { presentCounters, presentSummary } from "./statistics.ts";
import { isoTime } from "./time.ts";

/**
 * The one mapping of a subscription to the wire, with what its kind shows of the destination. Never the secret: the
 * answer to create adds it.
 */
export function presentSubscription(
  subscription: Subscription,
  settings: Settings,
  destination: Readonly<Record<string, unknown>>,
  counters?: DeliveryCounters,
  recent?: Summary,
) {
  const isFixed = settings.retry_count !== undefined || settings.retry_interval !== undefined;
  return {
    id: subscription.id,
    tenant_id: subscription.tenantId,
    name: subscription.name,
    kind: subscription.kind,
    ...destination,
    events: subscription.events,
    sources: subscription.sources ?? null,
    event_filter: settings.event_filter ?? null,
    status: subscription.status,
    ...(subscription.heldBecause !== undefined && { held_reason: subscription.heldBecause }),
    ed25519: subscription.ed25519Key !== undefined,
    ed25519_public_key: subscription.ed25519Key === undefined ? null : publicKeyOf(subscription.ed25519Key),
    ...(isFixed
      ? { retry_count: settings.retry_count ?? 3, retry_interval: settings.retry_interval ?? 60 }
      : { retry_policy: subscription.retryPolicy }),
    timeout: subscription.timeoutMs / 1000,
    rate_limit: subscription.rateLimitPerMinute ?? null,
    concurrency: subscription.concurrency,
    ordered: subscription.ordered,
    on_dead_head: subscription.onDeadHead,
    suspend_after_dead: subscription.suspension?.afterDead ?? null,
    suspend_after_s: subscription.suspension?.afterMs === undefined ? null : subscription.suspension.afterMs / 1000,
    resume_when_healthy: subscription.suspension?.resumesWhenHealthy ?? true,
    max_age_s: subscription.maxAgeMs === undefined ? null : subscription.maxAgeMs / 1000,
    target: settings.target ?? null,
    health_interval_s: settings.health_interval_s ?? 60,
    failures_to_open: settings.failures_to_open ?? 3,
    successes_to_close: settings.successes_to_close ?? 3,
    labels: settings.labels ?? {},
    mode: subscription.mode ?? "queue",
    description: subscription.description ?? null,
    managed_by: subscription.managedBy,
    created_by: subscription.createdBy ?? null,
    created_at: isoTime(subscription.createdAt),
    updated_at: isoTime(subscription.updatedAt),
    ...(counters && { stats: { ...presentCounters(counters), ...presentSummary(recent) } }),
  };
}
