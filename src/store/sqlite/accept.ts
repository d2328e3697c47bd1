import { stored, type Duplicate, type Stored } from "../../model/accepted.ts";
import { STATE, rankOf } from "../../model/delivery.ts";
import { isGeneratedId } from "../../model/ids.ts";
import { PRIORITIES, type Priority } from "../../model/event.ts";
import type { NewDelivery, NewEvent } from "../port/event-log.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { hashKey } from "./dedupe-hash.ts";
import { sumBody, sumEvent, type SummedEvent } from "./event-checksum.ts";
import { createEventBlocks } from "./event-blocks.ts";
import { createEventIds } from "./event-ids.ts";
import { readLastSeq } from "./event-numbers.ts";
import { createGivenIdLookup } from "./given-ids.ts";
import type { Moves } from "./move.ts";
import { createReturnedEvents } from "./returned-events.ts";
import type { SendingWalk } from "./sending-rows.ts";
import { MESSAGE_STATE } from "./taken-messages.ts";
import type { TransactionPart } from "./transactions.ts";

/** Larger bodies are stored in a table of their own, so that reading events does not load them. */
const INLINE_BODY_BYTES = 16_384;

export interface Accept extends TransactionPart {
  accept(event: NewEvent, deliveries: readonly NewDelivery[], wall: number): Stored | Duplicate;
  /** Whether the delivery was claimed on insert; undefined when the event already had it. */
  insertDelivery(to: DeliveryTarget, delivery: NewDelivery, createdAt: number): boolean | undefined;
  fanOut(eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined, wall: number): void;
}

/** The values that a delivery inherits from its event. */
interface DeliveryTarget {
  eventSeq: number;
  dueAt: number;
  priority: Priority;
  orderingKey: string | undefined;
}

export interface AcceptOptions {
  dedupeHorizonMs: number;
  hashKey: Uint8Array;
}

export function createAccept(
  db: Database,
  counters: CounterDeltas,
  moves: Pick<Moves, "isNext">,
  sending: Pick<SendingWalk, "noteNewRow">,
  options: AcceptOptions & { storeId: string },
): Accept {
  // Executed with `get` instead of `run`: `run` builds a result object that is not needed and takes a third of the
  // time.
  const insertEvent = db.prepare(`
    insert into events (seq, id, given_id, type, version, source, tenant_id, priority, origin, occurred_at, received_at,
      published_at, due_at, expires_at, ordering_key, dedupe_key, content_type, request, details, delivery_count,
      fan_out_cursor, size, body, checksum)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertBody = db.prepare("insert into bodies (event_seq, body, checksum) values (?, ?, ?)");
  const insertRow = `
    insert into deliveries (event_seq, subscription_seq, state, ordered, generation, attempt_count, uncounted_attempts,
      recoveries, next_trigger, next_attempt_at, rank, queued_key, expires_at, created_at)
    values (?, ?, ?, ?, 1, 0, 0, 0, 0, ?, ?, ?, ?, ?)`;
  const insertFirst = db.prepare(insertRow);
  const insertIfMissing = db.prepare(`${insertRow} on conflict do nothing`);
  const findByHash = db.prepare(`
    select coalesce(e.id, k.id) as id, coalesce(e.tenant_id, k.tenant_id) as tenant_id,
      coalesce(e.dedupe_key, k.dedupe_key) as dedupe_key,
      max(coalesce(e.received_at, k.received_at), coalesce(t.settled_at, 0)) as received_at,
      coalesce(t.state, -1) = ${MESSAGE_STATE.held} as is_held
    from dedupe d left join events e on e.seq = d.event_seq left join known_ids k on k.event_seq = d.event_seq
      left join taken_messages t on t.event_seq = d.event_seq
    where d.hash = ?`);
  const holdMessage = db.prepare(
    `insert into taken_messages (event_seq, state, generation) values (?, ${MESSAGE_STATE.held}, ?)`,
  );
  const saveHash = db.prepare("insert or replace into dedupe (hash, event_seq) values (?, ?)");
  const findEvent = db.prepare("select tenant_id, priority, ordering_key, due_at from events where seq = ?");
  const moveCursor = db.prepare(
    "update events set fan_out_cursor = ?, delivery_count = delivery_count + ? where seq = ?",
  );

  const selectTenant = db.prepare("select tenant_id from events where seq = ?");

  const ids = createEventIds(db);
  let lastSeq = readLastSeq(db);
  const blocks = createEventBlocks(db, lastSeq + 1);
  const findGiven = createGivenIdLookup((sql) => db.prepare(sql), options.hashKey);
  const returned = createReturnedEvents(db, {
    storeId: options.storeId,
    findSeq: (id, tenantId) => findGenerated(id, tenantId) ?? findGiven(id, tenantId),
  });

  /** The id of the event that has this key, or the free slot for its hash. */
  function lookUpKey(event: NewEvent, key: string): { knownAs: string } | { freeHash: bigint } {
    const bytes = Buffer.from(key);
    let hash = hashKey(options.hashKey, event.tenantId, key);
    let left: bigint | undefined;
    for (;;) {
      const row = findByHash.get(hash) as KnownKey | undefined;
      if (row === undefined) return { freeHash: left ?? hash };
      // The event of this slot is deleted; the key may still follow in a later slot.
      if (row.dedupe_key === null) left ??= hash;
      else if (isAmong(bytes, row.dedupe_key) && row.tenant_id === event.tenantId) {
        const isFresh = row.is_held === 1 || event.receivedAt - row.received_at <= options.dedupeHorizonMs;
        return isFresh ? { knownAs: row.id } : { freeHash: hash };
      }
      hash += 1n;
    }
  }

  /** How many of the deliveries the event's tenant sees. */
  function countSeen(tenantId: string, deliveries: readonly NewDelivery[]): number {
    let count = 0;
    for (const { subscriptionSeq } of deliveries) if (counters.isOf(tenantId, subscriptionSeq)) count++;
    return count;
  }

  /** `isFirst`: the event is new, so it has no deliveries yet. */
  function insertDelivery(
    to: DeliveryTarget,
    delivery: NewDelivery,
    createdAt: number,
    isFirst = false,
  ): boolean | undefined {
    const { subscriptionSeq } = delivery;
    const key = delivery.ordered ? (to.orderingKey ?? "") : null;
    const isHead = key === null || moves.isNext(subscriptionSeq, key, to.eventSeq);
    const isClaimed = isHead && delivery.claim;
    const row = [
      to.eventSeq,
      subscriptionSeq,
      isClaimed ? STATE.sending : STATE.pending,
      delivery.ordered ? 1 : 0,
      to.dueAt,
      isHead ? rankOf(to.dueAt, to.priority, false) : null,
      key,
      delivery.expiresAt ?? null,
      createdAt,
    ];
    if (isFirst) insertFirst.get(...row);
    else if (insertIfMissing.run(...row).changes === 0) return undefined;
    sending.noteNewRow();
    counters.addDelivery(subscriptionSeq, "created", 1);
    return isClaimed;
  }

  return {
    accept(event, deliveries, wall) {
      const key = event.dedupeKey;
      let freeHash: bigint | undefined;
      let freeReplayHash: bigint | undefined;
      if (key !== undefined) {
        const found = lookUpKey(event, key);
        if ("knownAs" in found) return reportDuplicate(event, found.knownAs, wall);
        freeHash = found.freeHash;
      }
      if (event.replayKey !== undefined) {
        const found = lookUpKey(event, event.replayKey);
        if ("knownAs" in found) return { ...reportDuplicate(event, found.knownAs, wall), isReplay: true };
        freeReplayHash = found.freeHash;
      }
      // A sender may use an id that this gateway generated.
      if (event.givenId && isGeneratedId(event.id, "evt") && findGenerated(event.id, event.tenantId) !== undefined) {
        return reportDuplicate(event, event.id, wall);
      }
      const seq = ++lastSeq;
      const isLarge = event.body.length > INLINE_BODY_BYTES;
      const inline = isLarge ? null : event.body;
      const seen = countSeen(event.tenantId, deliveries);
      insertEvent.get(
        seq,
        event.id,
        event.givenId ? 1 : 0,
        event.type,
        event.version,
        event.source,
        event.tenantId,
        PRIORITIES.indexOf(event.priority),
        event.origin === "webhook" ? 0 : 1,
        event.occurredAt,
        event.receivedAt,
        wall,
        event.dueAt,
        event.expiresAt ?? null,
        event.orderingKey ?? null,
        writeKeys(key, event.replayKey),
        event.contentType ?? null,
        event.request ?? null,
        event.details ?? null,
        seen,
        event.fanOutCursor ?? null,
        event.body.length,
        inline,
        sumEvent(toSummed(seq, event), inline),
      );
      if (!event.givenId) ids.note(seq, event.id);
      blocks.note(seq, event, seen === 0);
      if (isLarge) insertBody.run(seq, event.body, sumBody(seq, event.body));
      if (event.heldGeneration !== undefined) holdMessage.run(seq, event.heldGeneration);
      if (event.details !== undefined) returned.note(seq, event);
      if (freeHash !== undefined) saveHash.run(freeHash, seq);
      if (freeReplayHash !== undefined) saveHash.run(freeReplayHash, seq);
      const to = { eventSeq: seq, dueAt: event.dueAt, priority: event.priority, orderingKey: event.orderingKey };
      const claimed = deliveries.map((delivery) => insertDelivery(to, delivery, wall, true) === true);
      counters.addEvent(event.tenantId, "accepted", wall, event.body.length);
      if (seen === 0) counters.addEvent(event.tenantId, "unmatched", wall);
      if (seen === 0 && deliveries.length > 0) counters.addEvent(event.tenantId, "operators_only", wall);
      return stored(event.id, seq, claimed);
    },

    insertDelivery,

    fanOut(eventSeq, deliveries, cursor, wall) {
      const event = findEvent.get(eventSeq) as FanOutRow | undefined;
      if (event === undefined) return;
      const to = {
        eventSeq,
        dueAt: event.due_at,
        priority: PRIORITIES[event.priority] ?? "normal",
        orderingKey: event.ordering_key ?? undefined,
      };
      let added = 0;
      for (const delivery of deliveries) {
        // No caller waits for claimed deliveries here.
        const isAdded = insertDelivery(to, { ...delivery, claim: false }, wall) !== undefined;
        if (isAdded && counters.isOf(event.tenant_id, delivery.subscriptionSeq)) added++;
      }
      moveCursor.run(cursor ?? null, added, eventSeq);
    },

    /** Sequence numbers of a transaction that did not commit are free again. */
    rollback() {
      lastSeq = readLastSeq(db);
      blocks.rollback(lastSeq + 1);
      ids.rollback();
    },
  };

  function findGenerated(id: string, tenantId: string): number | undefined {
    const seq = ids.find(id);
    if (seq === undefined) return undefined;
    return (selectTenant.get(seq) as { tenant_id: string }).tenant_id === tenantId ? seq : undefined;
  }

  function reportDuplicate(event: NewEvent, knownAs: string, wall: number): Duplicate {
    counters.addEvent(event.tenantId, "duplicates", wall);
    return { kind: "duplicate", eventId: knownAs };
  }
}

function toSummed(seq: number, event: NewEvent): SummedEvent {
  return [
    seq,
    event.id,
    event.type,
    event.version,
    event.source,
    event.tenantId,
    PRIORITIES.indexOf(event.priority),
    event.origin === "webhook" ? 0 : 1,
    event.orderingKey ?? null,
    event.occurredAt,
    event.receivedAt,
    event.contentType ?? null,
    event.body.length,
    event.request ?? null,
    event.details ?? null,
  ];
}

/** Separates the two keys of an event; this byte occurs in no UTF-8 text. */
const PARTS_KEYS = 0xff;

function writeKeys(key: string | undefined, replayKey: string | undefined): Buffer | null {
  if (replayKey === undefined) return key === undefined ? null : Buffer.from(key);
  return Buffer.concat([Buffer.from(key ?? ""), Buffer.of(PARTS_KEYS), Buffer.from(replayKey)]);
}

function isAmong(key: Buffer, written: Uint8Array): boolean {
  if (key.equals(written)) return true;
  const partedAt = written.indexOf(PARTS_KEYS);
  if (partedAt < 0) return false;
  return key.equals(written.subarray(0, partedAt)) || key.equals(written.subarray(partedAt + 1));
}

/** The keys of an event, as they were given to `writeKeys`. */
export function readKeys(written: Uint8Array): string[] {
  const partedAt = written.indexOf(PARTS_KEYS);
  const parts = partedAt < 0 ? [written] : [written.subarray(0, partedAt), written.subarray(partedAt + 1)];
  return parts.map((part) => Buffer.from(part).toString());
}

interface KnownKey {
  id: string;
  tenant_id: string;
  dedupe_key: Uint8Array | null;
  /** When the event was received, or its message was settled, whichever is later. */
  received_at: number;
  /** Whether its message is still in its queue and will come again. */
  is_held: number;
}

interface FanOutRow {
  tenant_id: string;
  priority: number;
  ordering_key: string | null;
  due_at: number;
}
