import { REQUEST_OUTCOMES } from "../port/event-log.ts";
import type { Page, PageOf, RequestFilter, StoredEvent, StoredRequest } from "../port/reads.ts";
import {
  damagedRow,
  describeDamage,
  isDamagedRequest,
  readRow,
  REQUEST_COLUMNS,
  type RequestRow,
} from "./event-checksum.ts";
import { conditions, parseCursor, readPage, type Prepare } from "./query-rows.ts";

type FindEvent = (id: string, tenantId: string | undefined) => StoredEvent | undefined;

export function createRequestReads(prepare: Prepare, findEvent: FindEvent) {
  /**
   * An accepted request is stored in its event's row. Its id is `req_` and the event's id, without `evt_` if it has
   * that prefix.
   */
  function findAccepted(id: string): StoredRequest | undefined {
    if (!id.startsWith("req_")) return undefined;
    const rest = id.slice("req_".length);
    const event = findEvent(`evt_${rest}`, undefined) ?? findEvent(rest, undefined);
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

  return {
    listRequests(filter: RequestFilter, page: Page): PageOf<StoredRequest> {
      const { source, tenantId, outcome, cause, since, until } = filter;
      const where = conditions([
        ["r.seq < ?", page.cursor === undefined ? undefined : parseCursor(page.cursor, 1)[0]],
        ["r.source = ?", source],
        ["r.tenant_id = ?", tenantId],
        ["r.outcome = ?", outcome === undefined ? undefined : REQUEST_OUTCOMES.indexOf(outcome)],
        ["r.cause = ?", cause],
        ["r.received_at >= ?", since],
        ["r.received_at < ?", until],
      ]);
      const sql = `select * from requests r ${where.sql} order by r.seq desc limit ?`;
      const { shown, nextCursor } = readPage(prepare(sql), where.values, page, (row: RequestSql) => String(row.seq));
      return { rows: shown.map(toRequest), nextCursor };
    },

    findRequest(id: string): StoredRequest | undefined {
      const row = prepare("select * from requests where id = ?").get(id) as unknown as RequestSql | undefined;
      return row === undefined ? findAccepted(id) : toRequest(row);
    },

    loadRequestBody(id: string): Uint8Array | undefined {
      const select = prepare(`select ${REQUEST_COLUMNS} from requests where id = ?`);
      select.setReturnArrays(true);
      const row = readRow("requests", id, () => select.get(id)) as unknown as RequestRow | undefined;
      if (row === undefined) return undefined;
      const [seq, , , , , , , body] = row;
      if (isDamagedRequest(row)) throw damagedRow(describeDamage("requests", seq));
      return body ?? undefined;
    },
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
  parts?: string | null;
  size: number;
  replayed_at?: number | null;
  replayed_by?: string | null;
  replay_event_ids?: string | null;
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
    replay: toReplay(row),
  };
}

function toReplay({ replayed_at: at, replayed_by: by, replay_event_ids: ids }: RequestSql): StoredRequest["replay"] {
  if (at === null || at === undefined) return undefined;
  return { at, by: by ?? undefined, eventIds: JSON.parse(ids ?? "[]") as string[] };
}
