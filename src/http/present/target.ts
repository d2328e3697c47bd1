import type { TargetFacts } from "../../operate/target-facts.ts";
import type { KnownTarget } from "../../operate/targets.ts";
import { DEFAULT_RULES } from "../../domain/target.ts";

/** The one mapping of a target to the wire. */
export function presentTarget({ declared, managedBy, subscriptions, state }: KnownTarget, facts: TargetFacts) {
  const rules = state?.rules ?? DEFAULT_RULES;
  return {
    name: facts.name,
    tenant_id: facts.tenantId,
    shared: declared !== undefined,
    subscriptions: subscriptions.map(({ id }) => id),
    mode: facts.mode,
    forced: facts.forced,
    since: facts.since,
    reason: facts.reason,
    health: facts.health,
    checked_at: facts.checkedAt,
    queue_length: facts.queueLength,
    failures: facts.failures,
    last_error: facts.lastError,
    managed_by: managedBy,
    preset: declared?.preset ?? null,
    url: declared?.url ?? null,
    max_bytes: declared?.max_bytes ?? null,
    description: declared?.description ?? null,
    health_url: rules.health?.url ?? null,
    health_interval_s: rules.checkEveryMs / 1000,
    failures_to_open: rules.failuresToOpen,
    successes_to_close: rules.successesToClose,
    batch_size: rules.batchSize,
    idle_wait_s: rules.idleWaitMs / 1000,
  };
}
