import { REQUEST_OUTCOMES, type EventLog, type LoggedRequest } from "../port/event-log.ts";
import type { AuditNote } from "../port/audit.ts";
import type { Reads, StoredEvent, StoredRequest } from "../port/reads.ts";
import {
  damagedRow,
  describeDamage,
  isDamagedRequest,
  readRow,
  REQUEST_COLUMNS,
  sumRow,
  type RequestRow,
} from "./checked-rows.ts";
import type { Database } from "./connection.ts";
import { PAGE_ROWS, walkOn, type Walked, type WalkPlace } from "./event-removal.ts";
import { allOf, asFields, cursorOfSeq, parseCursor, readPage, toRow, type AtOnce, type Prepare } from "./query-rows.ts";

/** A flood of bad requests must not fill the disk, so each source keeps only its newest. */
const RING = { maxRows: 1000, maxBytes: 64 * 1024 * 1024 };

const BYTES = "length(facts) + coalesce(length(body), 0) + coalesce(length(parts), 0)";

interface RingSize {
  rows: number;
  bytes: number;
}

export function createRequestRing(db: Database) {
  const insert = db.prepare(`
    insert into requests (id, ring, source, received_at, facts, outcome, cause, event_id, size, body, tenant_id, parts,
      checksum)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const measure = db.prepare(
    `select count(*) as rows, coalesce(sum(${BYTES}), 0) as bytes from requests where ring = ?`,
  );
  const selectOldest = db.prepare(`
    select seq, ${BYTES} as bytes from requests where ring = ? order by seq limit 1`);
  const selectNext = db.prepare(`
    select seq, ring, tenant_id as tenantId, received_at as receivedAt,
      coalesce(length(body), 0) + coalesce(length(parts), 0) as size
    from requests where seq > ? order by seq limit ${PAGE_ROWS}`);
  const remove = db.prepare("delete from requests where seq = ?");
  const sizes = new Map<string, RingSize>();

  function sizeOf(ring: string): RingSize {
    let size = sizes.get(ring);
    if (size === undefined) sizes.set(ring, (size = measure.get(ring) as RingSize));
    return size;
  }

  return {
    insert(request: LoggedRequest): void {
      const size = sizeOf(request.ring);
      const { id, source, tenantId, receivedAt, facts, body = null } = request;
      insert.run(
        id,
        request.ring,
        source,
        receivedAt,
        facts,
        REQUEST_OUTCOMES.indexOf(request.outcome),
        request.cause,
        request.eventId ?? null,
        request.size,
        body,
        tenantId,
        request.parts ?? null,
        sumRow([id, source, tenantId, receivedAt, facts, request.size], body),
      );
      size.rows++;
      size.bytes += request.facts.length + (request.body?.length ?? 0) + (request.parts?.length ?? 0);
      while (size.rows > RING.maxRows || (size.bytes > RING.maxBytes && size.rows > 1)) {
        const oldest: { seq: number; bytes: number } | undefined = selectOldest.get(request.ring);
        if (oldest === undefined) break;
        remove.run(oldest.seq);
        size.rows--;
        size.bytes -= oldest.bytes;
      }
    },
    /** Removes the kept requests that are meant, in one step of a walk over all of them. */
    removeAmong(place: WalkPlace, isMeant: (request: KeptRequest) => boolean): Walked {
      const next = (after: number) =>
        (selectNext.all(after) as KeptRequest[]).map((request) => ({ ...request, isOwn: isMeant(request) ? 1 : 0 }));
      return walkOn(next, place, ({ seq, ring }) => {
        remove.run(seq);
        sizes.delete(ring);
      });
    },
    rollback(): void {
      sizes.clear();
    },
  };
}

export type RequestRing = ReturnType<typeof createRequestRing>;

interface KeptRequest {
  seq: number;
  ring: string;
  tenantId: string;
  receivedAt: number;
  size: number;
}

export function createReplayRecords(
  db: Database,
  append: (note: AuditNote) => void,
): AtOnce<EventLog, "recordRequestReplay"> {
  const noteReplay = db.prepare(
    "update requests set replayed_at = ?, replayed_by = ?, replay_event_ids = ? where id = ?",
  );
  return {
    recordRequestReplay(id, { at, by, eventIds }, audit) {
      noteReplay.run(at, by ?? null, JSON.stringify(eventIds), id);
      if (audit !== undefined) append(audit);
    },
  };
}

export function createRequestReads(
  prepare: Prepare,
  findEvent: (id: string, tenantId: string | undefined) => StoredEvent | undefined,
): AtOnce<Reads, "listRequests" | "findRequest" | "loadRequestBody"> {
  /** An accepted request is in its event's row. Its id is `req_` and the event's id, without `evt_` if it has that. */
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
    listRequests(filter, page) {
      const { source, tenantId, outcome, cause, since, until } = filter;
      const where = allOf([
        ["r.seq < ?", ...parseCursor(page.cursor, 1)],
        ["r.source = ?", source],
        ["r.tenant_id = ?", tenantId],
        ["r.outcome = ?", outcome === undefined ? undefined : REQUEST_OUTCOMES.indexOf(outcome)],
        ["r.cause = ?", cause],
        ["r.received_at >= ?", since],
        ["r.received_at < ?", until],
      ]);
      const select = prepare(`select ${REQUEST} from requests r where ${where.sql} order by r.seq desc limit ?`);
      return readPage(select, where.values, page, cursorOfSeq, toRequest);
    },

    findRequest(id) {
      const row = prepare(`select ${REQUEST} from requests where id = ?`).get(id);
      return row === undefined ? findAccepted(id) : toRequest(row);
    },

    loadRequestBody(id) {
      const select = prepare(`select ${REQUEST_COLUMNS} from requests where id = ?`);
      select.setReturnArrays(true);
      const row: RequestRow | undefined = readRow("requests", id, () => select.get(id));
      if (row === undefined) return undefined;
      const [seq, , , , , , , body] = row;
      if (isDamagedRequest(row)) throw damagedRow(describeDamage("requests", seq));
      return body ?? undefined;
    },
  };
}

const REQUEST = asFields(
  `seq, id, ring, source, tenant_id, received_at, facts, outcome, cause, event_id, parts, size, replayed_at, replayed_by,
    replay_event_ids`,
);

interface RequestSql extends Omit<StoredRequest, "outcome"> {
  seq: number;
  outcome: number;
  replayedAt?: number;
  replayedBy?: string;
  replayEventIds?: string;
}

function toRequest(row: RequestSql): StoredRequest {
  const { seq: _, outcome, replayedAt: at, replayedBy: by, replayEventIds, ...request } = toRow(row);
  const replay = at === undefined ? undefined : { at, by, eventIds: JSON.parse(replayEventIds ?? "[]") as string[] };
  return { ...request, outcome: REQUEST_OUTCOMES[outcome] ?? "rejected", replay };
}
