/**
 * The tables that a backup without the event log leaves empty: events, their results and their counters. All other
 * tables are configuration and always copied, so that a new table is never forgotten.
 */
const LOG_TABLES: ReadonlySet<string> = new Set([
  "events",
  "bodies",
  "dedupe",
  "known_ids",
  "taken_messages",
  "returned_events",
  "deliveries",
  "attempts",
  "attempt_forms",
  "requests",
  "counters",
  "job_runs",
  "replays",
  "attempt_stats",
  "idempotency_keys",
  "event_id_marks",
  "event_ids",
  "event_blocks",
  "event_block_groups",
]);

export function isLogTable(name: string): boolean {
  return LOG_TABLES.has(name);
}
