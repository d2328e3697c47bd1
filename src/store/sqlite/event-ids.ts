import { createHmac } from "node:crypto";
import { publishKey } from "../../model/ids.ts";
import type { NewEvent } from "../port/event-log.ts";
import type { Database } from "./connection.ts";
import type { Prepare } from "./query-rows.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";

/** One mark for this many sequence numbers. Databases depend on it: it must never grow. */
const MARKED_EVENTS = 128;

/**
 * Finds events by the ids that this gateway generated. They are generated in nearly the same order in which events are
 * stored: one in 128 has a row, and each that is lower than one before (the clock was set back, or it took a while).
 */
export function createEventIds(db: Database) {
  const insertMark = db.prepare("insert into event_id_marks (id, event_seq) values (?, ?)");
  const insertRow = db.prepare("insert or ignore into event_ids (id, event_seq) values (?, ?)");
  const selectLastMark = db.prepare("select id, event_seq from event_id_marks order by id desc limit 1");
  const selectHighest = db.prepare(`
    select max(id) as id from events where seq >= ?1 and seq < ?1 + ${MARKED_EVENTS} and given_id = 0`);
  const find = createEventIdLookup((sql) => db.prepare(sql));

  let highest = "";
  let markedPart = -1;
  load();

  function load(): void {
    const mark: { id: string; event_seq: number } | undefined = selectLastMark.get();
    markedPart = mark === undefined ? -1 : partOf(mark.event_seq);
    // The events of the mark may be deleted.
    highest = mark === undefined ? "" : (selectHighest.get(mark.event_seq).id ?? mark.id);
  }

  return {
    /** Records the number of an event with a generated id. */
    record(seq: number, id: string): void {
      if (id <= highest) {
        insertRow.run(id, seq);
        return;
      }
      highest = id;
      if (partOf(seq) === markedPart) return;
      insertMark.run(id, seq);
      markedPart = partOf(seq);
    },
    find,
    /** Forgets what a transaction that did not commit has recorded. */
    rollback: load,
  };
}

/** Removes ids when retention deletes events. */
export function createEventIdRemoval(db: Database) {
  const deleteRows = db.prepare(`
    delete from event_ids where id in (select id from events where seq between ? and ? and given_id = 0)`);
  const deleteMarks = db.prepare(`
    delete from event_id_marks where id in (
      select id from event_id_marks where event_seq + ${MARKED_EVENTS} <= (select min(seq) from events)
      order by id limit ?)`);

  return {
    /** Called before these events are deleted; both ends are included. */
    remove: (firstSeq: number, lastSeq: number): void => void deleteRows.run(firstSeq, lastSeq),
    /** Removes up to `limit` marks that no event needs any more; returns how many. */
    removeOldMarks: (limit: number): number => deleteMarks.run(limit).changes,
  };
}

/** The look-up alone, for read connections. */
export function createEventIdLookup(prepare: Prepare): (id: string) => number | undefined {
  const selectRow = prepare("select event_seq as seq from event_ids where id = ?");
  const selectMark = prepare("select event_seq as seq from event_id_marks where id <= ? order by id desc limit 1");
  const selectAmong = prepare(`
    select seq from events where seq >= ?1 and seq < ?1 + ${MARKED_EVENTS} and id = ?2 and given_id = 0`);
  return (id) => {
    const own = selectRow.get(id);
    if (own !== undefined) return own.seq;
    const mark = selectMark.get(id);
    return mark && selectAmong.get(mark.seq, id)?.seq;
  };
}

function partOf(seq: number): number {
  return Math.floor(seq / MARKED_EVENTS);
}

/** A key in `meta`. It keeps the number of the last event when that is deleted, because numbers are never reused. */
export const LAST_EVENT_SEQ = "last_event_seq";

export function readLastSeq(db: Pick<Database, "prepare">): number {
  const select = db.prepare(`
    select max(coalesce((select max(seq) from events), 0), coalesce((select value from meta where key = ?), 0)) as seq`);
  return select.get(LAST_EVENT_SEQ).seq;
}

/** Keyed, so that senders cannot make keys collide. 62 bits leave room in an integer key to probe the next slots. */
export function hashKey(secret: Uint8Array, tenantId: string, key: string): bigint {
  const digest = createHmac("sha1", secret).update(`${tenantId}\0${key}`).digest();
  return digest.readBigInt64BE(0) & 0x3fff_ffff_ffff_ffffn;
}

/** Finds an event by the id that its sender chose, through its dedupe key, which contains that id. */
export function createGivenIdLookup(prepare: Prepare, secret: Uint8Array) {
  const select = prepare(`
    select e.seq, e.tenant_id as tenantId, e.dedupe_key as dedupeKey
    from dedupe left join events e on e.seq = dedupe.event_seq where dedupe.hash = ?`);
  return (id: string, tenantId: string): number | undefined => {
    const key = publishKey(id);
    const bytes = Buffer.from(key);
    for (let hash = hashKey(secret, tenantId, key); ; hash += 1n) {
      const row: Place | undefined = select.get(hash);
      if (row === undefined) return undefined;
      // A deleted event may have left its slot behind.
      if (row.dedupeKey !== null && row.tenantId === tenantId && bytes.equals(row.dedupeKey)) return row.seq;
    }
  };
}

type Place = { seq: number; tenantId: string; dedupeKey: Uint8Array | null };

/** Separates the two keys of an event; this byte occurs in no UTF-8 text. */
const PARTS_KEYS = 0xff;

/** The dedupe key and the replay key of an event, as its row has them. */
export function writeKeys(key: string | undefined, replayKey: string | undefined): Buffer | null {
  if (replayKey === undefined) return key === undefined ? null : Buffer.from(key);
  return Buffer.concat([Buffer.from(key ?? ""), Buffer.of(PARTS_KEYS), Buffer.from(replayKey)]);
}

function readKeys(written: Uint8Array): Uint8Array[] {
  const partedAt = written.indexOf(PARTS_KEYS);
  return partedAt < 0 ? [written] : [written.subarray(0, partedAt), written.subarray(partedAt + 1)];
}

export interface DedupeOptions {
  dedupeHorizonMs: number;
  hashKey: Uint8Array;
}

/** The keys of events, by their hashes; those of deleted events stay known for as long as others. */
export function createDedupeKeys(db: Database, { hashKey: secret, dedupeHorizonMs }: DedupeOptions) {
  const findByHash = db.prepare(`
    select coalesce(e.id, k.id) as id, coalesce(e.tenant_id, k.tenant_id) as tenant_id,
      coalesce(e.dedupe_key, k.dedupe_key) as dedupe_key,
      max(coalesce(e.received_at, k.received_at), coalesce(t.settled_at, 0)) as received_at,
      coalesce(t.state, -1) = ${MESSAGE_STATE.held} as is_held
    from dedupe d left join events e on e.seq = d.event_seq left join known_ids k on k.event_seq = d.event_seq
      left join taken_messages t on t.event_seq = d.event_seq
    where d.hash = ?`);
  const saveHash = db.prepare("insert or replace into dedupe (hash, event_seq) values (?, ?)");
  const insert = db.prepare(`
    insert or replace into known_ids (event_seq, id, tenant_id, dedupe_key, received_at) values (?, ?, ?, ?, ?)`);
  const selectOldest = db.prepare(`
    select event_seq as seq, id, tenant_id as tenantId, dedupe_key as dedupeKey, received_at as receivedAt
    from known_ids order by event_seq limit ?`);
  const remove = db.prepare("delete from known_ids where event_seq = ?");
  const findHash = db.prepare("select event_seq as seq from dedupe where hash = ?");
  const removeHash = db.prepare("delete from dedupe where hash = ?");

  /** Forgets the ids of an event that is deleted in the same transaction. */
  function forget({ seq, tenantId, dedupeKey }: DeletedEvent): void {
    if (dedupeKey === null) return;
    for (const key of readKeys(dedupeKey)) forgetKey(hashKey(secret, tenantId, Buffer.from(key).toString()), seq);
  }

  /** Checks the number, because a later event may have taken the slot. */
  function forgetKey(first: bigint, seq: number): void {
    for (let hash = first; ; hash += 1n) {
      const found: { seq: number } | undefined = findHash.get(hash);
      if (found === undefined) return;
      if (found.seq !== seq) continue;
      // A colliding key may be in the next slot, and a gap would hide it. So the row may stay, without an event.
      if (findHash.get(hash + 1n) === undefined) removeHash.run(hash);
      return;
    }
  }

  return {
    /** The id of the event that has this key; if there is none, the free slot for its hash. */
    find(event: NewEvent, key: string): string | bigint {
      const bytes = Buffer.from(key);
      let hash = hashKey(secret, event.tenantId, key);
      let left: bigint | undefined;
      for (;;) {
        const row: KnownKey | undefined = findByHash.get(hash);
        if (row === undefined) return left ?? hash;
        // The event of this slot is deleted; the key may still follow in a later slot.
        if (row.dedupe_key === null) left ??= hash;
        else if (isAmong(bytes, row.dedupe_key) && row.tenant_id === event.tenantId) {
          const isFresh = row.is_held === 1 || event.receivedAt - row.received_at <= dedupeHorizonMs;
          return isFresh ? row.id : hash;
        }
        hash += 1n;
      }
    },
    save: (hash: bigint, seq: number): void => void saveHash.run(hash, seq),
    forget,
    /** Remembers the ids of an event that is deleted in the same transaction. */
    leave(event: DeletedEvent, wall: number): void {
      const { seq, id, tenantId, dedupeKey, receivedAt } = event;
      const isFresh = wall - receivedAt <= dedupeHorizonMs;
      if (isFresh && dedupeKey !== null) insert.run(seq, id, tenantId, dedupeKey, receivedAt);
      else forget(event);
    },
    /** Forgets up to `limit` ids that were known for long enough; returns how many. */
    forgetOld(wall: number, limit: number): number {
      let forgotten = 0;
      for (const event of selectOldest.all(limit) as DeletedEvent[]) {
        if (wall - event.receivedAt <= dedupeHorizonMs) break;
        forget(event);
        remove.run(event.seq);
        forgotten++;
      }
      return forgotten;
    },
  };
}

export type DedupeKeys = ReturnType<typeof createDedupeKeys>;

export interface DeletedEvent {
  seq: number;
  id: string;
  tenantId: string;
  dedupeKey: Uint8Array | null;
  receivedAt: number;
}

interface KnownKey {
  id: string;
  tenant_id: string;
  dedupe_key: Uint8Array | null;
  /** When the event was received, or its message was settled, whichever is later. */
  received_at: number;
  /** Whether its message is still in its queue and will come again. */
  is_held: number;
}

function isAmong(key: Buffer, written: Uint8Array): boolean {
  return key.equals(written) || readKeys(written).some((one) => key.equals(one));
}
