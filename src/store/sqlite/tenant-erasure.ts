import { TENANT_ERASED } from "../../model/audit.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { AuditNote } from "../port/audit.ts";
import { ERASURE_STAGES, type ErasureRow, type ErasureStage, type ErasureStep } from "../port/erasures.ts";
import type { DeliveryKey } from "../port/lanes.ts";
import type { AuditLog } from "./audit.ts";
import type { Database, Statement } from "./connection.ts";
import type { Walked } from "./erasure-walk.ts";
import { createEventErasure } from "./event-erasure.ts";
import type { Moves } from "./move.ts";
import { createRecordErasure } from "./record-erasure.ts";
import type { Retention } from "./retention.ts";
import { createSecureDelete } from "./secure-delete.ts";
import type { Settle } from "./settle.ts";

export interface TenantErasureParts {
  moves: Moves;
  retention: Retention;
  audit: AuditLog;
  settle: Pick<Settle, "forgetForms">;
  /** The time of the current batch. */
  at: Readonly<BatchTime>;
}

export function createTenantErasure(db: Database, parts: TenantErasureParts) {
  const { audit, at, settle } = parts;
  const securely = createSecureDelete(db);
  const log = createEventErasure(db, parts);
  const records = createRecordErasure(db, at);
  const find = db.prepare("select * from tenant_erasures where tenant_id = ?");
  const insert = db.prepare(`
    insert or replace into tenant_erasures (tenant_id, actor, via, stage, total, started_at)
    values (?1, ?2, ?3, '${ERASURE_STAGES[0]}', coalesce(
      (select accepted - pruned from counters where tenant_id = ?1 and subscription_seq = 0), 0), ?4) returning *`);
  const moveOn = db.prepare(`
    update tenant_erasures set stage = ?2, after_seq = ?3, events = events + ?4, deliveries = deliveries + ?5,
      bytes = bytes + ?6, requests = requests + ?7, records = records + ?8, audit_entries = audit_entries + ?9, sources = ?10,
      completed_at = ?11
    where tenant_id = ?1 returning *`);

  function runStage(row: ErasureSql, maxRows: number): Done {
    const { tenant_id: tenantId, stage, after_seq: afterSeq } = row;
    const sources = JSON.parse(row.sources) as string[];
    const place = { afterSeq, maxRows };
    const walked = ({ afterSeq: reached, isEnd }: Walked): Done => ({ ...NOTHING, sources, afterSeq: reached, isEnd });
    switch (stage) {
      case "records": {
        const { names, ...live } = records.removeLive(tenantId, place);
        return { ...walked(live), records: live.removed, sources: [...sources, ...names] };
      }
      case "events":
        return { ...NOTHING, sources, ...log.eraseEvents(tenantId, place) };
      case "requests": {
        const requests = log.eraseRequests(tenantId, place);
        return { ...walked(requests), requests: requests.removed };
      }
      case "ids":
        return walked(log.eraseKnownIds(tenantId, place));
      case "forms": {
        const forms = records.removeForms(tenantId, place);
        if (forms.removed > 0) settle.forgetForms();
        return walked(forms);
      }
      case "versions":
        return walked(records.removeVersions(tenantId, sources, place));
      case "names":
        return walked(records.renameTombstones(tenantId, sources, place));
      case "rest":
        return { ...NOTHING, sources: [], isEnd: records.removeTraces(tenantId, maxRows) };
      case "audit": {
        // The entry comes first: after it, the chain is valid without the data of earlier entries.
        if (afterSeq === 0) return { ...NOTHING, sources, afterSeq: note(row) };
        const { removed: auditEntries, ...where } = audit.eraseData(tenantId, afterSeq, maxRows);
        return { ...NOTHING, sources, auditEntries, ...where };
      }
      case "done":
        return { ...NOTHING, sources };
    }
  }

  /** Notes who asked for the erasure, and how much was erased. Returns the number of the entry. */
  function note({
    tenant_id: tenantId,
    actor,
    via,
    events,
    deliveries,
    bytes,
    requests,
    records: configured,
  }: ErasureSql) {
    const details = { events, deliveries, bytes, requests, records: configured };
    const told = { actor, via: via ?? undefined, act: TENANT_ERASED, kind: "tenant", id: tenantId, tenantId, details };
    audit.append([told], at.wall);
    return audit.lastSeq();
  }

  function step(tenantId: string, maxRows: number): Omit<ErasureStep, "tookMs"> {
    const row = find.get(tenantId) as ErasureSql | undefined;
    if (row === undefined) throw new Error(`no erasure of the tenant ${tenantId} was started`);
    if (row.stage === "done") return { row: fromSql(row), ended: [] };
    const done = securely(() => runStage(row, maxRows));
    const stage = done.isEnd ? nextStage(row.stage) : row.stage;
    if (stage === "done") records.release(tenantId);
    const moved = moveOn.get(
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
    ) as unknown as ErasureSql;
    return { row: fromSql(moved), ended: done.ended };
  }

  return {
    beginErasure(tenantId: string, begun: AuditNote): ErasureRow {
      const known = find.get(tenantId) as ErasureSql | undefined;
      if (known !== undefined && known.stage !== "done") return fromSql(known);
      records.close(tenantId);
      audit.append([begun], at.wall);
      return fromSql(insert.get(tenantId, begun.actor, begun.via ?? null, at.wall));
    },
    stepErasure(tenantId: string, maxRows: number): ErasureStep {
      const startedAt = performance.now();
      return { ...step(tenantId, maxRows), tookMs: performance.now() - startedAt };
    },
  };
}

export function createErasureReads(prepare: (sql: string) => Statement) {
  return {
    findErasure(tenantId: string): ErasureRow | undefined {
      const row = prepare("select * from tenant_erasures where tenant_id = ?").get(tenantId) as ErasureSql | undefined;
      return row === undefined ? undefined : fromSql(row);
    },
    listErasing(): string[] {
      const rows = prepare(
        "select tenant_id as id from tenant_erasures where stage <> 'done' order by started_at",
      ).all();
      return (rows as unknown as { id: string }[]).map(({ id }) => id);
    },
  };
}

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

type Done = typeof NOTHING & { sources: readonly string[] };

function nextStage(stage: ErasureStage): ErasureStage {
  return ERASURE_STAGES[ERASURE_STAGES.indexOf(stage) + 1] ?? "done";
}

function fromSql(row: ErasureSql): ErasureRow {
  const { stage, total, events, deliveries, bytes, requests, records } = row;
  return {
    tenantId: row.tenant_id,
    stage,
    total,
    events,
    deliveries,
    bytes,
    requests,
    records,
    auditEntries: row.audit_entries,
    startedAt: row.started_at,
    completedAt: row.completed_at ?? undefined,
  };
}

interface ErasureSql {
  tenant_id: string;
  actor: string;
  via: string | null;
  stage: ErasureStage;
  after_seq: number;
  total: number;
  events: number;
  deliveries: number;
  bytes: number;
  requests: number;
  records: number;
  audit_entries: number;
  sources: string;
  started_at: number;
  completed_at: number | null;
}
