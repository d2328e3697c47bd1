import { crc32 } from "node:zlib";
import { PosthornError } from "../../model/errors.ts";
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
  return sum(event, body);
}

function sum(facts: readonly unknown[], body: Uint8Array | null): number {
  const sumOfFacts = crc32(facts.join(BETWEEN));
  // For no bytes at all zlib may forget the sum so far.
  return body === null || body.length === 0 ? sumOfFacts : crc32(body, sumOfFacts);
}

export function sumBody(seq: number, body: Uint8Array): number {
  return crc32(body, seq >>> 0);
}

/** A row of `SUMMED_COLUMNS`. */
export type SummedRow = readonly [...SummedEvent, body: Uint8Array | null, checksum: number];
export const SUMMED_ROW = 17;

/** The checksum that the row should have. */
export function sumRow(row: readonly [...SummedRow, ...unknown[]]): number {
  return sumEvent(row.slice(0, SUMMED_ROW - 2) as unknown as SummedEvent, row[15]);
}

export function isDamagedRow(row: readonly [...SummedRow, ...unknown[]]): boolean {
  return row[16] !== sumRow(row);
}

export function isDamagedBody(seq: number, body: Uint8Array, checksum: number): boolean {
  return sumBody(seq, body) !== checksum;
}

/** Everything of a kept request that a replay takes. */
export type SummedRequest = readonly [
  id: string,
  source: string,
  tenantId: string,
  receivedAt: number,
  facts: string,
  size: number,
];

/** The number of a request, the columns of `SummedRequest`, then body and checksum. */
export const REQUEST_COLUMNS = "seq, id, source, tenant_id, received_at, facts, size, body, checksum";
export type RequestRow = readonly [seq: number, ...SummedRequest, body: Uint8Array | null, checksum: number | null];

export function sumRequest(request: SummedRequest, body: Uint8Array | null): number {
  return sum(request, body);
}

/** A row with an erased body has no checksum; no other lacks one. */
export function isDamagedRequest([, ...row]: RequestRow): boolean {
  const [id, source, tenantId, receivedAt, facts, size, body, checksum] = row;
  if (checksum === null) return body !== null;
  return sumRequest([id, source, tenantId, receivedAt, facts, size], body) !== checksum;
}

export type SummedTable = "events" | "bodies" | "requests";

export function describeDamage(table: SummedTable, seq: number): string {
  return `row ${seq} of the table ${table} is damaged: it does not have the checksum that it was written with`;
}

/** The event or request must not be used, whatever can still be read of it. */
export function damagedRow(damage: string, cause?: unknown): PosthornError {
  const what = `${damage[0]?.toUpperCase()}${damage.slice(1)}`;
  const message = `${what}. It is kept as it is, and neither delivered nor replayed. Check the disk; a backup may have it.`;
  return new PosthornError("store_corrupt", message, { details: { damage }, cause });
}

/** Names the row if SQLite cannot read its page. */
export function readRow<T>(table: SummedTable, key: number | string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isCorruption(error)) throw error;
    throw damagedRow(describeUnreadable(table, key, error), error);
  }
}

export function describeUnreadable(table: SummedTable, key: number | string, error: unknown): string {
  return `row ${key} of the table ${table} cannot be read: ${(error as Error).message}`;
}

const WALKED_ROWS = 1000;

/** Goes through all events, bodies and kept requests of a database, and names those that are damaged; at most `max`. */
export function findDamagedRows(db: Database, max: number): string[] {
  const damages: string[] = [];
  for (const [table, sql, isDamaged] of [
    ["events", `select ${SUMMED_COLUMNS} from events e where e.seq > ? order by e.seq`, isDamagedRow],
    ["bodies", "select event_seq, body, checksum from bodies where event_seq > ? order by event_seq", isDamagedBodyRow],
    ["requests", `select ${REQUEST_COLUMNS} from requests where seq > ? order by seq`, isDamagedRequest],
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

function isDamagedBodyRow([seq, body, checksum]: readonly [number, Uint8Array, number]): boolean {
  return isDamagedBody(seq, body, checksum);
}
