import { eraseSourceName } from "../../model/source.ts";
import { VALIDATION_FORMATS } from "../../model/validation.ts";
import type { BatchTime } from "../commit/batch.ts";
import { createFormSearch, PART_SLICES } from "./attempt-forms.ts";
import type { Database } from "./connection.ts";
import { PAGE_ROWS, walkOn, type WalkPlace, type Walked, type WalkedRow } from "./erasure-walk.ts";

/** The tenant's record during and after an erasure: no name, no contacts, no quotas. */
const CLOSED = { status: "inactive" };

/** Slices of attempts that one step searches for those that use a form. */
const MAX_SLICES = 8;

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
  const selectForm = db.prepare(`
    select f.seq, exists (
      select 1 from records r where r.seq = f.subscription_seq and r.kind = 'subscription' and r.tenant_id = ?1) as isOwn
    from attempt_forms f where f.seq >= ?2 order by f.seq limit 1`);
  const searchForm = createFormSearch(db);
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
    select seq, kind, id, 0 as size, deleted_at is not null and id <> 'erased-' || seq and (tenant_id = ?1
      or (kind = 'source' and tenant_id = '' and id in ${NAMES})
      or (kind = 'validation' and tenant_id = '' and id in (${FILES}))) as isOwn
    from records where seq > ?2 ${NEXT}`);
  const rename = db.prepare("update or ignore records set id = ?2 where seq = ?1");
  /** Each deletes at most ?2 rows, found by an index. */
  const traces = [
    "delete from replays where seq in (select seq from replays where tenant_id = ?1 limit ?2)",
    `delete from idempotency_keys where (scope, key) in (
      select scope, key from idempotency_keys
      where scope in ('subscriptions ' || ?1, 'bound subscriptions ' || ?1, 'keys/' || ?1, 'targets ' || ?1,
        'sources ' || ?1, 'bound sources ' || ?1) limit ?2)`,
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
      const next = (after: number) => selectLive.all(tenantId, after) as unknown as RecordRow[];
      const walked = walkOn(next, place, ({ seq, kind, id }) => {
        version ??= takeVersion();
        remove.run(seq, version, at.wall);
        forgetState.run(seq);
        if (kind === "source") names.push(id);
      });
      return { ...walked, names };
    },
    /**
     * Removes the common parts of its attempts: the forms of its subscriptions, and all forms that no attempt uses any
     * more. With these it removes addresses with the tenant's data to which subscriptions of operators have sent. The
     * place is the number of a form and of a slice of its attempts.
     */
    removeForms(tenantId: string, { afterSeq, maxRows }: WalkPlace): Walked {
      let [at, removed] = [afterSeq, 0];
      for (let slices = 0; slices < MAX_SLICES && removed < maxRows; slices++) {
        const form = selectForm.get(tenantId, Math.floor(at / PART_SLICES)) as FormRow | undefined;
        if (form === undefined) return { afterSeq: at, removed, isEnd: true };
        const first = form.seq * PART_SLICES;
        at = Math.max(at, first);
        const found = form.isOwn === 1 ? "unused" : searchForm(form.seq, at - first);
        if (found === "unused") {
          removeForm.run(form.seq);
          removed++;
        }
        at = found === undefined ? at + 1 : first + PART_SLICES;
      }
      return { afterSeq: at, removed, isEnd: false };
    },
    removeVersions(tenantId: string, sources: readonly string[], place: WalkPlace): Walked {
      const names = JSON.stringify(sources);
      const next = (after: number) => selectVersions.all(tenantId, after, names) as unknown as WalkedRow[];
      return walkOn(next, place, ({ seq }) => void removeVersion.run(seq));
    },
    /** A tombstone keeps only its number; that of a source keeps a hash of the name, which stays closed. */
    renameTombstones(tenantId: string, sources: readonly string[], place: WalkPlace): Walked {
      const names = JSON.stringify(sources);
      const next = (after: number) => selectTombstones.all(tenantId, after, names) as unknown as RecordRow[];
      return walkOn(next, place, ({ seq, kind, id }) => {
        // When a source of this name was erased before, its tombstone has the hash.
        const isHashed = kind === "source" && rename.run(seq, eraseSourceName(id)).changes === 1;
        if (!isHashed) rename.run(seq, `erased-${seq}`);
      });
    },
    /** Goes from table to table; true when nothing is left. */
    removeTraces: (tenantId: string, limit: number): boolean =>
      traces.every((trace) => trace.run(tenantId, limit).changes < limit),
  };
}

interface RecordRow extends WalkedRow {
  kind: string;
  id: string;
}

interface FormRow {
  seq: number;
  isOwn: number;
}
