import { publishKey } from "../../domain/dedupe-key.ts";
import { DEAD_REASONS, DELIVERY_STATES, ENDED, STATE, type DeadReason } from "../../domain/delivery.ts";
import { PosthornError } from "../../domain/errors.ts";
import { PRIORITIES } from "../../domain/event.ts";
import { ATTEMPT_RESULTS } from "../../domain/outcome.ts";
import {
  ATTEMPT_TRIGGERS,
  REQUEST_OUTCOMES,
  type AttemptRecord,
  type Counters,
  type DeadLetterFilter,
  type DeliveryFilter,
  type DeliveryKey,
  type EventFilter,
  type EventPage,
  type Page,
  type PageOf,
  type SearchPage,
  type StoredDelivery,
  type StoredEvent,
  type RequestFilter,
  type StoredRequest,
  type UnfinishedFanOut,
} from "../store.ts";
import { hashKey } from "./accept.ts";
import { fillForm } from "./attempt-forms.ts";
import { SELECT_ATTEMPTS } from "./attempts.ts";
import { createAttemptStatsReads } from "./attempt-stats.ts";
import { createRequestBodyReads } from "./request-ring.ts";
import type { Database, Statement } from "./connection.ts";
import { createTenantReads } from "./tenants.ts";
import { createIdempotencyKeyReads } from "./idempotency-keys.ts";
import { createEventIdLookup } from "./event-ids.ts";
import { createJobReads } from "./jobs.ts";
import { createRecordReads } from "./records.ts";
import { createReplayReads } from "./replay-reads.ts";
import { createRetentionReads } from "./retention-reads.ts";
import { searchEvents, type SearchOptions } from "./search.ts";
import { SENDING_ROWS } from "./sending-rows.ts";

const EVENT = `
  e.seq, e.id, e.type, e.version, e.source, e.tenant_id as tenantId, e.priority, e.origin, e.occurred_at as occurredAt,
  e.received_at as receivedAt, e.published_at as publishedAt, e.expires_at as expiresAt,
  e.ordering_key as orderingKey, e.content_type as contentType, e.request, e.details,
  e.delivery_count as deliveryCount, e.size,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state < ${ENDED})
    + (e.fan_out_cursor is not null) as open,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.delivered}) as delivered,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.dead}) as dead,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.cancelled}) as cancelled`;

const DELIVERY = `
  d.event_seq as eventSeq, d.subscription_seq as subscriptionSeq, e.id as eventId, e.type as eventType,
  e.tenant_id as tenantId, s.id as subscriptionId, d.state, d.generation, d.attempt_count as attemptCount,
  d.next_attempt_at as nextAttemptAt, (d.state = ${STATE.pending} and d.rank is null) as waitsForKey, d.created_at as createdAt,
  d.completed_at as completedAt, d.dead_reason as deadReason, d.last_error as lastError
  from deliveries d join events e on e.seq = d.event_seq join records s on s.seq = d.subscription_seq`;

const OPEN = `(select count(*) from deliveries where state = ${STATE.pending} and rank is not null)
  + (select count(*) from (${SENDING_ROWS}))
  + (select count(*) from deliveries where queued_key is not null and rank is null and state = ${STATE.pending})`;

type Value = string | number | bigint | null;

/** Every read for people, on a connection of its own. */
export function createReadModels(db: Database) {
  // Kept: the driver frees a statement only when it is collected as garbage, and a busy reader never pauses for that.
  const statements = new Map<string, Statement>();
  function prepare(sql: string): Statement {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  }

  const secret = Buffer.from(
    String((prepare("select value from meta where key = 'dedupe_hash_key'").get() as { value: unknown }).value),
    "hex",
  );

  /** Rows after the cursor and one more, which tells whether there is a next page. */
  function page<Row extends object>(
    sql: string,
    values: readonly Value[],
    limit: number,
    cursorOf: (row: Row) => string,
  ) {
    const rows = prepare(`${sql} limit ?`)
      .all(...values, limit + 1)
      .map(toRow) as Row[];
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return { shown, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : undefined };
  }

  const findGenerated = createEventIdLookup(prepare);

  const search: SearchOptions = {
    prepare,
    nowMs: () => performance.now(),
    loadEvent(seq) {
      const row = prepare(`select ${EVENT} from events e where e.seq = ?`).get(seq);
      return row === undefined ? undefined : toEvent(row);
    },
    loadBody: (seq) => reads.loadBody(seq),
  };

  const reads = {
    ...createRequestBodyReads(db),
    ...createTenantReads(prepare),
    ...createRecordReads(db, prepare),
    ...createJobReads(db),
    ...createAttemptStatsReads(db),
    ...createIdempotencyKeyReads(db),
    ...createReplayReads(prepare, (cursor) => parseCursor(cursor, 1)[0] as number),
    ...createRetentionReads(prepare),

    findEvent(id: string, tenantId: string | undefined): StoredEvent | undefined {
      // A sender may have chosen an id that another tenant's event was given by this gateway.
      const row = findGeneratedEvent(id, tenantId) ?? findGivenEvent(id, tenantId);
      return row === undefined ? undefined : toEvent(row);
    },

    loadBody(eventSeq: number): Uint8Array | undefined {
      const row = prepare(
        "select coalesce(e.body, b.body) as body from events e left join bodies b on b.event_seq = e.seq where e.seq = ?",
      ).get(eventSeq) as { body: Uint8Array | null } | undefined;
      return row?.body ?? undefined;
    },

    loadRequest(eventSeq: number): string | undefined {
      const row = prepare("select request from events where seq = ?").get(eventSeq) as
        | { request: string | null }
        | undefined;
      return row?.request ?? undefined;
    },

    listEvents(filter: EventFilter, page: SearchPage): EventPage {
      const below = page.cursor === undefined ? undefined : parseCursor(page.cursor, 1)[0];
      return searchEvents(search, filter, page, below);
    },

    listDeliveriesOfEvent(eventSeq: number): StoredDelivery[] {
      const rows = prepare(`select ${DELIVERY} where d.event_seq = ? order by d.subscription_seq limit 1000`).all(
        eventSeq,
      );
      return rows.map(toDelivery);
    },

    findDelivery({ eventSeq, subscriptionSeq }: DeliveryKey): StoredDelivery | undefined {
      const row = prepare(`select ${DELIVERY} where d.event_seq = ? and d.subscription_seq = ?`).get(
        eventSeq,
        subscriptionSeq,
      );
      return row === undefined ? undefined : toDelivery(row);
    },

    listAttempts({ eventSeq, subscriptionSeq }: DeliveryKey): (AttemptRecord & { number: number })[] {
      const rows = prepare(SELECT_ATTEMPTS).all(eventSeq, subscriptionSeq) as unknown as AttemptSql[];
      return rows.map(toAttempt);
    },

    listDeliveries(filter: DeliveryFilter, { limit, cursor }: Page): PageOf<StoredDelivery> {
      const [eventSeq, subscriptionSeq] = cursor === undefined ? [] : parseCursor(cursor, 2);
      const where = conditions([
        ["(d.event_seq, d.subscription_seq) < (?, ?)", eventSeq, subscriptionSeq],
        ["e.tenant_id = ?", filter.tenantId],
        ["d.subscription_seq = ?", filter.subscriptionSeq],
        ["d.state = ?", filter.state === undefined ? undefined : DELIVERY_STATES.indexOf(filter.state)],
      ]);
      const sql = `select ${DELIVERY} ${where.sql} order by d.event_seq desc, d.subscription_seq desc`;
      const { shown, nextCursor } = page<DeliveryKey>(
        sql,
        where.values,
        limit,
        (row) => `${row.eventSeq}.${row.subscriptionSeq}`,
      );
      return { rows: shown.map(toDelivery), nextCursor };
    },

    listDeadLetters(filter: DeadLetterFilter, { limit, cursor }: Page): PageOf<StoredDelivery> {
      const [completedAt, eventSeq, subscriptionSeq] = cursor === undefined ? [] : parseCursor(cursor, 3);
      const where = conditions(
        [
          ["(d.completed_at, d.event_seq, d.subscription_seq) < (?, ?, ?)", completedAt, eventSeq, subscriptionSeq],
          ["e.tenant_id = ?", filter.tenantId],
          ["d.subscription_seq = ?", filter.subscriptionSeq],
          ["d.dead_reason = ?", filter.reason],
          ["e.type = ?", filter.type],
          ["d.completed_at >= ?", filter.since],
          ["d.completed_at < ?", filter.until],
        ],
        `d.state = ${STATE.dead}`,
      );
      const sql = `select ${DELIVERY} ${where.sql}
        order by d.completed_at desc, d.event_seq desc, d.subscription_seq desc`;
      const { shown, nextCursor } = page<StoredDelivery>(
        sql,
        where.values,
        limit,
        (row) => `${row.completedAt}.${row.eventSeq}.${row.subscriptionSeq}`,
      );
      return { rows: shown.map(toDelivery), nextCursor };
    },

    listRequests(
      source: string | undefined,
      { limit, cursor }: Page,
      tenantId?: string,
      filter: RequestFilter = {},
    ): PageOf<StoredRequest> {
      const { outcome, cause } = filter;
      const where = conditions([
        ["r.seq < ?", cursor === undefined ? undefined : parseCursor(cursor, 1)[0]],
        ["r.source = ?", source],
        ["r.tenant_id = ?", tenantId],
        ["r.outcome = ?", outcome === undefined ? undefined : REQUEST_OUTCOMES.indexOf(outcome)],
        ["r.cause = ?", cause],
      ]);
      const { shown, nextCursor } = page<RequestSql>(
        `select * from requests r ${where.sql} order by r.seq desc`,
        where.values,
        limit,
        (row) => String(row.seq),
      );
      return { rows: shown.map(toRequest), nextCursor };
    },

    findRequest(id: string): StoredRequest | undefined {
      const row = prepare("select * from requests where id = ?").get(id) as unknown as RequestSql | undefined;
      return row === undefined ? findAcceptedRequest(id) : toRequest(row);
    },

    loadCounters(): Counters {
      return {
        events: prepare("select tenant_id as tenantId, accepted, unmatched, duplicates, pruned from event_counters")
          .all()
          .map(toRow) as unknown as Counters["events"],
        deliveries: prepare(
          `select subscription_seq as subscriptionSeq, tenant_id as tenantId, created, delivered, dead, cancelled,
              attempts, failures, last_attempt_at as lastAttemptAt, dead - pruned_dead as deadLetters,
              pruned_delivered + pruned_dead + pruned_cancelled as pruned from counters`,
        )
          .all()
          .map(toRow) as unknown as Counters["deliveries"],
      };
    },

    countOpenDeliveries(): number {
      return (prepare(`select ${OPEN} as open`).get() as { open: number }).open;
    },

    // One statement sees one moment, however busy the writer is.
    findImbalance(): number {
      const counted = "(select coalesce(sum(created - delivered - dead - cancelled), 0) from counters)";
      return (prepare(`select ${counted} - (${OPEN}) as imbalance`).get() as { imbalance: number }).imbalance;
    },

    loadUnfinishedFanOuts(): UnfinishedFanOut[] {
      return prepare(
        `select seq as eventSeq, type, source, tenant_id as tenantId, priority, content_type as contentType, request,
            details, received_at as receivedAt, expires_at as expiresAt, fan_out_cursor as cursor
          from events where fan_out_cursor is not null order by seq`,
      )
        .all()
        .map((row) => withPriority(toRow(row))) as unknown as UnfinishedFanOut[];
    },
  };
  return reads;

  function findGeneratedEvent(id: string, tenantId: string | undefined): object | undefined {
    const seq = findGenerated(id);
    if (seq === undefined) return undefined;
    const select = prepare(
      `select ${EVENT} from events e where e.seq = ?1 and e.tenant_id = coalesce(?2, e.tenant_id)`,
    );
    return select.get(seq, tenantId ?? null);
  }

  function findGivenEvent(id: string, tenantId: string | undefined): object | undefined {
    const tenants =
      tenantId !== undefined
        ? [tenantId]
        : (prepare("select tenant_id from event_counters").all() as unknown as { tenant_id: string }[]).map(
            (row) => row.tenant_id,
          );
    for (const tenant of tenants) {
      const row = findByKey(tenant, publishKey(id));
      if (row !== undefined) return row;
    }
    return undefined;
  }

  function findByKey(tenantId: string, key: string): object | undefined {
    const select = prepare(`
      select ${EVENT}, e.dedupe_key as dedupeKey from dedupe left join events e on e.seq = dedupe.event_seq
      where dedupe.hash = ?`);
    const bytes = Buffer.from(key);
    for (let hash = hashKey(secret, tenantId, key); ; hash += 1n) {
      const row = select.get(hash) as { dedupeKey: Uint8Array | null; tenantId: string | null } | undefined;
      if (row === undefined) return undefined;
      // Of a deleted event the place may be left.
      if (row.dedupeKey !== null && row.tenantId === tenantId && bytes.equals(row.dedupeKey)) return row;
    }
  }

  /** An accepted request is columns of its event's row; it has the event's id, or what follows `evt_`, after its own prefix. */
  function findAcceptedRequest(id: string): StoredRequest | undefined {
    if (!id.startsWith("req_")) return undefined;
    const rest = id.slice("req_".length);
    const event = reads.findEvent(`evt_${rest}`, undefined) ?? reads.findEvent(rest, undefined);
    if (event?.request === undefined) return undefined;
    return {
      id,
      ring: event.source,
      source: event.source,
      tenantId: event.tenantId,
      receivedAt: event.receivedAt,
      facts: event.request,
      outcome: "accepted",
      cause: undefined,
      eventId: event.id,
      size: event.size,
    };
  }
}

export type ReadQueries = ReturnType<typeof createReadModels>;

/** `always` stands as it is: a partial index is only used when its condition is spelt out. */
function conditions(list: readonly (readonly [string, ...(Value | undefined)[]])[], always = "true") {
  const given = list.filter(([, value]) => value !== undefined);
  return {
    sql: `where ${[always, ...given.map(([sql]) => sql)].join(" and ")}`,
    values: given.flatMap(([, ...values]) => values) as Value[],
  };
}

function parseCursor(cursor: string, parts: number): number[] {
  const numbers = cursor.split(".").map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN));
  if (numbers.length !== parts || !numbers.every(Number.isSafeInteger)) {
    throw new PosthornError(
      "invalid_field",
      `"${cursor}" is not a cursor of this list. Use next_cursor of an answer.`,
      {
        field: "cursor",
      },
    );
  }
  return numbers;
}

/** SQL's null is undefined everywhere else. */
function toRow(row: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(row)) if (value !== null) out[key] = value;
  return out;
}

function toEvent(row: object): StoredEvent {
  const { dedupeKey: _, ...event } = toRow(row) as { dedupeKey?: Uint8Array; priority: number; origin: number };
  return {
    ...event,
    priority: PRIORITIES[event.priority],
    origin: event.origin === 0 ? "webhook" : "publish",
  } as unknown as StoredEvent;
}

function withPriority(row: Record<string, unknown>): object {
  return { ...row, priority: PRIORITIES[row["priority"] as number] };
}

function toDelivery(row: object): StoredDelivery {
  const delivery = toRow(row) as { state: number; waitsForKey: number; deadReason?: string };
  return {
    ...delivery,
    state: DELIVERY_STATES[delivery.state],
    waitsForKey: delivery.waitsForKey === 1,
    deadReason: DEAD_REASONS.find((reason): reason is DeadReason => reason === delivery.deadReason),
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
  /** Where the headers are those of a form. */
  signatures: string | null;
  response_code: number | null;
  response_headers: string | null;
  response_body: Uint8Array | null;
  error: string | null;
}

function toAttempt(row: AttemptSql): AttemptRecord & { number: number } {
  const { request_headers: headers, signatures } = row;
  return {
    number: row.number,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    result: ATTEMPT_RESULTS[row.result] ?? "error",
    trigger: ATTEMPT_TRIGGERS[row.cause] ?? "first",
    url: row.url ?? undefined,
    address: row.address ?? undefined,
    requestHeaders: headers === null ? undefined : signatures === null ? headers : fillForm(headers, signatures),
    responseCode: row.response_code ?? undefined,
    responseHeaders: row.response_headers ?? undefined,
    responseBody: row.response_body ?? undefined,
    error: row.error ?? undefined,
  };
}

interface RequestSql {
  seq: number;
  id: string;
  ring: string;
  source: string;
  tenant_id: string;
  received_at: number;
  facts: string;
  outcome: number;
  cause: string;
  event_id?: string | null;
  parts: string | null;
  size: number;
  replayed_at: number | null;
  replayed_by: string | null;
  replay_event_ids: string | null;
}

function toRequest(row: RequestSql): StoredRequest {
  return {
    id: row.id,
    ring: row.ring,
    source: row.source,
    tenantId: row.tenant_id,
    receivedAt: row.received_at,
    facts: row.facts,
    outcome: REQUEST_OUTCOMES[row.outcome] ?? "rejected",
    cause: row.cause,
    eventId: row.event_id ?? undefined,
    parts: row.parts ?? undefined,
    size: row.size,
    replay:
      row.replayed_at === null
        ? undefined
        : {
            at: row.replayed_at,
            by: row.replayed_by ?? undefined,
            eventIds: JSON.parse(row.replay_event_ids ?? "[]") as string[],
          },
  };
}
