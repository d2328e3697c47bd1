import { ENDED, STATE, type DeliveryCounts } from "../../model/delivery.ts";
import { isDamage } from "../../model/errors.ts";
import { GATEWAY_TENANT, PRIORITIES } from "../../model/event.ts";
import type { UnfinishedFanOut } from "../port/event-log.ts";
import type { EventFilter, EventPage, EventSpan, LoadedEvent, SearchPage, StoredEvent } from "../port/reads.ts";
import {
  damagedRow,
  describeDamage,
  FACT_COLUMNS,
  isDamagedBody,
  isDamagedRow,
  readRow,
  SUMMED_COLUMNS,
  SUMMED_ROW,
  type SummedRow,
} from "./checked-rows.ts";
import { createEventIdLookup, createGivenIdLookup } from "./event-ids.ts";
import { asFields, parseCursor, toRow, type Prepare } from "./query-rows.ts";
import { searchEvents, type SearchOptions } from "./search.ts";

/** The subscriptions for several tenants; deleted ones included. */
const OF_OPERATORS = `select seq from records where kind = 'subscription' and tenant_id = '${GATEWAY_TENANT}'`;

/** The clock may have been set back by this much without an event being missed. */
const CLOCK_MARGIN_MS = 86_400_000;

export const EVENT_COLUMNS = `
  e.seq, ${asFields(FACT_COLUMNS)}, e.request, e.details,
  ${asFields("e.published_at, e.expires_at, e.delivery_count, e.erased_at")},
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state < ${ENDED})
    + (e.fan_out_cursor is not null) as open,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.delivered}) as delivered,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.dead}) as dead,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.cancelled}) as cancelled,
  case when e.tenant_id <> '${GATEWAY_TENANT}' then (select group_concat(d.state) from deliveries d
    where d.event_seq = e.seq and d.subscription_seq in (${OF_OPERATORS})) end as operatorStates`;

const BODY = "select body, checksum from bodies where event_seq = ?";

const UNFINISHED = `
  select seq as eventSeq, type, source, priority, request, details, fan_out_cursor as cursor,
    ${asFields("tenant_id, content_type, received_at, expires_at, due_at")}
  from events where fan_out_cursor is not null order by seq`;

export function createEventReads(prepare: Prepare) {
  const { value } = prepare("select value from meta where key = 'dedupe_hash_key'").get() as { value: unknown };
  const secret = Buffer.from(String(value), "hex");
  const findGenerated = createEventIdLookup(prepare);
  const findGiven = createGivenIdLookup(prepare, secret);

  const search: SearchOptions = {
    prepare,
    loadEvent(seq) {
      const row = prepare(`select ${EVENT_COLUMNS} from events e where e.seq = ?`).get(seq);
      return row === undefined ? undefined : toEvent(row);
    },
    loadBody: findSoundBody,
  };

  /** Undefined when it was erased or is damaged. */
  function findSoundBody(seq: number): Uint8Array | undefined {
    try {
      return loadEvent(seq)?.body;
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  const selectChecked = prepare(`select ${SUMMED_COLUMNS}, e.expires_at, e.erased_at from events e where e.seq = ?`);
  selectChecked.setReturnArrays(true);

  function loadEvent(eventSeq: number): LoadedEvent | undefined {
    const row = readRow("events", eventSeq, () => selectChecked.get(eventSeq)) as unknown as CheckedRow | undefined;
    if (row === undefined) return undefined;
    if (isDamagedRow(row)) throw damagedRow(describeDamage("events", eventSeq));
    const [, , type, , source, tenantId, priority, , , , receivedAt, contentType, size, request, details, body] = row;
    const [expiresAt, erasedAt] = row.slice(SUMMED_ROW) as [number | null, number | null];
    const isElsewhere = body === null && size > 0 && erasedAt === null;
    return {
      eventSeq,
      type,
      source,
      tenantId,
      priority: PRIORITIES[priority] ?? "normal",
      contentType: contentType ?? undefined,
      request: request ?? undefined,
      details: details ?? undefined,
      receivedAt,
      expiresAt: expiresAt ?? undefined,
      body: isElsewhere ? loadLargeBody(eventSeq) : (body ?? undefined),
    };
  }

  function loadLargeBody(eventSeq: number): Uint8Array {
    const row = readRow("bodies", eventSeq, () => prepare(BODY).get(eventSeq)) as BodyRow | undefined;
    if (row === undefined) throw damagedRow(`row ${eventSeq} of the table bodies is missing`);
    if (isDamagedBody(eventSeq, row.body, row.checksum)) throw damagedRow(describeDamage("bodies", eventSeq));
    return row.body;
  }

  function findEvent(id: string, tenantId: string | undefined): StoredEvent | undefined {
    // A sender may have chosen an id that this gateway generated for another tenant's event.
    const row = findGeneratedEvent(id, tenantId) ?? findGivenEvent(id, tenantId);
    return row === undefined ? undefined : toEvent(row);
  }

  function findGeneratedEvent(id: string, tenantId: string | undefined): object | undefined {
    const seq = findGenerated(id);
    if (seq === undefined) return undefined;
    const select = prepare(
      `select ${EVENT_COLUMNS} from events e where e.seq = ?1 and e.tenant_id = coalesce(?2, e.tenant_id)`,
    );
    return select.get(seq, tenantId ?? null);
  }

  function findGivenEvent(id: string, tenantId: string | undefined): object | undefined {
    const tenants =
      tenantId !== undefined
        ? [tenantId]
        : (
            prepare("select tenant_id from counters where subscription_seq = 0").all() as unknown as {
              tenant_id: string;
            }[]
          ).map((row) => row.tenant_id);
    for (const tenant of tenants) {
      const seq = findGiven(id, tenant);
      if (seq !== undefined) return prepare(`select ${EVENT_COLUMNS} from events e where e.seq = ?`).get(seq);
    }
    return undefined;
  }

  return {
    findEvent,
    loadEvent,
    findSoundBody,

    listEvents(filter: EventFilter, page: SearchPage): EventPage {
      const below = page.cursor === undefined ? undefined : parseCursor(page.cursor, 1)[0];
      return searchEvents(search, filter, page, below);
    },

    findEventSpan(since: number | undefined, until: number | undefined): EventSpan {
      const oldest = prepare("select seq, received_at as receivedAt from events order by seq limit 1").get() as
        | { seq: number; receivedAt: number }
        | undefined;
      if (oldest === undefined) return { afterSeq: 0, upToSeq: 0, received: 0, oldestReceivedAt: undefined };
      const { seq: last } = prepare("select max(seq) as seq from events").get() as { seq: number };
      const firstSince = (time: number | undefined, otherwise: number) =>
        time === undefined ? otherwise : findFirstReceived(prepare, time, last);
      const first = Math.max(oldest.seq, firstSince(since, oldest.seq));
      return {
        afterSeq: since === undefined ? 0 : firstSince(since - CLOCK_MARGIN_MS, 1) - 1,
        upToSeq: until === undefined ? last : Math.min(last, firstSince(until + CLOCK_MARGIN_MS, last)),
        received: Math.max(0, firstSince(until, last + 1) - first),
        oldestReceivedAt: oldest.receivedAt,
      };
    },
  };
}

type CheckedRow = readonly [...SummedRow, expiresAt: number | null, erasedAt: number | null];

interface BodyRow {
  body: Uint8Array;
  checksum: number;
}

export function createFanOutReads(prepare: Prepare) {
  return {
    loadUnfinishedFanOuts(): UnfinishedFanOut[] {
      return prepare(UNFINISHED).all().map(withPriority) as unknown as UnfinishedFanOut[];
    },
  };
}

/** The first event received at `time` or later, assuming that events are in the order of their times. */
function findFirstReceived(prepare: Prepare, time: number, lastSeq: number): number {
  const select = prepare("select seq, received_at as at from events where seq >= ? order by seq limit 1");
  let [low, high] = [1, lastSeq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const event = select.get(middle) as { seq: number; at: number } | undefined;
    if (event === undefined || event.at >= time) high = middle;
    else low = event.seq + 1;
  }
  return low;
}

export function toEvent(row: object): StoredEvent {
  const { operatorStates, ...event } = toRow(row) as unknown as EventSql;
  const operators = countStates(operatorStates);
  return {
    ...event,
    ...(operatorStates !== undefined && {
      open: event.open - operators.open,
      delivered: event.delivered - operators.delivered,
      dead: event.dead - operators.dead,
      cancelled: event.cancelled - operators.cancelled,
    }),
    operators,
    priority: PRIORITIES[event.priority],
    origin: event.origin === 0 ? "webhook" : "publish",
  } as unknown as StoredEvent;
}

interface EventSql extends DeliveryCounts {
  priority: number;
  origin: number;
  operatorStates?: string;
}

const NONE: DeliveryCounts = Object.freeze({ deliveryCount: 0, open: 0, delivered: 0, dead: 0, cancelled: 0 });

function countStates(joined: string | undefined): DeliveryCounts {
  if (joined === undefined) return NONE;
  const states = joined.split(",").map(Number);
  const count = (isMeant: (state: number) => boolean) => states.filter(isMeant).length;
  return {
    deliveryCount: states.length,
    open: count((state) => state < ENDED),
    delivered: count((state) => state === STATE.delivered),
    dead: count((state) => state === STATE.dead),
    cancelled: count((state) => state === STATE.cancelled),
  };
}

function withPriority(row: object): object {
  const read = toRow(row);
  return { ...read, priority: PRIORITIES[read["priority"] as number] };
}
