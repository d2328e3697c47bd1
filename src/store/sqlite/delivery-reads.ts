import { DEAD_REASONS, DELIVERY_STATES, STATE, type DeadReason } from "../../model/delivery.ts";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { ATTEMPT_TRIGGERS, type AttemptRecord, type DeliveryKey } from "../port/lanes.ts";
import type {
  Damage,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroups,
  DeliveryFilter,
  Page,
  PageOf,
  SearchPage,
  StoredDelivery,
} from "../port/reads.ts";
import { fillForm } from "./attempt-forms.ts";
import { SELECT_ATTEMPTS } from "./attempts.ts";
import { ORIGIN_ID } from "./claim.ts";
import { searchDeliveries } from "./delivery-search.ts";
import { conditions, OWNER, parseCursor, readPage, toRow, type Prepare } from "./query-rows.ts";

export const DELIVERY_COLUMNS = `
  d.event_seq as eventSeq, d.subscription_seq as subscriptionSeq, e.id as eventId, ${ORIGIN_ID} as originEventId,
  e.type as eventType,
  s.tenant_id as tenantId, s.id as subscriptionId, d.state, d.generation, d.attempt_count as attemptCount,
  d.next_attempt_at as nextAttemptAt, (d.state = ${STATE.pending} and d.rank is null) as waitsForKey, d.created_at as createdAt,
  d.completed_at as completedAt, d.dead_reason as deadReason, d.last_error as lastError`;

const DELIVERY = `${DELIVERY_COLUMNS}
  from deliveries d join events e on e.seq = d.event_seq join records s on s.seq = d.subscription_seq`;

export function createDeliveryReads(prepare: Prepare) {
  const options = { prepare, select: DELIVERY, nowMs: () => performance.now() };
  const search = (filter: DeliveryFilter, page: SearchPage): PageOf<DeliveryKey> =>
    searchDeliveries(options, filter, page);

  function listOfEvent(filter: DeliveryFilter, page: Page): PageOf<DeliveryKey> {
    const [eventSeq, subscriptionSeq] = page.cursor === undefined ? [] : parseCursor(page.cursor, 2);
    const where = conditions([
      ["(d.event_seq, d.subscription_seq) > (?, ?)", eventSeq, subscriptionSeq],
      ["d.event_seq = ?", filter.eventSeq],
      [`${OWNER} = ?`, filter.tenantId],
      ["d.subscription_seq = ?", filter.subscriptionSeq],
      ["d.state = ?", filter.state === undefined ? undefined : DELIVERY_STATES.indexOf(filter.state)],
    ]);
    const sql = `select ${DELIVERY} ${where.sql} order by d.event_seq, d.subscription_seq limit ?`;
    const cursorOf = (row: DeliveryKey) => `${row.eventSeq}.${row.subscriptionSeq}`;
    const { shown, nextCursor } = readPage(prepare(sql), where.values, page, cursorOf);
    return { rows: shown, nextCursor };
  }

  return {
    findDelivery({ eventSeq, subscriptionSeq }: DeliveryKey): StoredDelivery | undefined {
      const select = prepare(`select ${DELIVERY} where d.event_seq = ? and d.subscription_seq = ?`);
      const row = select.get(eventSeq, subscriptionSeq);
      return row === undefined ? undefined : toDelivery(row);
    },

    /** Reads nothing of the events themselves. */
    listDamagedDeliveries(): Damage[] {
      const rows = prepare(`
        select event_seq, subscription_seq, last_error from deliveries indexed by damaged_deliveries
        where state = ${STATE.dead} and dead_reason = 'damaged' order by event_seq, subscription_seq limit 100`).all();
      return (rows as unknown as DamagedSql[]).map((row) => ({
        delivery: { eventSeq: row.event_seq, subscriptionSeq: row.subscription_seq },
        description: row.last_error ?? "damaged",
      }));
    },

    listAttempts({ eventSeq, subscriptionSeq }: DeliveryKey): (AttemptRecord & { number: number })[] {
      const rows = prepare(SELECT_ATTEMPTS).all(eventSeq, subscriptionSeq) as unknown as AttemptSql[];
      return rows.map(toAttempt);
    },

    listDeliveries(filter: DeliveryFilter, page: SearchPage): PageOf<StoredDelivery> {
      const { rows, nextCursor } = filter.eventSeq === undefined ? search(filter, page) : listOfEvent(filter, page);
      return { rows: rows.map(toDelivery), nextCursor };
    },

    listDeadLetters(filter: DeadLetterFilter, page: Page): PageOf<StoredDelivery> {
      const [completedAt, eventSeq, subscriptionSeq] = page.cursor === undefined ? [] : parseCursor(page.cursor, 3);
      const beyond = "(d.completed_at, d.event_seq, d.subscription_seq) < (?, ?, ?)";
      const where = deadLetters(filter, [[beyond, completedAt, eventSeq, subscriptionSeq]]);
      const sql = `select ${DELIVERY} ${where.sql} ${LATEST_DEAD} limit ?`;
      const cursorOf = (row: StoredDelivery) => `${row.completedAt}.${row.eventSeq}.${row.subscriptionSeq}`;
      const { shown, nextCursor } = readPage(prepare(sql), where.values, page, cursorOf);
      return { rows: shown.map(toDelivery), nextCursor };
    },

    groupDeadLetters(filter: DeadLetterFilter, maxScanned: number): DeadLetterGroups {
      const where = deadLetters(filter);
      // Without them the rows of the events, which are large and far apart, need not be read.
      const readsEvents = filter.type !== undefined;
      // Beside `max` alone, SQLite gives the other columns of the row that has the greatest.
      const sql = `
        select g.seq as subscriptionSeq, s.id as subscriptionId, g.reason, count(*) as count, max(g.at) as latestAt,
          g.error as lastError
        from (
          select d.subscription_seq as seq, d.dead_reason as reason, d.completed_at as at, d.last_error as error
          from deliveries d ${readsEvents ? "join events e on e.seq = d.event_seq" : ""} ${where.sql} ${LATEST_DEAD} limit ?
        ) g join records s on s.seq = g.seq
        group by g.seq, g.reason order by count desc, latestAt desc`;
      const rows = prepare(sql).all(...where.values, maxScanned) as unknown as GroupSql[];
      const groups = rows.map((row) => ({
        ...row,
        reason: toReason(row.reason),
        lastError: row.lastError ?? undefined,
      }));
      return { groups, isComplete: groups.reduce((sum, { count }) => sum + count, 0) < maxScanned };
    },
  };
}

interface DamagedSql {
  event_seq: number;
  subscription_seq: number;
  last_error: string | null;
}

interface GroupSql extends Omit<DeadLetterGroup, "reason" | "lastError"> {
  reason: string | null;
  lastError: string | null;
}

const LATEST_DEAD = "order by d.completed_at desc, d.event_seq desc, d.subscription_seq desc";

function deadLetters(filter: DeadLetterFilter, first: Parameters<typeof conditions>[0] = []) {
  return conditions(
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

export function toDelivery(row: object): StoredDelivery {
  const delivery = toRow(row) as { state: number; waitsForKey: number; deadReason?: string };
  return {
    ...delivery,
    state: DELIVERY_STATES[delivery.state],
    waitsForKey: delivery.waitsForKey === 1,
    deadReason: toReason(delivery.deadReason),
  } as unknown as StoredDelivery;
}

interface AttemptSql {
  number: number;
  started_at: number;
  duration_ms: number;
  result: number;
  cause: number;
  url: string | null;
  address: string | null;
  request_headers: string | null;
  /** Set when the headers are stored as a form. */
  signatures: string | null;
  response_code: number | null;
  response_headers: string | null;
  response_body: Uint8Array | null;
  error: string | null;
}

function toAttempt(row: AttemptSql): AttemptRecord & { number: number } {
  const { request_headers: sent, signatures } = row;
  return {
    number: row.number,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    result: ATTEMPT_RESULTS[row.result] ?? "error",
    trigger: ATTEMPT_TRIGGERS[row.cause] ?? "first",
    error: row.error ?? undefined,
    record: {
      place: row.url ?? undefined,
      address: row.address ?? undefined,
      sent: sent === null ? undefined : signatures === null ? sent : fillForm(sent, signatures),
      code: row.response_code ?? undefined,
      facts: row.response_headers ?? undefined,
      answer: row.response_body ?? undefined,
    },
  };
}
