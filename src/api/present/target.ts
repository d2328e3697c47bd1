import type { TargetFacts } from "./target-facts.ts";
import type { KnownTarget } from "../../resources/target-states.ts";
import { fillIn } from "../../model/shape.ts";
import { DEFAULT_RULES, TargetInput } from "../../model/target.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Target as Described } from "../routes/targets.docs.ts";

/** The one mapping of a target to the wire. */
export function presentTarget(known: KnownTarget, facts: TargetFacts): AnswerOf<typeof Described> {
  const { declared, managedBy, subscriptions, state } = known;
  const rules = state?.rules ?? DEFAULT_RULES;
  return {
    ...fillIn(TargetInput.properties, declared ?? {}),
    name: facts.name,
    tenant_id: facts.tenantId,
    shared: declared !== undefined,
    subscriptions: subscriptions.map(({ id }) => id),
    mode: facts.mode,
    forced: facts.forced,
    since: facts.since,
    reason: facts.reason,
    health: facts.health,
    condition: facts.condition,
    checked_at: facts.checkedAt,
    queue_length: facts.queueLength,
    failures: facts.failures,
    last_error: facts.lastError,
    managed_by: managedBy,
    health_url: rules.health?.url ?? null,
    health_interval_s: rules.checkEveryMs / 1000,
    failures_to_open: rules.failuresToOpen,
    successes_to_close: rules.successesToClose,
    batch_size: rules.batchSize,
    idle_wait_s: rules.idleWaitMs / 1000,
  };
}
