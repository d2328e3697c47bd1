import { crc32 } from "node:zlib";
import { PosthornError } from "../../model/errors.ts";
import { PRIORITIES, hopsOf, originIdOf, type Priority } from "../../model/event.ts";
import { formatDeliveryId } from "../../model/ids.ts";
import { traceOf } from "../../model/trace-context.ts";
import type { NewEvent } from "../port/event-log.ts";
import type { ClaimedDelivery } from "../port/lanes.ts";
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
 * damaged too. A body in a row of its own has a checksum there. A new field gets its place in the list of the columns,
 * in `toSummed` and in `toContent`; the statements that write and read events take it from there.
 */
export type SummedEvent = readonly [...SummedFacts, request: string | null, details: string | null];

const FACTS = `id, type, version, source, tenant_id, priority, origin, ordering_key, occurred_at, received_at,
  content_type, size`;
/** The columns of `SummedEvent`. */
export const SUMMED = `seq, ${FACTS}, request, details`;

const ofEvent = (columns: string) => columns.replaceAll(/\w+/g, "e.$&");
/** The columns of `SummedFacts` but the number. */
export const FACT_COLUMNS = ofEvent(FACTS);
/** The columns of `SummedEvent`, then body and checksum. */
export const SUMMED_COLUMNS = ofEvent(`${SUMMED}, body, checksum`);

export function toSummed(seq: number, event: NewEvent): SummedEvent {
  return [
    seq,
    event.id,
    event.type,
    event.version,
    event.source,
    event.tenantId,
    PRIORITIES.indexOf(event.priority),
    event.origin === "webhook" ? 0 : 1,
    event.orderingKey ?? null,
    event.occurredAt,
    event.receivedAt,
    event.contentType ?? null,
    event.body.length,
    event.request ?? null,
    event.details ?? null,
  ];
}

export function toPriority(written: number): Priority {
  return PRIORITIES[written] ?? "normal";
}

export function toContent(event: SummedEvent, body: Uint8Array | null): ClaimedDelivery["event"] {
  const [, id, type, version, source, tenantId, priority, origin, orderingKey, occurredAt, receivedAt] = event;
  const details = event[14] ?? undefined;
  return {
    id,
    type,
    version,
    source,
    tenantId,
    priority: toPriority(priority),
    origin: origin === 0 ? "webhook" : "publish",
    orderingKey: orderingKey ?? undefined,
    occurredAt,
    receivedAt,
    contentType: event[11] ?? undefined,
    hops: hopsOf(details),
    originId: originIdOf(details),
    trace: traceOf(details),
    size: event[12],
    body: body ?? undefined,
  };
}

/** Occurs in no JSON text and in no id. */
const BETWEEN = "\0";

/** Of an event or a request. */
export function sumRow(facts: SummedEvent | SummedRequest, body: Uint8Array | null): number {
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

export function sumEventRow(row: readonly [...SummedRow, ...unknown[]]): number {
  return sumRow(row.slice(0, SUMMED_ROW - 2) as unknown as SummedEvent, row[15]);
}

export function isDamagedRow(row: readonly [...SummedRow, ...unknown[]]): boolean {
  return row[16] !== sumEventRow(row);
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

/** A row with an erased body has no checksum; no other lacks one. */
export function isDamagedRequest([, ...row]: RequestRow): boolean {
  const [id, source, tenantId, receivedAt, facts, size, body, checksum] = row;
  if (checksum === null) return body !== null;
  return sumRow([id, source, tenantId, receivedAt, facts, size], body) !== checksum;
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

function describeUnreadable(table: SummedTable, key: number | string, error: unknown): string {
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

/** More rows than fit on a page. */
const MAX_NEIGHBOURS = 1000;

/**
 * Rows on pages that SQLite cannot read. After such a read, SQLite writes nothing more in the same transaction. So the
 * row is recorded here, in memory, and the transaction is repeated (see `Writer`) without reading the row again.
 */
export function createUnreadableRows(db: Database) {
  const selectEvent = db.prepare("select * from events where seq = ?");
  const selectDelivery = db.prepare("select * from deliveries where event_seq = ? and subscription_seq = ?");
  const selectKey = db.prepare(`
    select event_seq from deliveries where subscription_seq = ? and queued_key = ? order by event_seq
    limit ${MAX_NEIGHBOURS}`);
  const events = new Map<number, string>();
  const deliveries = new Set<string>();
  const keys = new Set<string>();
  let news: string[] = [];

  function recordEvent(seq: number): boolean {
    const error = findCorruption(() => selectEvent.get(seq));
    if (error !== undefined) events.set(seq, describeUnreadable("events", seq, error));
    return error !== undefined;
  }

  /** A page holds successive events: all are recorded at once, so that the transaction is repeated only once. */
  function recordEvents(seq: number): void {
    if (!recordEvent(seq)) return;
    for (let next = seq + 1; next <= seq + MAX_NEIGHBOURS && recordEvent(next);) next++;
    for (let next = seq - 1; next >= seq - MAX_NEIGHBOURS && recordEvent(next);) next--;
  }

  function recordDelivery(eventSeq: number, subscriptionSeq: number): boolean {
    const error = findCorruption(() => selectDelivery.get(eventSeq, subscriptionSeq));
    if (error === undefined) return false;
    const id = formatDeliveryId(eventSeq, subscriptionSeq);
    deliveries.add(id);
    news.push(`delivery ${id} cannot be read: ${error.message}`);
    return true;
  }

  /** A row that can be read cannot always be changed: SQLite may have to move it to the next page. */
  function recordKey(subscriptionSeq: number, key: string, error: Error): void {
    const rows: { event_seq: number }[] = selectKey.all(subscriptionSeq, key);
    const unread = rows.filter(({ event_seq }) => recordDelivery(event_seq, subscriptionSeq));
    const [first] = rows;
    if (unread.length > 0 || first === undefined) return;
    news.push(`delivery ${formatDeliveryId(first.event_seq, subscriptionSeq)} cannot be changed: ${error.message}`);
  }

  return {
    /** Why the row of the event cannot be read; undefined if that is not known. */
    findEvent: (seq: number): string | undefined => events.get(seq),
    hasDelivery: (eventSeq: number, subscriptionSeq: number): boolean =>
      deliveries.size > 0 && deliveries.has(formatDeliveryId(eventSeq, subscriptionSeq)),
    /** How many deliveries are known that cannot be read. */
    get deliveries(): number {
      return deliveries.size;
    },
    /** Calls `read`, which reads a delivery or its event. If it fails, records which of the two cannot be read. */
    watch<T>(eventSeq: number, subscriptionSeq: number, read: () => T): T {
      try {
        return read();
      } catch (error) {
        if (isCorruption(error)) {
          recordEvents(eventSeq);
          recordDelivery(eventSeq, subscriptionSeq);
        }
        throw error;
      }
    },
    /**
     * Calls `run`, which reads or changes the deliveries that wait in an ordering key. After it has failed once, it is not
     * called again and the result is undefined: none of them may go when nobody knows the others.
     */
    watchKey<T>(subscriptionSeq: number, key: string, run: () => T): T | undefined {
      const name = `${subscriptionSeq} ${key}`;
      if (keys.has(name)) return undefined;
      try {
        return run();
      } catch (error) {
        if (isCorruption(error)) {
          keys.add(name);
          recordKey(subscriptionSeq, key, error as Error);
        }
        throw error;
      }
    },
    record: (description: string): void => void news.push(description),
    /** What was recorded since the last call. */
    takeNews(): readonly string[] | undefined {
      if (news.length === 0) return undefined;
      const taken = news;
      news = [];
      return taken;
    },
  };
}

export type UnreadableRows = ReturnType<typeof createUnreadableRows>;

/** Reads a row for each item, up to `limit`. Throws only after the last, when all unreadable ones are recorded. */
export function readEach<Item, Row>(
  items: Iterable<Item>,
  read: (item: Item) => Row | undefined,
  limit = Number.POSITIVE_INFINITY,
): Row[] {
  const rows: Row[] = [];
  let met: Error | undefined;
  for (const item of items) {
    if (rows.length === limit) break;
    const error = findCorruption(() => {
      const row = read(item);
      if (row !== undefined) rows.push(row);
    });
    met ??= error;
  }
  if (met !== undefined) throw met;
  return rows;
}

function findCorruption(read: () => unknown): Error | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!isCorruption(error)) throw error;
    return error as Error;
  }
}
