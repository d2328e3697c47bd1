import { publishKey } from "../../model/ids.ts";
import { hashKey } from "./dedupe-hash.ts";
import type { Statement } from "./connection.ts";

/** Finds an event by the id that its sender chose, through its dedupe key, which contains that id. */
export type FindGivenId = (id: string, tenantId: string) => number | undefined;

export function createGivenIdLookup(prepare: (sql: string) => Statement, secret: Uint8Array): FindGivenId {
  const select = prepare(`
    select e.seq, e.tenant_id as tenantId, e.dedupe_key as dedupeKey
    from dedupe left join events e on e.seq = dedupe.event_seq where dedupe.hash = ?`);
  return (id, tenantId) => {
    const key = publishKey(id);
    const bytes = Buffer.from(key);
    for (let hash = hashKey(secret, tenantId, key); ; hash += 1n) {
      const row = select.get(hash) as Place | undefined;
      if (row === undefined) return undefined;
      // A deleted event may have left its slot behind.
      if (row.dedupeKey !== null && row.tenantId === tenantId && bytes.equals(row.dedupeKey)) return row.seq;
    }
  };
}

type Place = { seq: number; tenantId: string; dedupeKey: Uint8Array | null };
