import { DEAD_REASONS, DELIVERY_STATES, STATE, type DeadReason } from "../../model/delivery.ts";
import { ATTEMPT_RESULTS, type KindRecord } from "../../model/outcome.ts";
import { ATTEMPT_TRIGGERS, type AttemptRecord, type DeliveryKey } from "../port/lanes.ts";
import type {
  DeadLetterFilter,
  DeadLetterGroup,
  DeliveryFilter,
  OldestOpen,
  Page,
  PageOf,
  Reads,
  SearchPage,
  StoredDelivery,
} from "../port/reads.ts";
import { fillForm } from "./attempt-forms.ts";
import { SELECT_ATTEMPTS } from "./attempts.ts";
import { ORIGIN_ID } from "./claim.ts";
import { isCorruption } from "./faults.ts";
import { allOf, asFields, OWNER, parseCursor, readPage, toRow, type AtOnce, type Prepare } from "./query-rows.ts";

export const DELIVERY_COLUMNS = `
  ${asFields("d.event_seq, d.subscription_seq, d.state, d.generation, d.attempt_count, d.next_attempt_at, d.created_at")},
  ${asFields("d.completed_at, d.dead_reason, d.last_error, s.tenant_id")}, s.id as subscriptionId, e.id as eventId,
  ${ORIGIN_ID} as originEventId, e.type as eventType,
  (d.state = ${STATE.pending} and d.rank is null) as waitsForKey`;

const DELIVERY = `${DELIVERY_COLUMNS}
  from deliveries d join events e on e.seq = d.event_seq join records s on s.seq = d.subscription_seq`;

type DeliveryReads = AtOnce<
  Reads,
  "findDelivery" | "listAttempts" | "listDeliveries" | "listDeadLetters" | "groupDeadLetters" | "listDamages"
>;

export function createDeliveryReads(prepare: Prepare): DeliveryReads {
  function listOfEvent(filter: DeliveryFilter, page: Page): PageOf<StoredDelivery> {
    const where = allOf([
      ["(d.event_seq, d.subscription_seq) > (?, ?)", ...parseCursor(page.cursor, 2)],
      ["d.event_seq = ?", filter.eventSeq],
      [`${OWNER} = ?`, filter.tenantId],
      ["d.subscription_seq = ?", filter.subscriptionSeq],
      ["d.state = ?", filter.state === undefined ? undefined : DELIVERY_STATES.indexOf(filter.state)],
    ]);
    const select = prepare(`select ${DELIVERY} where ${where.sql} order by d.event_seq, d.subscription_seq limit ?`);
    return readPage(select, where.values, page, cursorOf, toDelivery);
  }

  return {
    findDelivery({ eventSeq, subscriptionSeq }) {
      const select = prepare(`select ${DELIVERY} where d.event_seq = ? and d.subscription_seq = ?`);
      const row = select.get(eventSeq, subscriptionSeq);
      return row && toDelivery(row);
    },

    /** Those that are deliveries. Reads nothing of the events themselves. */
    listDamages() {
      const rows = prepare(`
        select event_seq as eventSeq, subscription_seq as subscriptionSeq, last_error as error
        from deliveries indexed by damaged_deliveries
        where state = ${STATE.dead} and dead_reason = 'damaged' order by event_seq, subscription_seq limit 100`).all();
      return rows.map(({ error, ...delivery }) => ({ delivery, description: error ?? "damaged" }));
    },

    listAttempts: ({ eventSeq, subscriptionSeq }) =>
      prepare(SELECT_ATTEMPTS).all(eventSeq, subscriptionSeq).map(toAttempt),

    listDeliveries: (filter, page) =>
      filter.eventSeq === undefined ? searchDeliveries(prepare, filter, page) : listOfEvent(filter, page),

    listDeadLetters(filter, page) {
      const beyond = "(d.completed_at, d.event_seq, d.subscription_seq) < (?, ?, ?)";
      const where = deadLetters(filter, [[beyond, ...parseCursor(page.cursor, 3)]]);
      const select = prepare(`select ${DELIVERY} where ${where.sql} ${LATEST_DEAD} limit ?`);
      const cursorOfDead = (row: DeliverySql) => `${row.completedAt}.${cursorOf(row)}`;
      return readPage(select, where.values, page, cursorOfDead, toDelivery);
    },

    groupDeadLetters(filter, maxScanned) {
      const where = deadLetters(filter);
      // Without them the rows of the events, which are large and far apart, need not be read.
      const readsEvents = filter.type !== undefined;
      // Beside `max` alone, SQLite gives the other columns of the row that has the greatest.
      const sql = `
        select g.seq as subscriptionSeq, s.id as subscriptionId, g.reason, count(*) as count, max(g.at) as latestAt,
          g.error as lastError
        from (
          select d.subscription_seq as seq, d.dead_reason as reason, d.completed_at as at, d.last_error as error
          from deliveries d ${readsEvents ? "join events e on e.seq = d.event_seq" : ""}
          where ${where.sql} ${LATEST_DEAD} limit ?
        ) g join records s on s.seq = g.seq
        group by g.seq, g.reason order by count desc, latestAt desc`;
      const rows: DeadLetterGroup[] = prepare(sql).all(...where.values, maxScanned);
      const groups = rows.map((row) => ({ ...toRow<DeadLetterGroup>(row), reason: toReason(row.reason) }));
      return { groups, isComplete: groups.reduce((sum, { count }) => sum + count, 0) < maxScanned };
    },
  };
}

const LATEST_DEAD = "order by d.completed_at desc, d.event_seq desc, d.subscription_seq desc";

function deadLetters(filter: DeadLetterFilter, first: Parameters<typeof allOf>[0] = []) {
  return allOf(
    [
      ...first,
      [`${OWNER} = ?`, filter.tenantId],
      ["d.subscription_seq = ?", filter.subscriptionSeq],
      ["d.dead_reason = ?", filter.reason],
      ["e.type = ?", filter.type],
      ["d.completed_at >= ?", filter.since],
      ["d.completed_at < ?", filter.until],
    ],
    `d.state = ${STATE.dead}`,
  );
}

function toReason(written: string | null | undefined): DeadReason | undefined {
  return DEAD_REASONS.find((reason): reason is DeadReason => reason === written);
}

export interface DeliverySql extends Omit<StoredDelivery, "state" | "waitsForKey"> {
  state: number;
  waitsForKey: number;
}

export function toDelivery(row: DeliverySql): StoredDelivery {
  return {
    ...toRow(row),
    state: DELIVERY_STATES[row.state] ?? "pending",
    waitsForKey: row.waitsForKey === 1,
    deadReason: toReason(row.deadReason),
  };
}

interface AttemptSql extends Pick<AttemptRecord, "startedAt" | "durationMs" | "error">, KindRecord {
  number: number;
  result: number;
  cause: number;
  /** Set when what was sent is stored as a form. */
  signatures: string | undefined;
}

function toAttempt(row: AttemptSql): AttemptRecord & { number: number } {
  const { number, startedAt, durationMs, result, cause, error, ...record } = toRow(row);
  const { place, address, sent, code, facts, answer, signatures } = record;
  return {
    number,
    startedAt,
    durationMs,
    result: ATTEMPT_RESULTS[result] ?? "error",
    trigger: ATTEMPT_TRIGGERS[cause] ?? "first",
    error,
    record: { place, address, sent: sent && signatures ? fillForm(sent, signatures) : sent, code, facts, answer },
  };
}

/** How many deliveries one statement looks at; about a millisecond. */
const DELIVERIES_AT_ONCE = 2000;

/**
 * Goes through the deliveries from the newest event down, in small steps. No index leads to those of a subscription or
 * of a state, because it would be written for every delivery: a page that finds few of them ends with its budget.
 */
function searchDeliveries(
  prepare: Prepare,
  filter: Omit<DeliveryFilter, "eventSeq">,
  { limit, cursor, budgetMs = Number.POSITIVE_INFINITY }: SearchPage,
): PageOf<StoredDelivery> {
  const deadline = performance.now() + budgetMs;
  const { tenantId, subscriptionSeq, state } = filter;
  // Dead letters have an index in this order, which SQLite uses only when its condition is spelt out.
  const among = state === "dead" ? `d.state = ${STATE.dead}` : "true";
  const below = "(d.event_seq, d.subscription_seq) < (?, ?)";
  const order = "order by d.event_seq desc, d.subscription_seq desc";
  const selectEnd = prepare(`
    select d.event_seq as eventSeq, d.subscription_seq as subscriptionSeq from deliveries d
    where ${among} and ${below} ${order} limit 1 offset ${DELIVERIES_AT_ONCE - 1}`);
  const where = allOf(
    [
      [`${OWNER} = ?`, tenantId],
      ["d.subscription_seq = ?", subscriptionSeq],
      ["d.state = ?", state === undefined ? undefined : DELIVERY_STATES.indexOf(state)],
    ],
    `${among} and ${below} and (d.event_seq, d.subscription_seq) >= (?, ?)`,
  );
  const read = prepare(`select ${DELIVERY} where ${where.sql} ${order} limit ?`);

  const isWholeLane = subscriptionSeq !== undefined && state === undefined && cursor === undefined;
  const isComplete = isWholeLane ? createCompletenessCheck(prepare, subscriptionSeq) : () => false;
  const rows: StoredDelivery[] = [];
  const [eventSeq = Number.MAX_SAFE_INTEGER, lowest = 0] = parseCursor(cursor, 2);
  let at: DeliveryKey = { eventSeq, subscriptionSeq: lowest };
  while (!isComplete(rows.length)) {
    const end: DeliveryKey | undefined = selectEnd.get(at.eventSeq, at.subscriptionSeq);
    const place = [at.eventSeq, at.subscriptionSeq, end?.eventSeq ?? 0, end?.subscriptionSeq ?? 0];
    rows.push(...read.all(...place, ...where.values, limit + 1 - rows.length).map(toDelivery));
    if (rows.length > limit) {
      return { rows: rows.slice(0, limit), nextCursor: cursorOf(rows[limit - 1] as DeliveryKey) };
    }
    if (end === undefined) break;
    at = end;
    if (performance.now() >= deadline) return { rows, nextCursor: cursorOf(end) };
  }
  return { rows, nextCursor: undefined };
}

/** Whether these are all deliveries of a subscription. Not known once some were deleted since the search began. */
function createCompletenessCheck(prepare: Prepare, subscriptionSeq: number): (found: number) => boolean {
  const select = prepare(`
    select created, pruned_delivered + pruned_dead + pruned_cancelled as pruned from counters
    where subscription_seq = ?`);
  const load = (): { created: number; pruned: number } => select.get(subscriptionSeq) ?? { created: 0, pruned: 0 };
  const { pruned: before } = load();
  return (found) => {
    const { created, pruned } = load();
    return pruned === before && found === created - pruned;
  };
}

function cursorOf({ eventSeq, subscriptionSeq }: DeliveryKey): string {
  return `${eventSeq}.${subscriptionSeq}`;
}

/** Limits, so that a backlog of a million deliveries is not scanned. */
const LOOKED_AT = { due: 500, later: 100 };
const COUNTED = 1000;

export function createLaneReads(prepare: Prepare): AtOnce<Reads, "findOldestOpen" | "countBlockedKeys"> {
  /** The first due deliveries have been due for longest; the last of the others have had the most attempts. */
  const oldest = `
    select e.received_at as receivedAt, d.next_attempt_at as dueAt, d.attempt_count = 0 as isUntried
    from (
      select event_seq from (
        select event_seq from deliveries indexed by lanes
        where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null and next_attempt_at <= ?2
        order by rank limit ${LOOKED_AT.due})
      union
      select event_seq from (
        select event_seq, attempt_count from deliveries indexed by lanes
        where subscription_seq = ?1 and state = ${STATE.pending} and rank is not null
        order by rank desc limit ${LOOKED_AT.later})
      where attempt_count > 0
      order by event_seq limit 1) o
    join deliveries d on d.event_seq = o.event_seq and d.subscription_seq = ?1
    join events e on e.seq = o.event_seq`;
  const blocked = `
    select count(*) as blocked from (
      select 1 from deliveries indexed by dead_letters_by_subscription
      where subscription_seq = ? and state = ${STATE.dead} and queued_key is not null limit ${COUNTED})`;

  /** A lane whose rows cannot be read must not hide the others. */
  function findOldest(subscriptionSeq: number, now: number): OldestOpen | undefined {
    try {
      const row = prepare(oldest).get(subscriptionSeq, now);
      return row && { ...row, isUntried: row.isUntried === 1 };
    } catch (error) {
      if (isCorruption(error)) return undefined;
      throw error;
    }
  }

  return {
    findOldestOpen: (subscriptionSeqs, now) => subscriptionSeqs.map((seq) => findOldest(seq, now)),
    countBlockedKeys(subscriptionSeqs) {
      const count = prepare(blocked);
      return subscriptionSeqs.map((seq) => count.get(seq).blocked);
    },
  };
}
