import { VALIDATION_FORMATS } from "../../domain/validation.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { Database } from "./connection.ts";
import { PAGE_ROWS, walkOn, type WalkPlace, type Walked, type WalkedRow } from "./erasure-walk.ts";

/** The tenant's record during and after an erasure: no name, no contacts, no quotas. */
const CLOSED = { status: "inactive" };

/** Erases the records of one tenant, and its other traces outside of the event log. */
export function createRecordErasure(db: Database, at: Readonly<BatchTime>) {
  const nextVersion = db.prepare(
    "update meta set value = value + 1 where key = 'record_version' returning value as version",
  );
  const putTenant = db.prepare(`
    update records set data = ?2, format = max(format, 1), version = ?3, updated_at = ?4
    where kind = 'tenant' and tenant_id = '' and id = ?1 and deleted_at is null`);
  const NEXT = `order by seq limit ${PAGE_ROWS}`;
  // Sources and their validations belong to the whole gateway by name, so the owner is found in the data.
  const selectLive = db.prepare(`
    select seq, kind, id, 0 as size, deleted_at is null and (tenant_id = ?1
      or (kind = 'source' and tenant_id = '' and data ->> '$.tenant_id' = ?1)) as isOwn
    from records where seq > ?2 ${NEXT}`);
  const remove = db.prepare(`
    update records set version = ?2, data = null, blob = null, updated_at = ?3, deleted_at = ?3 where seq = ?1`);
  const forgetState = db.prepare("delete from record_states where seq = ?");
  // Forms are numbered from 0, but the walk begins after 0: it goes by the number after each form.
  const selectForms = db.prepare(`
    select seq + 1 as seq, 0 as size, exists (
      select 1 from records r where r.seq = subscription_seq and r.kind = 'subscription' and r.tenant_id = ?1) as isOwn
    from attempt_forms where seq >= ?2 order by attempt_forms.seq limit ${PAGE_ROWS}`);
  const removeForm = db.prepare("delete from attempt_forms where seq = ?");
  const NAMES = "(select value from json_each(?3))";
  const selectVersions = db.prepare(`
    select rowid as seq, length(data) + coalesce(length(blob), 0) as size,
      tenant_id = ?1 or (kind = 'validation' and tenant_id = '' and series in ${NAMES}) as isOwn
    from record_versions where rowid > ?2 ${NEXT}`);
  const removeVersion = db.prepare("delete from record_versions where rowid = ?");
  const FILES = VALIDATION_FORMATS.map((format) => `select value || '.${format}' from json_each(?3)`).join(
    " union all ",
  );
  const selectTombstones = db.prepare(`
    select seq, 0 as size, deleted_at is not null and id <> 'erased-' || seq and (tenant_id = ?1
      or (kind = 'source' and tenant_id = '' and id in ${NAMES})
      or (kind = 'validation' and tenant_id = '' and id in (${FILES}))) as isOwn
    from records where seq > ?2 ${NEXT}`);
  /** A tombstone keeps only its number. */
  const rename = db.prepare("update records set id = 'erased-' || seq where seq = ?");
  /** Each deletes at most ?2 rows, found by an index. */
  const traces = [
    "delete from replays where seq in (select seq from replays where tenant_id = ?1 limit ?2)",
    `delete from idempotency_keys where (scope, key) in (
      select scope, key from idempotency_keys
      where scope in ('subscriptions ' || ?1, 'keys/' || ?1, 'targets ' || ?1, 'sources ' || ?1) limit ?2)`,
  ].map((sql) => db.prepare(sql));

  function takeVersion(): number {
    return (nextVersion.get() as { version: number }).version;
  }

  return {
    /** From now on nothing can be configured for the tenant. */
    close(tenantId: string): void {
      putTenant.run(tenantId, JSON.stringify({ ...CLOSED, erasing: true }), takeVersion(), at.wall);
    },
    /** The tenant can be used again. */
    release(tenantId: string): void {
      putTenant.run(tenantId, JSON.stringify(CLOSED), takeVersion(), at.wall);
    },
    /** Also returns the names of the removed sources. */
    removeLive(tenantId: string, place: WalkPlace): Walked & { names: string[] } {
      const names: string[] = [];
      let version: number | undefined;
      const next = (after: number) => selectLive.all(tenantId, after) as unknown as LiveRow[];
      const walked = walkOn(next, place, ({ seq, kind, id }) => {
        version ??= takeVersion();
        remove.run(seq, version, at.wall);
        forgetState.run(seq);
        if (kind === "source") names.push(id);
      });
      return { ...walked, names };
    },
    /** Removes the common parts of its attempts. */
    removeForms(tenantId: string, place: WalkPlace): Walked {
      const next = (after: number) => selectForms.all(tenantId, after) as unknown as WalkedRow[];
      return walkOn(next, place, ({ seq }) => void removeForm.run(seq - 1));
    },
    removeVersions(tenantId: string, sources: readonly string[], place: WalkPlace): Walked {
      const names = JSON.stringify(sources);
      const next = (after: number) => selectVersions.all(tenantId, after, names) as unknown as WalkedRow[];
      return walkOn(next, place, ({ seq }) => void removeVersion.run(seq));
    },
    renameTombstones(tenantId: string, sources: readonly string[], place: WalkPlace): Walked {
      const names = JSON.stringify(sources);
      const next = (after: number) => selectTombstones.all(tenantId, after, names) as unknown as WalkedRow[];
      return walkOn(next, place, ({ seq }) => void rename.run(seq));
    },
    /** Goes from table to table; true when nothing is left. */
    removeTraces: (tenantId: string, limit: number): boolean =>
      traces.every((trace) => trace.run(tenantId, limit).changes < limit),
  };
}

interface LiveRow extends WalkedRow {
  kind: string;
  id: string;
}
