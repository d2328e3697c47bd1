import type { Pruned, PruneStep } from "../port/jobs.ts";
import { SPANS } from "./attempt-stats.ts";
import type { Database } from "./connection.ts";
import type { Retention } from "./retention.ts";

/** How many rows one step deletes, except for events and requests. */
const STEP = 500;
const NOTHING = { afterSeq: 0, isEnd: true, deliveries: 0, answers: 0, bytes: 0 };

export function createPrune(
  db: Database,
  retention: Retention,
  pruneAudit: (before: number, limit: number) => number,
): (step: PruneStep) => Pruned {
  const deleteMarks = db.prepare(`
    delete from idempotency_keys where (scope, key) in (
      select scope, key from idempotency_keys where made_at < ? limit ${STEP})`);
  const deleteStats = db.prepare(`
    delete from attempt_stats where (span_minutes, at, subscription_seq) in (
      select span_minutes, at, subscription_seq from attempt_stats
      where (span_minutes = ${SPANS.minute} and at < ?) or (span_minutes = ${SPANS.hour} and at < ?) limit ${STEP})`);

  function prune(step: PruneStep): Omit<Pruned, "tookMs"> {
    switch (step.of) {
      case "events":
        return retention.pruneEvents(step);
      case "requests":
        return { ...NOTHING, ...retention.pruneRequests(step) };
      case "idempotency_keys":
        return toEnd(deleteMarks.run(step.before).changes);
      case "audit":
        return toEnd(pruneAudit(step.before, STEP));
      case "attempt_stats":
        return toEnd(deleteStats.run(step.minute, step.hour).changes);
    }
  }

  return (step) => {
    const startedAt = performance.now();
    return { ...prune(step), tookMs: performance.now() - startedAt };
  };
}

function toEnd(removed: number) {
  return { ...NOTHING, removed, isEnd: removed < STEP };
}
