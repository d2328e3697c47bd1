import { ENDED, STATE, type DeliveryCounts } from "../../model/delivery.ts";
import { isDamage } from "../../model/errors.ts";
import { GATEWAY_TENANT } from "../../model/event.ts";
import type { EventLog, UnfinishedFanOut } from "../port/event-log.ts";
import type { LoadedEvent, Reads, StoredEvent } from "../port/reads.ts";
import {
  damagedRow,
  describeDamage,
  FACT_COLUMNS,
  isDamagedBody,
  isDamagedRow,
  readRow,
  SUMMED_COLUMNS,
  SUMMED_ROW,
  toPriority,
  type SummedRow,
} from "./checked-rows.ts";
import { createEventIdLookup, createGivenIdLookup } from "./event-ids.ts";
import { asFields, parseCursor, toRow, type AtOnce, type Prepare } from "./query-rows.ts";
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

type EventReads = AtOnce<Reads, "findEvent" | "loadEvent" | "listEvents" | "findEventSpan"> & {
  /** Undefined when it was erased or is damaged. */
  findSoundBody(eventSeq: number): Uint8Array | undefined;
};

export function createEventReads(prepare: Prepare): EventReads {
  const { value } = prepare("select value from meta where key = 'dedupe_hash_key'").get();
  const secret = Buffer.from(String(value), "hex");
  const findGenerated = createEventIdLookup(prepare);
  const findGiven = createGivenIdLookup(prepare, secret);

  const search: SearchOptions = {
    prepare,
    loadEvent(seq) {
      const row = selectEvent().get(seq);
      return row && toEvent(row);
    },
    loadBody: findSoundBody,
  };

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
    const row: CheckedRow | undefined = readRow("events", eventSeq, () => selectChecked.get(eventSeq));
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
      priority: toPriority(priority),
      contentType: contentType ?? undefined,
      request: request ?? undefined,
      details: details ?? undefined,
      receivedAt,
      expiresAt: expiresAt ?? undefined,
      body: isElsewhere ? loadLargeBody(eventSeq) : (body ?? undefined),
    };
  }

  function loadLargeBody(eventSeq: number): Uint8Array {
    const row: BodyRow | undefined = readRow("bodies", eventSeq, () => prepare(BODY).get(eventSeq));
    if (row === undefined) throw damagedRow(`row ${eventSeq} of the table bodies is missing`);
    if (isDamagedBody(eventSeq, row.body, row.checksum)) throw damagedRow(describeDamage("bodies", eventSeq));
    return row.body;
  }

  const selectEvent = () => prepare(`select ${EVENT_COLUMNS} from events e where e.seq = ?`);

  function findEvent(id: string, tenantId: string | undefined): StoredEvent | undefined {
    const generated = findGenerated(id);
    const row = generated === undefined ? undefined : selectEvent().get(generated);
    // A sender may have chosen an id that this gateway generated for another tenant's event.
    if (row !== undefined && (tenantId ?? row.tenantId) === row.tenantId) return toEvent(row);
    const tenants = tenantId === undefined ? listTenants() : [tenantId];
    for (const tenant of tenants) {
      const given = findGiven(id, tenant);
      if (given !== undefined) return toEvent(selectEvent().get(given));
    }
    return undefined;
  }

  function listTenants(): string[] {
    const select = prepare("select tenant_id as id from counters where subscription_seq = 0");
    return select.all().map(({ id }) => id);
  }

  return {
    findEvent,
    loadEvent,
    findSoundBody,

    listEvents: (filter, page) => searchEvents(search, filter, page, parseCursor(page.cursor, 1)[0]),

    findEventSpan(since, until) {
      const oldest = prepare("select seq, received_at as receivedAt from events order by seq limit 1").get();
      if (oldest === undefined) return { afterSeq: 0, upToSeq: 0, received: 0, oldestReceivedAt: undefined };
      const last: number = prepare("select max(seq) as seq from events").get().seq;
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

export function createFanOutReads(prepare: Prepare): AtOnce<EventLog, "loadUnfinishedFanOuts"> {
  return {
    loadUnfinishedFanOuts: () =>
      prepare(UNFINISHED)
        .all()
        .map((row) => ({ ...toRow<UnfinishedFanOut>(row), priority: toPriority(row.priority) })),
  };
}

/** The first event received at `time` or later, assuming that events are in the order of their times. */
function findFirstReceived(prepare: Prepare, time: number, lastSeq: number): number {
  const select = prepare("select seq, received_at as at from events where seq >= ? order by seq limit 1");
  let [low, high] = [1, lastSeq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const event: { seq: number; at: number } | undefined = select.get(middle);
    if (event === undefined || event.at >= time) high = middle;
    else low = event.seq + 1;
  }
  return low;
}

export function toEvent(row: EventSql): StoredEvent {
  const { operatorStates, ...event } = toRow(row);
  const operators = countStates(operatorStates ?? "");
  return {
    ...event,
    open: event.open - operators.open,
    delivered: event.delivered - operators.delivered,
    dead: event.dead - operators.dead,
    cancelled: event.cancelled - operators.cancelled,
    operators,
    priority: toPriority(event.priority),
    origin: event.origin === 0 ? "webhook" : "publish",
  };
}

export interface EventSql extends Omit<StoredEvent, "operators" | "priority" | "origin"> {
  priority: number;
  origin: number;
  /** The states of its deliveries to operators' subscriptions, which the columns of counts count too. */
  operatorStates: string | null | undefined;
}

const NONE: DeliveryCounts = Object.freeze({ deliveryCount: 0, open: 0, delivered: 0, dead: 0, cancelled: 0 });

function countStates(joined: string): DeliveryCounts {
  if (joined === "") return NONE;
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
