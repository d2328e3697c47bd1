import { TENANT_ERASED } from "../../model/audit.ts";
import { eraseSourceName } from "../../model/source.ts";
import { VALIDATION_FORMATS } from "../../model/validation.ts";
import type { BatchTime } from "../commit/batch.ts";

import { ERASURE_STAGES, type ErasureRow, type ErasureStep, type Jobs } from "../port/jobs.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import { createFormSearch, PART_SLICES } from "./attempt-forms.ts";
import type { CommandParts } from "./commands.ts";
import type { Database } from "./connection.ts";
import { createRecordVersions } from "./counters.ts";
import { createSecureDelete } from "./erase-body.ts";
import { createEventErasure, PAGE_ROWS, walkOn, type Walked, type WalkedRow, type WalkPlace } from "./event-removal.ts";
import { asFields, createPrepare, toRow, type AtOnce, type Prepare } from "./query-rows.ts";

export function createTenantErasure(db: Database, parts: CommandParts): AtOnce<Jobs, "beginErasure" | "stepErasure"> {
  const { audit, at, settle } = parts;
  const securely = createSecureDelete(db);
  const log = createEventErasure(db, parts);
  const records = createRecordErasure(db, at);
  const { findErasure } = createErasureReads(createPrepare(db));
  const findProgress = db.prepare(`
    select stage, actor, via, after_seq as afterSeq, events, deliveries, bytes, requests, records, sources
    from tenant_erasures where tenant_id = ?`);
  const insert = db.prepare(`
    insert or replace into tenant_erasures (tenant_id, actor, via, stage, total, started_at)
    values (?1, ?2, ?3, '${ERASURE_STAGES[0]}', coalesce(
      (select accepted - pruned from counters where tenant_id = ?1 and subscription_seq = 0), 0), ?4)`);
  const moveOn = db.prepare(`
    update tenant_erasures set stage = ?2, after_seq = ?3, events = events + ?4, deliveries = deliveries + ?5,
      bytes = bytes + ?6, requests = requests + ?7, records = records + ?8, audit_entries = audit_entries + ?9, sources = ?10,
      completed_at = ?11
    where tenant_id = ?1`);

  function runStage(tenantId: string, row: Progress, sources: readonly string[], maxRows: number): Partial<Done> {
    const { stage, afterSeq } = row;
    const place = { afterSeq, maxRows };
    switch (stage) {
      case "records": {
        const { names, removed, ...reached } = records.removeLive(tenantId, place);
        return { ...reached, records: removed, sources: [...sources, ...names] };
      }
      case "events":
        return log.eraseEvents(tenantId, place);
      case "requests": {
        const { removed, ...reached } = log.eraseRequests(tenantId, place);
        return { ...reached, requests: removed };
      }
      case "ids":
        return log.eraseKnownIds(tenantId, place);
      case "forms": {
        const forms = records.removeForms(tenantId, place);
        if (forms.removed > 0) settle.forgetForms();
        return forms;
      }
      case "versions":
        return records.removeVersions(tenantId, sources, place);
      case "names":
        return records.renameTombstones(tenantId, sources, place);
      case "rest":
        return { sources: [], isEnd: records.removeTraces(tenantId, maxRows) };
      case "audit": {
        // The entry comes first: after it, the chain is valid without the data of earlier entries.
        if (afterSeq === 0) return { afterSeq: record(tenantId, row) };
        const { removed, ...reached } = audit.eraseData(tenantId, afterSeq, maxRows);
        return { ...reached, auditEntries: removed };
      }
      case "done":
        return {};
    }
  }

  /** Records who asked for the erasure, and how much was erased. Returns the number of the entry. */
  function record(
    tenantId: string,
    { actor, via, events, deliveries, bytes, requests, records: configured }: Progress,
  ) {
    const details = { events, deliveries, bytes, requests, records: configured };
    const entry = { actor, via: via ?? undefined, act: TENANT_ERASED, kind: "tenant", id: tenantId, tenantId, details };
    audit.append([entry], at.wall);
    return audit.lastSeq();
  }

  function getErasure(tenantId: string): ErasureRow {
    const row = findErasure(tenantId);
    if (row === undefined) throw new Error(`no erasure of the tenant ${tenantId} was started`);
    return row;
  }

  function step(tenantId: string, maxRows: number): Omit<ErasureStep, "tookMs"> {
    const row = getErasure(tenantId);
    if (row.stage === "done") return { row, ended: [] };
    const progress: Progress = findProgress.get(tenantId);
    const sources = JSON.parse(progress.sources) as string[];
    const done = { ...NOTHING, sources, ...securely(() => runStage(tenantId, progress, sources, maxRows)) };
    const stage = ERASURE_STAGES[ERASURE_STAGES.indexOf(row.stage) + (done.isEnd ? 1 : 0)];
    if (stage === "done") records.release(tenantId);
    moveOn.run(
      tenantId,
      stage,
      done.isEnd ? 0 : done.afterSeq,
      done.events,
      done.deliveries,
      done.bytes,
      done.requests,
      done.records,
      done.auditEntries,
      JSON.stringify(done.sources),
      stage === "done" ? at.wall : null,
    );
    return { row: getErasure(tenantId), ended: done.ended };
  }

  return {
    beginErasure(tenantId, begun) {
      const known = findErasure(tenantId);
      if (known !== undefined && known.stage !== "done") return known;
      records.close(tenantId);
      audit.append([begun], at.wall);
      insert.run(tenantId, begun.actor, begun.via ?? null, at.wall);
      return getErasure(tenantId);
    },
    stepErasure(tenantId, maxRows) {
      const startedAt = performance.now();
      return { ...step(tenantId, maxRows), tookMs: performance.now() - startedAt };
    },
  };
}

export function createErasureReads(prepare: Prepare): AtOnce<Jobs, "findErasure" | "listErasing"> {
  return {
    findErasure(tenantId) {
      const row = prepare(`select ${ERASURE} from tenant_erasures where tenant_id = ?`).get(tenantId);
      return row && toRow<ErasureRow>(row);
    },
    listErasing() {
      const select = prepare("select tenant_id as id from tenant_erasures where stage <> 'done' order by started_at");
      return select.all().map(({ id }) => id);
    },
  };
}

const ERASURE = asFields(
  `tenant_id, stage, total, events, deliveries, bytes, requests, records, audit_entries, started_at, completed_at`,
);

const NOTHING = {
  events: 0,
  deliveries: 0,
  bytes: 0,
  requests: 0,
  records: 0,
  auditEntries: 0,
  afterSeq: 0,
  isEnd: false,
  ended: [] as readonly DeliveryKey[],
};

type Done = typeof NOTHING & { sources: string[] };

/** What the next step of an erasure needs. */
interface Progress extends Omit<ErasureRow, "tenantId" | "total" | "auditEntries" | "startedAt" | "completedAt"> {
  actor: string;
  via: string | null;
  afterSeq: number;
  sources: string;
}

/** The tenant's record during and after an erasure: no name, no contacts, no quotas. */
const CLOSED = { status: "inactive" };

/** Slices of attempts that one step searches for those that use a form. */
const MAX_SLICES = 8;

/** Erases the records of one tenant, and its other traces outside of the event log. */
function createRecordErasure(db: Database, at: Readonly<BatchTime>) {
  const takeVersion = createRecordVersions(db);
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
      const next = (after: number): RecordRow[] => selectLive.all(tenantId, after);
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
        const form: Omit<WalkedRow, "size"> | undefined = selectForm.get(tenantId, Math.floor(at / PART_SLICES));
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
      const next = (after: number): WalkedRow[] => selectVersions.all(tenantId, after, names);
      return walkOn(next, place, ({ seq }) => void removeVersion.run(seq));
    },
    /** A tombstone keeps only its number; that of a source keeps a hash of the name, which stays closed. */
    renameTombstones(tenantId: string, sources: readonly string[], place: WalkPlace): Walked {
      const names = JSON.stringify(sources);
      const next = (after: number): RecordRow[] => selectTombstones.all(tenantId, after, names);
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
