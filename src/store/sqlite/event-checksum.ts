import { crc32 } from "node:zlib";
import { PosthornError } from "../../domain/errors.ts";
import type { Database } from "./connection.ts";
import { isCorruption } from "./faults.ts";

/** The short ones of `SummedEvent`. */
export type SummedFacts = readonly [
  seq: number,
  id: string,
  type: string,
  version: string,
  source: string,
  tenantId: string,
  priority: number,
  origin: number,
  orderingKey: string | null,
  occurredAt: number,
  receivedAt: number,
  contentType: string | null,
  size: number,
];

/**
 * Everything of an event's row that a delivery may send, and its number: a row that is found under another number is
 * damaged too. A body in a row of its own has a checksum there.
 */
export type SummedEvent = readonly [...SummedFacts, request: string | null, details: string | null];

/** The columns of `SummedEvent`, then body and checksum. */
export const SUMMED_COLUMNS = `e.seq, e.id, e.type, e.version, e.source, e.tenant_id, e.priority, e.origin, e.ordering_key,
  e.occurred_at, e.received_at, e.content_type, e.size, e.request, e.details, e.body, e.checksum`;

/** Occurs in no JSON text and in no id. */
const BETWEEN = "\0";

export function sumEvent(event: SummedEvent, body: Uint8Array | null): number {
  const sum = crc32(event.join(BETWEEN));
  // For no bytes at all zlib may forget the sum so far.
  return body === null || body.length === 0 ? sum : crc32(body, sum);
}

export function sumBody(seq: number, body: Uint8Array): number {
  return crc32(body, seq >>> 0);
}

/** A row of `SUMMED_COLUMNS`. */
export type SummedRow = readonly [...SummedEvent, body: Uint8Array | null, checksum: number | null];
export const SUMMED_ROW = 17;

/** The checksum that the row should have. */
export function sumRow(row: readonly [...SummedRow, ...unknown[]]): number {
  return sumEvent(row.slice(0, SUMMED_ROW - 2) as unknown as SummedEvent, row[15]);
}

/** A row of an earlier release has no checksum. */
export function isDamagedRow(row: readonly [...SummedRow, ...unknown[]]): boolean {
  return row[16] !== null && row[16] !== sumRow(row);
}

export function isDamagedBody(seq: number, body: Uint8Array, checksum: number | null): boolean {
  return checksum !== null && sumBody(seq, body) !== checksum;
}

export type EventTable = "events" | "bodies";

export function describeDamage(table: EventTable, seq: number): string {
  return `row ${seq} of the table ${table} is damaged: it does not have the checksum that it was written with`;
}

/** The event must not be used, whatever can still be read of it. */
export function damagedEvent(damage: string, cause?: unknown): PosthornError {
  const what = `${damage[0]?.toUpperCase()}${damage.slice(1)}`;
  const message = `${what}. It is kept as it is and not delivered. Check the disk; a backup may have the event.`;
  return new PosthornError("store_corrupt", message, { details: { damage }, cause });
}

/** Names the row if SQLite cannot read its page. */
export function readRow<T>(table: EventTable, seq: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isCorruption(error)) throw error;
    throw damagedEvent(describeUnreadable(table, seq, error), error);
  }
}

export function describeUnreadable(table: EventTable, seq: number, error: unknown): string {
  return `row ${seq} of the table ${table} cannot be read: ${(error as Error).message}`;
}

const WALKED_ROWS = 1000;

/** Goes through all events and bodies of a database, and names those that are damaged; at most `max`. */
export function findDamagedEvents(db: Database, max: number): string[] {
  const damages: string[] = [];
  const hasChecksums = db.prepare("select 1 from pragma_table_info('bodies') where name = 'checksum'").get();
  if (hasChecksums === undefined) return damages;
  for (const [table, sql, isDamaged] of [
    ["events", `select ${SUMMED_COLUMNS} from events e where e.seq > ? order by e.seq`, isDamagedRow],
    ["bodies", "select event_seq, body, checksum from bodies where event_seq > ? order by event_seq", isDamagedBodyRow],
  ] as const) {
    const select = db.prepare(`${sql} limit ${WALKED_ROWS}`);
    select.setReturnArrays(true);
    for (let after = 0, rows: SummedRow[] = []; ; after = rows.at(-1)?.[0] ?? 0) {
      rows = select.all(after);
      if (rows.length === 0) break;
      for (const row of rows) {
        if (damages.length < max && isDamaged(row as never)) damages.push(describeDamage(table, row[0]));
      }
    }
  }
  return damages;
}

function isDamagedBodyRow([seq, body, checksum]: readonly [number, Uint8Array, number | null]): boolean {
  return isDamagedBody(seq, body, checksum);
}
