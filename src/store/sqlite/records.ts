import type { Duplicate, Stored } from "../../model/accepted.ts";
import type { BatchTime } from "../commit/batch.ts";
import type { AuditNote } from "../port/audit.ts";
import type { ReplayRow } from "../port/jobs.ts";
import type {
  IdempotencyMark,
  RecordChange,
  RecordExpectation,
  RecordGuard,
  RecordKey,
  RecordKind,
  Records,
  RecordSet,
  RecordState,
  RecordVersion,
  StoredRecord,
  WriteRejection,
  WriteRequest,
} from "../port/records.ts";
import type { Accept } from "./accept.ts";
import type { AuditLog } from "./audit.ts";
import type { Database } from "./connection.ts";
import { createRecordVersions, createTenantInsert } from "./counters.ts";
import { asFields, readAtOnce, readPage, toRow, type AtOnce, type Prepare } from "./query-rows.ts";
import type { createReplayWrites } from "./replays.ts";

/** A record of one of these kinds creates its tenant. */
const BEARS_TENANT: ReadonlySet<RecordKind> = new Set(["key", "subscription"]);

type Written = {
  kind: "written";
  version: number;
  seqs: number[];
  events: (Stored | Duplicate)[];
  replay: ReplayRow | undefined;
};

export function createRecordWrites(
  db: Database,
  parts: {
    accept: Pick<Accept, "accept">;
    audit: Pick<AuditLog, "append">;
    at: Pick<BatchTime, "wall">;
    insertReplay: ReturnType<typeof createReplayWrites>["insertReplay"];
    onTenantDeleted?: (id: string) => void;
  },
) {
  const { accept, at, audit, insertReplay, onTenantDeleted } = parts;
  const find = db.prepare(`
    select seq, id, version, format, deleted_at from records where kind = ? and tenant_id = ? and id = ?`);
  const findChange = db.prepare("select 1 from records where version > ? and kind = ? and format > 0 limit 1");
  const findChangeOf = db.prepare(
    "select 1 from records where version > ? and kind = ? and tenant_id = ? and format > 0 limit 1",
  );
  const readVersion = createVersionRead((sql) => db.prepare(sql));
  const takeVersion = createRecordVersions(db);
  const put = db.prepare(`
    insert into records (kind, tenant_id, id, version, format, data, blob, created_at, updated_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
    on conflict (kind, tenant_id, id) do update set version = ?4, format = ?5, data = ?6, blob = ?7, updated_at = ?8,
      created_at = iif(deleted_at is null, created_at, ?8), deleted_at = null
    returning seq`);
  const markDeleted = db.prepare(`
    update records set version = ?4, data = null, blob = null, updated_at = ?5, deleted_at = ?5
    where kind = ?1 and tenant_id = ?2 and id = ?3 returning seq`);
  const forgetState = db.prepare("delete from record_states where seq = ?");
  const noteState = db.prepare(`
    insert or replace into record_states (seq, state) select seq, ?2 from records where seq = ?1 and deleted_at is null`);
  const selectNumber = db.prepare(`
    select coalesce(max(number), 0) as number from record_versions where kind = ? and tenant_id = ? and series = ?`);
  const keep = db.prepare(`
    insert into record_versions (kind, tenant_id, series, number, id, format, is_deleted, data, blob, created_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const noteVersion = db.prepare(
    "update record_versions set state = ? where kind = ? and tenant_id = ? and series = ? and number = ?",
  );
  const selectErasing = db.prepare("select tenant_id as id from tenant_erasures where stage <> 'done'");
  const findMark = createMarkLookup(db);
  // In the transaction that creates the resource: of two requests with the same key, the second creates nothing.
  const writeMark = db.prepare(`
    insert into idempotency_keys (scope, key, fingerprint, made_id, made_at) values (?, ?, ?, ?, ?)`);
  const insertTenant = createTenantInsert(db);

  function findLive({ kind, tenantId, id }: RecordKey): RecordSql | undefined {
    const row: RecordSql | undefined = find.get(kind, tenantId, id);
    // The driver cuts text at NUL, so the row may belong to another id.
    return row === undefined || row.id !== id || row.deleted_at !== null ? undefined : row;
  }

  function rejectMark({ scope, key }: IdempotencyMark): WriteRejection | undefined {
    const mark = findMark(scope, key);
    return mark === undefined ? undefined : { kind: "rejected", why: "idempotency_key_used", mark };
  }

  function rejectChanged(wanted: RecordExpectation, format?: number): WriteRejection | undefined {
    const { kind, tenantId, id, expected } = wanted;
    const key = { kind, tenantId, id };
    const row = findLive(key);
    if (row !== undefined && format !== undefined && row.format > format) {
      return { kind: "rejected", why: "newer_format", key, format: row.format };
    }
    if ((row?.version ?? "absent") === expected) return undefined;
    if (expected === "absent" && row?.format === 0) return undefined;
    return { kind: "rejected", why: "changed", key, version: row?.version };
  }

  function rejectGuard(guard: RecordGuard): WriteRejection | undefined {
    const { kind, tenantId, since } = guard;
    const found = tenantId === undefined ? findChange.get(since, kind) : findChangeOf.get(since, kind, tenantId);
    return found === undefined ? undefined : { kind: "rejected", why: "guard", guard };
  }

  /** Another writer may have used a number although the records look unchanged. */
  function rejectNumbers(changes: readonly RecordChange[]): WriteRejection | undefined {
    const last = new Map<string, number>();
    for (const { kind, tenantId, id, kept } of changes) {
      if (kept === undefined) continue;
      const key = { kind, tenantId, id };
      const text = JSON.stringify([kind, tenantId, kept.series]);
      const next = (last.get(text) ?? selectNumber.get(kind, tenantId, kept.series).number) + 1;
      if (kept.number !== next) return { kind: "rejected", why: "changed", key, version: findLive(key)?.version };
      last.set(text, next);
    }
    return undefined;
  }

  /** Deletions are allowed, since everything is erased anyway. The tenant's own record cannot be changed until then. */
  function rejectErasing(changes: readonly RecordChange[], replay: RestOfWrite["replay"]): WriteRejection | undefined {
    const erasing = new Set<string>(selectErasing.all().map(({ id }) => id));
    if (erasing.size === 0) return undefined;
    const meant = changes.filter(({ act, kind }) => act === "put" || kind === "tenant").map(ownerOf);
    const found = [...meant, replay?.tenantId].find((tenantId) => tenantId !== undefined && erasing.has(tenantId));
    return found === undefined ? undefined : { kind: "rejected", why: "erasing", tenantId: found };
  }

  function findRejection(changes: readonly RecordChange[], request: RestOfWrite): WriteRejection | undefined {
    const { mark, checks = [], guards = [], replay } = request;
    return (
      (mark && rejectMark(mark)) ??
      rejectErasing(changes, replay) ??
      findFirst(changes, (change) => rejectChanged(change, change.format)) ??
      rejectNumbers(changes) ??
      findFirst(checks, (check) => rejectChanged(check)) ??
      findFirst(guards, rejectGuard)
    );
  }

  function apply(change: RecordChange, version: number, wall: number): number {
    const { kind, tenantId, id, kept } = change;
    if (kept !== undefined) {
      const { series, number, data } = kept;
      const bytes = change.act === "put" ? (change.blob ?? null) : null;
      keep.run(kind, tenantId, series, number, id, change.format, change.act === "delete" ? 1 : 0, data, bytes, wall);
    }
    if (change.act === "put") {
      if (tenantId !== "" && BEARS_TENANT.has(kind)) insertTenant(tenantId, wall, version);
      const { format, data, blob = null } = change;
      return put.get(kind, tenantId, id, version, format, data, blob, wall).seq;
    }
    const { seq } = markDeleted.get(kind, tenantId, id, version, wall);
    forgetState.run(seq);
    if (kind === "tenant") onTenantDeleted?.(id);
    return seq;
  }

  return {
    /** `changes` is a separate argument so that the group commit can count its rows. */
    write(changes: readonly RecordChange[], request: RestOfWrite): Written | WriteRejection {
      const rejection = findRejection(changes, request);
      if (rejection !== undefined) return rejection;
      const { mark } = request;
      if (mark !== undefined) writeMark.run(mark.scope, mark.key, mark.fingerprint, mark.madeId, mark.madeAt);
      const version = changes.length === 0 ? readVersion() : takeVersion();
      const seqs = changes.map((change) => apply(change, version, request.at));
      const events = (request.events ?? []).map((one) => accept.accept(one.event, one.deliveries, request.at));
      const replay = request.replay && insertReplay(request.replay);
      audit.append(request.audit ?? [], request.at);
      return { kind: "written", version, seqs, events, replay };
    },

    recordStates(states: readonly RecordState[], notes: readonly AuditNote[] = []): void {
      for (const note of states) {
        if ("seq" in note) {
          noteState.run(note.seq, note.state);
        } else {
          const { kind, tenantId, series } = note.series;
          noteVersion.run(note.state, kind, tenantId, series, note.number);
        }
      }
      audit.append(notes, at.wall);
    },
  };
}

function findFirst<Item, Found>(items: readonly Item[], find: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Source names belong to the whole gateway, so the key does not contain the owner. */
function ownerOf(change: RecordChange): string | undefined {
  const { kind, id, tenantId } = change;
  if (kind === "tenant") return id;
  if (kind !== "source" || change.act !== "put") return tenantId;
  return (JSON.parse(change.data) as { tenant_id?: string }).tenant_id;
}

type RestOfWrite = Omit<WriteRequest, "changes">;

function createVersionRead(prepare: Prepare): () => number {
  const select = prepare("select value as version from meta where key = 'record_version'");
  return () => select.get().version;
}

const RECORD = asFields(
  "r.seq, r.kind, r.tenant_id, r.id, r.version, r.format, r.data, r.blob, s.state, r.created_at, r.updated_at, r.deleted_at",
);
const RECORDS = `select ${RECORD} from records r left join record_states s on s.seq = r.seq`;
const VERSION = `${asFields("id, number, format, data, state, created_at")}, is_deleted as isDeleted,
  coalesce(length(blob), 0) as size`;
const OF_SERIES = "from record_versions where kind = ? and tenant_id = ? and series = ?";

type RecordReads = AtOnce<
  Records,
  "findMark" | "listVersions" | "findVersion" | "find" | "list" | "load" | "changesSince"
>;

export function createRecordReads(db: Database, prepare: Prepare): RecordReads {
  const readVersion = createVersionRead(prepare);

  function readSet(sql: string, ...values: (string | number)[]): RecordSet {
    return readAtOnce(db, () => ({
      version: readVersion(),
      records: prepare(sql)
        .all(...values)
        .map(toRow<StoredRecord>),
    }));
  }

  return {
    findMark: createMarkLookup(db),
    listVersions({ kind, tenantId, series }, { limit, cursor }) {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
      const select = prepare(`select ${VERSION} ${OF_SERIES} and number < ? order by number desc limit ?`);
      const values = [kind, tenantId, series, before];
      return readPage(select, values, { limit }, ({ number }: VersionSql) => String(number), toVersion);
    },
    findVersion({ kind, tenantId, series }, number) {
      const row = prepare(`select ${VERSION}, blob ${OF_SERIES} and number = ?`).get(kind, tenantId, series, number);
      return row && toVersion(row);
    },
    find({ kind, tenantId, id }) {
      const select = prepare(`${RECORDS} where r.kind = ? and r.tenant_id = ? and r.id = ? and r.deleted_at is null`);
      const row: StoredRecord | undefined = select.get(kind, tenantId, id);
      // The driver cuts text at NUL, so the row may belong to another id.
      return row === undefined || row.id !== id ? undefined : toRow(row);
    },
    list(kind, { limit, cursor }) {
      const select = prepare(
        `${RECORDS} where r.kind = ? and r.tenant_id = '' and r.id > ? and r.deleted_at is null order by r.id limit ?`,
      );
      return readPage(select, [kind, cursor ?? ""], { limit }, ({ id }) => id, toRow<StoredRecord>);
    },
    load: (kinds) =>
      readSet(
        `${RECORDS} where r.kind in (select value from json_each(?)) and r.deleted_at is null and r.format > 0
         order by r.seq`,
        JSON.stringify(kinds),
      ),
    changesSince: (version, kinds) =>
      readSet(
        `${RECORDS} where r.version > ? and r.kind in (select value from json_each(?)) and r.format > 0
         order by r.version, r.seq`,
        version,
        JSON.stringify(kinds),
      ),
  };
}

type VersionSql = Omit<RecordVersion, "isDeleted"> & { isDeleted: number };

function toVersion(row: VersionSql): RecordVersion {
  return { ...toRow<VersionSql>(row), isDeleted: row.isDeleted === 1 };
}

interface RecordSql {
  seq: number;
  id: string;
  version: number;
  format: number;
  deleted_at: number | null;
}

function createMarkLookup(db: Database): AtOnce<Records, "findMark">["findMark"] {
  const select = db.prepare(`
    select scope, key, fingerprint, made_id as madeId, made_at as madeAt from idempotency_keys
    where scope = ? and key = ?`);
  return (scope, key) => select.get(scope, key);
}
