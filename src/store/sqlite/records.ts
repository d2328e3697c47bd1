import type { IdempotencyMark } from "../port/idempotency.ts";
import type {
  RecordChange,
  RecordExpectation,
  RecordGuard,
  RecordKey,
  RecordKind,
  RecordSet,
  StoredRecord,
  WriteRefusal,
  WriteRequest,
} from "../port/records.ts";
import type { ReplayRow } from "../port/replays.ts";
import type { Accept } from "./accept.ts";
import type { Stored } from "../commit/batch.ts";
import type { Database } from "./connection.ts";
import { createIdempotencyKeyReads, createMarkWrite } from "./idempotency-keys.ts";
import type { createReplayWrites } from "./replays.ts";
import { createTenantBirth } from "./tenants.ts";

type Written = { kind: "written"; version: number; seqs: number[]; events: Stored[]; replay: ReplayRow | undefined };

export function createRecordWrites(
  db: Database,
  parts: { accept: Pick<Accept, "accept">; replays: Pick<ReturnType<typeof createReplayWrites>, "insertReplay"> },
) {
  const { accept, replays } = parts;
  const find = db.prepare(`
    select seq, id, version, format, deleted_at from records where kind = ? and tenant_id = ? and id = ?`);
  const findChange = db.prepare("select 1 from records where version > ? and kind = ? limit 1");
  const findChangeOf = db.prepare("select 1 from records where version > ? and kind = ? and tenant_id = ? limit 1");
  const selectVersion = db.prepare("select value as version from meta where key = 'record_version'");
  const nextVersion = db.prepare(
    "update meta set value = value + 1 where key = 'record_version' returning value as version",
  );
  const put = db.prepare(`
    insert into records (kind, tenant_id, id, version, format, data, blob, created_at, updated_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
    on conflict (kind, tenant_id, id) do update set version = ?4, format = ?5, data = ?6, blob = ?7, updated_at = ?8,
      created_at = iif(deleted_at is null, created_at, ?8), deleted_at = null
    returning seq`);
  const bury = db.prepare(`
    update records set version = ?4, data = null, blob = null, updated_at = ?5, deleted_at = ?5
    where kind = ?1 and tenant_id = ?2 and id = ?3 returning seq`);
  const forgetState = db.prepare("delete from record_states where seq = ?");
  const noteState = db.prepare(`
    insert or replace into record_states (seq, state) select seq, ?2 from records where seq = ?1 and deleted_at is null`);
  const { findIdempotencyKey } = createIdempotencyKeyReads(db);
  const writeMark = createMarkWrite(db);
  const giveBirth = createTenantBirth(db);

  function findLive({ kind, tenantId, id }: RecordKey): RecordSql | undefined {
    const row = find.get(kind, tenantId, id) as RecordSql | undefined;
    // The driver cuts text at NUL: what it found may be another one.
    return row === undefined || row.id !== id || row.deleted_at !== null ? undefined : row;
  }

  function refuseMark({ scope, key }: IdempotencyMark): WriteRefusal | undefined {
    const mark = findIdempotencyKey(scope, key);
    return mark === undefined ? undefined : { kind: "refused", why: "idempotency_key_used", mark };
  }

  function refuseChanged(wanted: RecordExpectation, format: number | undefined): WriteRefusal | undefined {
    const { kind, tenantId, id, expected } = wanted;
    const key = { kind, tenantId, id };
    const row = findLive(key);
    if (row !== undefined && format !== undefined && row.format > format) {
      return { kind: "refused", why: "newer_format", key, format: row.format };
    }
    if ((row?.version ?? "absent") === expected) return undefined;
    return { kind: "refused", why: "changed", key, version: row?.version };
  }

  function refuseGuard(guard: RecordGuard): WriteRefusal | undefined {
    const { kind, tenantId, since } = guard;
    const found = tenantId === undefined ? findChange.get(since, kind) : findChangeOf.get(since, kind, tenantId);
    return found === undefined ? undefined : { kind: "refused", why: "guard", guard };
  }

  function findRefusal(changes: readonly RecordChange[], request: RestOfWrite): WriteRefusal | undefined {
    const { mark, checks = [], guards = [] } = request;
    const refusal = mark && refuseMark(mark);
    if (refusal !== undefined) return refusal;
    for (const change of changes) {
      const changed = refuseChanged(change, change.format);
      if (changed !== undefined) return changed;
    }
    for (const check of checks) {
      const changed = refuseChanged(check, undefined);
      if (changed !== undefined) return changed;
    }
    for (const guard of guards) {
      const guarded = refuseGuard(guard);
      if (guarded !== undefined) return guarded;
    }
    return undefined;
  }

  function apply(change: RecordChange, version: number, at: number): number {
    const { kind, tenantId, id } = change;
    if (change.act === "put") {
      if (kind === "subscription") giveBirth(tenantId, at);
      const { format, data, blob = null } = change;
      return (put.get(kind, tenantId, id, version, format, data, blob, at) as { seq: number }).seq;
    }
    const { seq } = bury.get(kind, tenantId, id, version, at) as { seq: number };
    forgetState.run(seq);
    return seq;
  }

  return {
    /** The changes apart, so that the group commit sees how many rows they are. */
    writeRecords(changes: readonly RecordChange[], request: RestOfWrite): Written | WriteRefusal {
      const refusal = findRefusal(changes, request);
      if (refusal !== undefined) return refusal;
      writeMark(request.mark);
      const { version } = (changes.length === 0 ? selectVersion : nextVersion).get() as { version: number };
      const seqs = changes.map((change) => apply(change, version, request.at));
      const events = (request.events ?? []).map((one) => accept.accept(one.event, one.deliveries, request.at));
      const replay = request.replay && replays.insertReplay(request.replay);
      return { kind: "written", version, seqs, events, replay };
    },

    noteRecordStates(states: readonly { seq: number; state: string }[]): void {
      for (const { seq, state } of states) noteState.run(seq, state);
    },
  };
}

type RestOfWrite = Omit<WriteRequest, "changes">;

export function createRecordReads(db: Database) {
  const COLUMNS = "r.*, s.state from records r left join record_states s on s.seq = r.seq";

  /** Records and version as of one moment. */
  function readSet(sql: string, ...values: (string | number)[]): RecordSet {
    db.exec("begin");
    try {
      const { version } = db.prepare("select value as version from meta where key = 'record_version'").get() as {
        version: number;
      };
      const rows = db.prepare(sql).all(...values) as unknown as FullRecordSql[];
      return { version, records: rows.map(fromSql) };
    } finally {
      db.exec("commit");
    }
  }

  return {
    loadRecords: (kinds: readonly RecordKind[]): RecordSet =>
      readSet(
        `select ${COLUMNS} where r.kind in (select value from json_each(?)) and r.deleted_at is null order by r.seq`,
        JSON.stringify(kinds),
      ),
    changesSince: (version: number, kinds: readonly RecordKind[]): RecordSet =>
      readSet(
        `select ${COLUMNS} where r.version > ? and r.kind in (select value from json_each(?))
         order by r.version, r.seq`,
        version,
        JSON.stringify(kinds),
      ),
  };
}

function fromSql(row: FullRecordSql): StoredRecord {
  return {
    seq: row.seq,
    kind: row.kind,
    tenantId: row.tenant_id,
    id: row.id,
    version: row.version,
    format: row.format,
    data: row.data ?? undefined,
    blob: row.blob ?? undefined,
    state: row.state ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at ?? undefined,
  };
}

interface RecordSql {
  seq: number;
  id: string;
  version: number;
  format: number;
  deleted_at: number | null;
}

interface FullRecordSql extends RecordSql {
  kind: RecordKind;
  tenant_id: string;
  data: string | null;
  blob: Uint8Array | null;
  state: string | null;
  created_at: number;
  updated_at: number;
}
