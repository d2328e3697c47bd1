import { ENDED, STATE } from "../../domain/delivery.ts";
import { PRIORITIES } from "../../domain/event.ts";
import type { UnfinishedFanOut } from "../port/event-log.ts";
import type { EventFilter, EventPage, EventSpan, LoadedEvent, SearchPage, StoredEvent } from "../port/reads.ts";
import { createEventIdLookup } from "./event-ids.ts";
import { createGivenIdLookup } from "./given-ids.ts";
import { parseCursor, toRow, type Prepare } from "./query-rows.ts";
import { searchEvents, type SearchOptions } from "./search.ts";

/** The clock may have been set back by this much without an event being missed. */
const CLOCK_MARGIN_MS = 86_400_000;

export const EVENT_COLUMNS = `
  e.seq, e.id, e.type, e.version, e.source, e.tenant_id as tenantId, e.priority, e.origin, e.occurred_at as occurredAt,
  e.received_at as receivedAt, e.published_at as publishedAt, e.expires_at as expiresAt,
  e.ordering_key as orderingKey, e.content_type as contentType, e.request, e.details,
  e.delivery_count as deliveryCount, e.size, e.erased_at as erasedAt,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state < ${ENDED})
    + (e.fan_out_cursor is not null) as open,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.delivered}) as delivered,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.dead}) as dead,
  (select count(*) from deliveries d where d.event_seq = e.seq and d.state = ${STATE.cancelled}) as cancelled`;

const SUMMARY = `
  e.seq as eventSeq, e.type, e.source, e.tenant_id as tenantId, e.priority, e.content_type as contentType, e.request,
  e.details, e.received_at as receivedAt, e.expires_at as expiresAt`;

export function createEventReads(prepare: Prepare) {
  const { value } = prepare("select value from meta where key = 'dedupe_hash_key'").get() as { value: unknown };
  const secret = Buffer.from(String(value), "hex");
  const findGenerated = createEventIdLookup(prepare);
  const findGiven = createGivenIdLookup(prepare, secret);

  const search: SearchOptions = {
    prepare,
    nowMs: () => performance.now(),
    loadEvent(seq) {
      const row = prepare(`select ${EVENT_COLUMNS} from events e where e.seq = ?`).get(seq);
      return row === undefined ? undefined : toEvent(row);
    },
    loadBody: (seq) => loadEvent(seq)?.body,
  };

  function loadEvent(eventSeq: number): LoadedEvent | undefined {
    const row = prepare(`
      select ${SUMMARY}, coalesce(e.body, b.body) as body
      from events e left join bodies b on b.event_seq = e.seq where e.seq = ?`).get(eventSeq);
    return row === undefined ? undefined : (withPriority(row) as unknown as LoadedEvent);
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

export function createFanOutReads(prepare: Prepare) {
  return {
    loadUnfinishedFanOuts(): UnfinishedFanOut[] {
      const rows = prepare(`
        select ${SUMMARY}, e.fan_out_cursor as cursor from events e where e.fan_out_cursor is not null order by e.seq`);
      return rows.all().map(withPriority) as unknown as UnfinishedFanOut[];
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
  const event = toRow(row) as { priority: number; origin: number };
  return {
    ...event,
    priority: PRIORITIES[event.priority],
    origin: event.origin === 0 ? "webhook" : "publish",
  } as unknown as StoredEvent;
}

function withPriority(row: object): object {
  const read = toRow(row);
  return { ...read, priority: PRIORITIES[read["priority"] as number] };
}
