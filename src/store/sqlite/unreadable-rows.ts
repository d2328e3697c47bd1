import { formatDeliveryId } from "../../model/ids.ts";
import type { Database } from "./connection.ts";
import { describeUnreadable } from "./event-checksum.ts";
import { isCorruption } from "./faults.ts";

/**
 * Rows on pages that SQLite cannot read. After such a read, SQLite writes nothing more in the same transaction. So the
 * row is noted here, the transaction is repeated (see `Writer`), and does not read the row again. Nothing of this is
 * kept beyond the process.
 */
export interface UnreadableRows {
  /** Why the row of the event cannot be read; undefined if that is not known. */
  findEvent(eventSeq: number): string | undefined;
  hasDelivery(eventSeq: number, subscriptionSeq: number): boolean;
  /** How many deliveries are known that cannot be read. */
  readonly deliveries: number;
  /** Calls `read`, which reads a delivery or its event. If it fails, notes which of the two cannot be read. */
  watch<T>(eventSeq: number, subscriptionSeq: number, read: () => T): T;
  /**
   * Calls `run`, which reads or changes the deliveries that wait in an ordering key. After it has failed once, it is not
   * called again and the result is undefined: none of them may go when nobody knows the others.
   */
  watchKey<T>(subscriptionSeq: number, key: string, run: () => T): T | undefined;
  note(description: string): void;
  /** What was noted since the last call. */
  takeNews(): readonly string[] | undefined;
}

/** More rows than fit on a page. */
const MAX_NEIGHBOURS = 1000;

export function createUnreadableRows(db: Database): UnreadableRows {
  const selectEvent = db.prepare("select * from events where seq = ?");
  const selectDelivery = db.prepare("select * from deliveries where event_seq = ? and subscription_seq = ?");
  const selectKey = db.prepare(`
    select event_seq from deliveries where subscription_seq = ? and queued_key = ? order by event_seq
    limit ${MAX_NEIGHBOURS}`);
  const events = new Map<number, string>();
  const deliveries = new Set<string>();
  const keys = new Set<string>();
  let news: string[] = [];

  function noteEvent(seq: number): boolean {
    const error = findCorruption(() => selectEvent.get(seq));
    if (error !== undefined) events.set(seq, describeUnreadable("events", seq, error));
    return error !== undefined;
  }

  /** A page holds successive events: all are noted at once, so that the transaction is repeated only once. */
  function noteEvents(seq: number): void {
    if (!noteEvent(seq)) return;
    for (let next = seq + 1; next <= seq + MAX_NEIGHBOURS && noteEvent(next);) next++;
    for (let next = seq - 1; next >= seq - MAX_NEIGHBOURS && noteEvent(next);) next--;
  }

  function noteDelivery(eventSeq: number, subscriptionSeq: number): boolean {
    const error = findCorruption(() => selectDelivery.get(eventSeq, subscriptionSeq));
    if (error === undefined) return false;
    const id = formatDeliveryId(eventSeq, subscriptionSeq);
    deliveries.add(id);
    news.push(`delivery ${id} cannot be read: ${error.message}`);
    return true;
  }

  /** A row that can be read cannot always be changed: SQLite may have to move it to the next page. */
  function noteKey(subscriptionSeq: number, key: string, error: Error): void {
    const rows = selectKey.all(subscriptionSeq, key) as unknown as { event_seq: number }[];
    const unread = rows.filter(({ event_seq }) => noteDelivery(event_seq, subscriptionSeq));
    const [first] = rows;
    if (unread.length > 0 || first === undefined) return;
    news.push(`delivery ${formatDeliveryId(first.event_seq, subscriptionSeq)} cannot be changed: ${error.message}`);
  }

  return {
    findEvent: (seq) => events.get(seq),
    hasDelivery: (eventSeq, subscriptionSeq) =>
      deliveries.size > 0 && deliveries.has(formatDeliveryId(eventSeq, subscriptionSeq)),
    get deliveries() {
      return deliveries.size;
    },
    watch(eventSeq, subscriptionSeq, read) {
      try {
        return read();
      } catch (error) {
        if (isCorruption(error)) {
          noteEvents(eventSeq);
          noteDelivery(eventSeq, subscriptionSeq);
        }
        throw error;
      }
    },
    watchKey(subscriptionSeq, key, run) {
      const name = `${subscriptionSeq} ${key}`;
      if (keys.has(name)) return undefined;
      try {
        return run();
      } catch (error) {
        if (isCorruption(error)) {
          keys.add(name);
          noteKey(subscriptionSeq, key, error as Error);
        }
        throw error;
      }
    },
    note: (description) => void news.push(description),
    takeNews() {
      if (news.length === 0) return undefined;
      const taken = news;
      news = [];
      return taken;
    },
  };
}

/**
 * Reads a row for each item, up to `limit` rows. If some cannot be read, it throws after the last: then all of them are
 * noted, and the transaction is repeated only once.
 */
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
