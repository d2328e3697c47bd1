import { type LoggedRequest, REQUEST_OUTCOMES, type RequestReplay } from "../port/event-log.ts";
import type { AuditNote } from "../port/audit.ts";
import type { Database } from "./connection.ts";
import { sumRequest } from "./event-checksum.ts";

/** A flood of bad requests must not fill the disk, so each source keeps only its newest. */
const RING = { maxRows: 1000, maxBytes: 64 * 1024 * 1024 };

const BYTES = "length(facts) + coalesce(length(body), 0) + coalesce(length(parts), 0)";

interface RingSize {
  rows: number;
  bytes: number;
}

export interface RequestRing {
  insert(request: LoggedRequest): void;
  /** Called when other code has deleted requests of the ring. */
  forget(ring: string): void;
  rollback(): void;
}

export function createRequestRing(db: Database): RequestRing {
  const insert = db.prepare(`
    insert into requests (id, ring, source, received_at, facts, outcome, cause, event_id, size, body, tenant_id, parts,
      checksum)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const measure = db.prepare(
    `select count(*) as rows, coalesce(sum(${BYTES}), 0) as bytes from requests where ring = ?`,
  );
  const selectOldest = db.prepare(`
    select seq, ${BYTES} as bytes from requests where ring = ? order by seq limit 1`);
  const remove = db.prepare("delete from requests where seq = ?");
  const sizes = new Map<string, RingSize>();

  function sizeOf(ring: string): RingSize {
    let size = sizes.get(ring);
    if (size === undefined) sizes.set(ring, (size = measure.get(ring) as unknown as RingSize));
    return size;
  }

  return {
    insert(request) {
      const size = sizeOf(request.ring);
      const { id, source, tenantId, receivedAt, facts, body = null } = request;
      insert.run(
        request.id,
        request.ring,
        request.source,
        request.receivedAt,
        request.facts,
        REQUEST_OUTCOMES.indexOf(request.outcome),
        request.cause,
        request.eventId ?? null,
        request.size,
        body,
        request.tenantId,
        request.parts ?? null,
        sumRequest([id, source, tenantId, receivedAt, facts, request.size], body),
      );
      size.rows++;
      size.bytes += request.facts.length + (request.body?.length ?? 0) + (request.parts?.length ?? 0);
      while (size.rows > RING.maxRows || (size.bytes > RING.maxBytes && size.rows > 1)) {
        const oldest = selectOldest.get(request.ring) as { seq: number; bytes: number } | undefined;
        if (oldest === undefined) break;
        remove.run(oldest.seq);
        size.rows--;
        size.bytes -= oldest.bytes;
      }
    },
    forget: (ring) => void sizes.delete(ring),
    rollback() {
      sizes.clear();
    },
  };
}

export function createRequestNotes(db: Database, append: (note: AuditNote) => void) {
  const noteReplay = db.prepare(
    "update requests set replayed_at = ?, replayed_by = ?, replay_event_ids = ? where id = ?",
  );
  return {
    noteRequestReplay(id: string, { at, by, eventIds }: RequestReplay, audit?: AuditNote): void {
      noteReplay.run(at, by ?? null, JSON.stringify(eventIds), id);
      if (audit !== undefined) append(audit);
    },
  };
}
