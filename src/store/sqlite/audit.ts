import { randomBytes } from "node:crypto";
import {
  createAuditKey,
  canonicalJson,
  BEGINNING,
  CHAIN_BEGUN,
  CHAIN_BROKEN,
  hashData,
  hashEntry,
  textOfMark,
  type AuditData,
  type AuditMark,
  type AuditMarkName,
  type AuditRow,
} from "../../model/audit.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Audit, AuditNote } from "../port/audit.ts";
import { type Database, openReadConnection } from "./connection.ts";
import type { Walked } from "./event-removal.ts";
import {
  allOf,
  createPrepare,
  cursorOfSeq,
  parseCursor,
  readAtOnce,
  readPage,
  toRow,
  type AtOnce,
  type Prepare,
} from "./query-rows.ts";
import { existsSync } from "node:fs";

type Place = Pick<AuditMark, "seq" | "hash">;

const SALT_BYTES = 16;
const GATEWAY = { actor: "gateway", kind: "audit", id: "audit" };

/** Writes entries in the open transaction; the head is signed once for all of them, before the commit. */
export function createAuditLog(db: Database, storeId: string, seedHex: string | undefined) {
  const key = seedHex === undefined ? undefined : createAuditKey(seedHex);
  const insert = db.prepare("insert into audit (seq, entry, data, hash) values (?, ?, ?, ?)");
  const selectMark = db.prepare("select seq, hash, at, signature from audit_marks where name = ?");
  const putMark = db.prepare(
    "insert or replace into audit_marks (name, seq, hash, at, signature) values (?, ?, ?, ?, ?)",
  );
  const selectLast = db.prepare("select coalesce(max(seq), 0) as seq from audit");
  const countRecords = db.prepare("select count(*) as records from records where deleted_at is null and format > 0");
  const selectOldest = db.prepare("select seq, hash, entry ->> '$.at' as at from audit order by seq limit ?");
  const removeUpTo = db.prepare("delete from audit where seq <= ?");
  const selectOfTenant = db.prepare(`
    select seq, data is not null as hasData from audit
    where entry ->> '$.tenant_id' = ? and seq < ? order by seq desc limit ?`);
  const erase = db.prepare("update audit set data = null where seq = ?");

  /** The end of the entries that this transaction has written but not signed yet. */
  let pending: (Place & { at: number }) | undefined;
  /** The last head that this process has written. An older head in the database was put there by somebody else. */
  let written: AuditMark | undefined;

  function findMark(name: AuditMarkName): AuditMark | undefined {
    return selectMark.get(name);
  }

  function sign(name: AuditMarkName, place: Place, at: number): AuditMark {
    const mark = { seq: place.seq, hash: place.hash, at };
    const signature = key?.sign(textOfMark(name, storeId, mark)) ?? "";
    putMark.run(name, mark.seq, mark.hash, at, signature);
    return { ...mark, signature };
  }

  function add(after: Place, note: AuditNote, at: number): Place {
    const { actor, via = null, act, kind, id, tenantId = null, before, after: made, details, address } = note;
    const hasData = before !== undefined || made !== undefined || details !== undefined || address !== undefined;
    const said: AuditData = { salt: randomBytes(SALT_BYTES).toString("hex"), before, after: made, details, address };
    const data = hasData ? canonicalJson(said) : null;
    const seq = after.seq + 1;
    const hashed = data === null ? null : hashData(data);
    const entry = canonicalJson({ v: 1, seq, at, actor, via, act, kind, id, tenant_id: tenantId, data: hashed });
    const hash = hashEntry(after.hash, entry);
    insert.run(seq, entry, data, hash);
    return { seq, hash };
  }

  function findBreak(head: AuditMark | undefined, lastRow: number): string | undefined {
    if (head === undefined) return lastRow > 0 || written !== undefined ? "the head is missing" : undefined;
    const isSigned = key === undefined || key.verify(textOfMark("head", storeId, head), head.signature);
    if (!isSigned) return "the head has a wrong signature";
    if (lastRow > head.seq) return "there are entries after the head";
    if (written === undefined || head.seq > written.seq || head.hash === written.hash) return undefined;
    return "the head was set back to an earlier entry";
  }

  /** The place where the chain continues. If the chain is broken, an entry records it, which no later head can hide. */
  function open(at: number): Place {
    if (pending !== undefined) return pending;
    const head = findMark("head");
    const lastRow = lastSeq();
    const broken = findBreak(head, lastRow);
    if (broken !== undefined) {
      const seq = Math.max(lastRow, head?.seq ?? 0, written?.seq ?? 0);
      return add(
        { seq, hash: head?.hash ?? BEGINNING.hash },
        { ...GATEWAY, act: CHAIN_BROKEN, details: { broken } },
        at,
      );
    }
    if (head !== undefined) return head;
    const { records } = countRecords.get();
    const details = { records, upgraded: records > 0 };
    return add(BEGINNING, { ...GATEWAY, act: CHAIN_BEGUN, details }, at);
  }

  function append(notes: readonly AuditNote[], at: number): void {
    if (notes.length === 0) return;
    let place = open(at);
    for (const note of notes) place = add(place, note, at);
    pending = { ...place, at };
  }

  function lastSeq(): number {
    return selectLast.get().seq;
  }

  return {
    append,
    lastSeq,
    begin(at: number): void {
      if (pending === undefined && findMark("head") === undefined) pending = { ...open(at), at };
    },
    /** Deletes the oldest entries written before this time, and signs the checkpoint at which the chain now begins. */
    prune(before: number, limit: number, at: number): number {
      const oldest: (Place & { at: number })[] = selectOldest.all(limit);
      const end = oldest.findIndex((row) => row.at >= before);
      const old = end === -1 ? oldest : oldest.slice(0, end);
      const last = old.at(-1);
      // The last entry stays, because the head refers to it.
      if (last === undefined || last.seq === lastSeq()) return 0;
      append([{ ...GATEWAY, act: "audit.prune", details: { up_to: last.seq, entries: old.length } }], at);
      removeUpTo.run(last.seq);
      sign("checkpoint", last, at);
      return old.length;
    },
    /** Erases the data of at most `limit` of a tenant's entries, down from `beforeSeq`; the bare entries stay. */
    eraseData(tenantId: string, beforeSeq: number, limit: number): Walked {
      const next: { seq: number; hasData: number }[] = selectOfTenant.all(tenantId, beforeSeq, limit);
      const full = next.filter(({ hasData }) => hasData === 1);
      for (const { seq } of full) erase.run(seq);
      return { removed: full.length, afterSeq: next.at(-1)?.seq ?? beforeSeq, isEnd: next.length < limit };
    },
    write() {
      if (pending === undefined) return;
      written = sign("head", pending, pending.at);
      pending = undefined;
    },
    rollback() {
      pending = undefined;
      written = undefined;
    },
  };
}

export type AuditLog = ReturnType<typeof createAuditLog>;

export function createAuditReads(db: Database, prepare: Prepare): AtOnce<Audit, "list" | "read"> {
  const findMark = (name: AuditMarkName): AuditMark | undefined =>
    prepare("select seq, hash, at, signature from audit_marks where name = ?").get(name);

  function readPart(afterSeq: number, limit: number) {
    const rows = prepare("select seq, entry, data, hash from audit where seq > ? order by seq limit ?");
    return {
      rows: rows.all(afterSeq, limit).map(toRow<AuditRow>),
      storeId: prepare("select value from meta where key = 'store_id'").get().value,
      head: findMark("head"),
      checkpoint: findMark("checkpoint"),
    };
  }

  return {
    list(filter, page) {
      const { sql, values } = allOf([
        ["entry ->> '$.kind' = ?", filter.kind],
        ["entry ->> '$.id' = ?", filter.id],
        ["entry ->> '$.tenant_id' = ?", filter.tenantId],
        ["entry ->> '$.actor' = ?", filter.actor],
        ["entry ->> '$.act' = ?", filter.act],
        ["entry ->> '$.at' >= ?", filter.since],
        ["entry ->> '$.at' < ?", filter.until],
        ["json_type(data, ?) is not null", filter.member && `$.after.${filter.member}`],
        ["seq < ?", ...parseCursor(page.cursor, 1)],
      ]);
      const select = prepare(`select seq, entry, data, hash from audit where ${sql} order by seq desc limit ?`);
      return readPage(select, values, page, cursorOfSeq, toRow<AuditRow>);
    },

    read: (afterSeq, limit) => readAtOnce(db, () => readPart(afterSeq, limit)),
  };
}

/** Reads the audit log of a database, with or without a running gateway. Writes nothing. */
export function openAuditOf(file: string) {
  if (!existsSync(file)) {
    throw new PosthornError("not_found", `There is no database ${file}. Pass the gateway's --data-dir.`);
  }
  const db = openReadConnection(file);
  if (db.prepare("select 1 from sqlite_master where name = 'audit_marks'").get() === undefined) {
    db.close();
    const message = `${file} has no audit log yet. The log begins when a gateway first starts on it.`;
    throw new PosthornError("not_found", message);
  }
  const { read } = createAuditReads(db, createPrepare(db));
  return { read, close: () => db.close() };
}
