import type { Database } from "./connection.ts";
import { readKeys, type AcceptOptions } from "./accept.ts";
import { hashKey } from "./dedupe-hash.ts";

/** The ids of deleted events: they stay known for as long as other ids. */
export interface KnownIds {
  /** Remembers the ids of an event that is deleted in the same transaction. */
  leave(event: DeletedEvent, wall: number): void;
  /** Forgets the ids of an event that is deleted in the same transaction. */
  forget(event: DeletedEvent): void;
  /** Forgets up to `limit` ids that were known for long enough; returns how many. */
  forgetOld(wall: number, limit: number): number;
}

export interface DeletedEvent {
  seq: number;
  id: string;
  tenantId: string;
  dedupeKey: Uint8Array | null;
  receivedAt: number;
}

export function createKnownIds(db: Database, { hashKey: secret, dedupeHorizonMs }: AcceptOptions): KnownIds {
  const insert = db.prepare(`
    insert or replace into known_ids (event_seq, id, tenant_id, dedupe_key, received_at) values (?, ?, ?, ?, ?)`);
  const selectOldest = db.prepare(`
    select event_seq as seq, id, tenant_id as tenantId, dedupe_key as dedupeKey, received_at as receivedAt
    from known_ids order by event_seq limit ?`);
  const remove = db.prepare("delete from known_ids where event_seq = ?");
  const findHash = db.prepare("select event_seq as seq from dedupe where hash = ?");
  const removeHash = db.prepare("delete from dedupe where hash = ?");

  function forget({ seq, tenantId, dedupeKey }: DeletedEvent): void {
    if (dedupeKey === null) return;
    for (const key of readKeys(dedupeKey)) forgetKey(hashKey(secret, tenantId, key), seq);
  }

  /** Checks the number, because a later event may have taken the slot. */
  function forgetKey(first: bigint, seq: number): void {
    for (let hash = first; ; hash += 1n) {
      const found = findHash.get(hash) as { seq: number } | undefined;
      if (found === undefined) return;
      if (found.seq !== seq) continue;
      // A colliding key may be in the next slot, and a gap would hide it. So the row may stay, without an event.
      if (findHash.get(hash + 1n) === undefined) removeHash.run(hash);
      return;
    }
  }

  return {
    forget,
    leave(event, wall) {
      const { seq, id, tenantId, dedupeKey, receivedAt } = event;
      const isFresh = wall - receivedAt <= dedupeHorizonMs;
      if (isFresh && dedupeKey !== null) insert.run(seq, id, tenantId, dedupeKey, receivedAt);
      else forget(event);
    },
    forgetOld(wall, limit) {
      let forgotten = 0;
      for (const event of selectOldest.all(limit) as unknown as DeletedEvent[]) {
        if (wall - event.receivedAt <= dedupeHorizonMs) break;
        forget(event);
        remove.run(event.seq);
        forgotten++;
      }
      return forgotten;
    },
  };
}
