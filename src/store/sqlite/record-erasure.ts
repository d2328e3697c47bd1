import type { BatchTime } from "../commit/batch.ts";
import type { Database } from "./connection.ts";

/** As `Tenants` reads it: no name, no contacts, no quotas. */
const CLOSED = JSON.stringify({ status: "inactive" });

/** What is configured for one tenant, and what else speaks of it beside the log. */
export function createRecordErasure(db: Database, at: Readonly<BatchTime>) {
  const nextVersion = db.prepare(
    "update meta set value = value + 1 where key = 'record_version' returning value as version",
  );
  const closeTenant = db.prepare(`
    update records set data = ?2, format = max(format, 1), version = ?3, updated_at = ?4
    where kind = 'tenant' and tenant_id = '' and id = ?1 and deleted_at is null`);
  // A source and its validations have names that are those of the whole gateway.
  const selectLive = db.prepare(`
    select seq, kind, id from records
    where kind in (select distinct kind from records) and tenant_id = ?1 and deleted_at is null
    union all
    select seq, kind, id from records
    where kind = 'source' and tenant_id = '' and deleted_at is null and data ->> '$.tenant_id' = ?1
    limit ?2`);
  const remove = db.prepare(`
    update records set version = ?2, data = null, blob = null, updated_at = ?3, deleted_at = ?3 where seq = ?1`);
  const forgetState = db.prepare("delete from record_states where seq = ?");
  const OWN_SUBSCRIPTIONS = "(select seq from records where kind = 'subscription' and tenant_id = ?1)";
  const NAMES = "(select value from json_each(?2))";
  /** Each takes away at most ?3 rows of the tenant ?1, whose sources are ?2. A tombstone keeps its number only. */
  const traces = [
    `delete from replays where seq in (select seq from replays where tenant_id = ?1 and ?2 is not null limit ?3)`,
    `delete from attempt_forms where seq in (
      select seq from attempt_forms where subscription_seq in ${OWN_SUBSCRIPTIONS} and ?2 is not null limit ?3)`,
    `delete from idempotency_keys where (scope, key) in (
      select scope, key from idempotency_keys
      where scope in ('subscriptions ' || ?1, 'keys/' || ?1, 'targets ' || ?1, 'sources ' || ?1) and ?2 is not null
      limit ?3)`,
    `delete from record_versions where rowid in (
      select rowid from record_versions
      where tenant_id = ?1 or (kind = 'validation' and tenant_id = '' and series in ${NAMES}) limit ?3)`,
    `update records set id = 'erased-' || seq where seq in (
      select seq from records
      where deleted_at is not null and id <> 'erased-' || seq and (
        (kind in (select distinct kind from records) and tenant_id = ?1)
        or (kind = 'source' and tenant_id = '' and id in ${NAMES})
        or (kind = 'validation' and tenant_id = '' and substr(id, 1, instr(id, '.') - 1) in ${NAMES}))
      limit ?3)`,
  ].map((sql) => db.prepare(sql));

  function takeVersion(): number {
    return (nextVersion.get() as { version: number }).version;
  }

  return {
    close(tenantId: string): void {
      closeTenant.run(tenantId, CLOSED, takeVersion(), at.wall);
    },
    /** Also names those of its sources that are among them. */
    removeLive(tenantId: string, limit: number): { removed: number; names: string[] } {
      const live = selectLive.all(tenantId, limit) as unknown as { seq: number; kind: string; id: string }[];
      if (live.length === 0) return { removed: 0, names: [] };
      const version = takeVersion();
      for (const { seq } of live) {
        remove.run(seq, version, at.wall);
        forgetState.run(seq);
      }
      return { removed: live.length, names: live.filter(({ kind }) => kind === "source").map(({ id }) => id) };
    },
    /** Of one table after the other; returns how many rows that was. */
    removeTraces(tenantId: string, sources: readonly string[], limit: number): number {
      const names = JSON.stringify(sources);
      for (const trace of traces) {
        const { changes } = trace.run(tenantId, names, limit);
        if (changes === limit) return changes;
      }
      return 0;
    },
  };
}
