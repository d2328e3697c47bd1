import { stored, type Duplicate, type Stored } from "../../model/accepted.ts";
import { STATE, rankOf } from "../../model/delivery.ts";
import type { Priority } from "../../model/event.ts";
import { isGeneratedId } from "../../model/ids.ts";
import type { NewDelivery, NewEvent } from "../port/event-log.ts";
import { SUMMED, sumBody, sumRow, toPriority, toSummed } from "./checked-rows.ts";
import type { Database } from "./connection.ts";
import type { CounterDeltas } from "./counters.ts";
import { createEventBlocks } from "./event-blocks.ts";
import {
  createDedupeKeys,
  createEventIds,
  createGivenIdLookup,
  readLastSeq,
  writeKeys,
  type DedupeOptions,
} from "./event-ids.ts";
import type { Moves } from "./move.ts";
import { asFields } from "./query-rows.ts";
import type { SendingWalk } from "./sending.ts";
import { createReturnedEvents, MESSAGE_STATE } from "./taken-messages.ts";

/** Larger bodies are stored in a table of their own, so that reading events does not load them. */
const INLINE_BODY_BYTES = 16_384;

/** The values that a delivery inherits from its event. */
interface DeliveryTarget {
  eventSeq: number;
  dueAt: number;
  priority: Priority;
  orderingKey: string | undefined;
}

export function createAccept(
  db: Database,
  counters: CounterDeltas,
  moves: Pick<Moves, "isNext">,
  sending: Pick<SendingWalk, "countNewRow">,
  options: DedupeOptions & { storeId: string },
) {
  // Executed with `get` instead of `run`: `run` builds a result object that is not needed and takes a third of the
  // time.
  const insertEvent = db.prepare(`
    insert into events (${SUMMED}, given_id, published_at, due_at, expires_at, dedupe_key, delivery_count,
      fan_out_cursor, body, checksum)
    values (${SUMMED.replaceAll(/\w+/g, "?")}, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertBody = db.prepare("insert into bodies (event_seq, body, checksum) values (?, ?, ?)");
  const insertRow = `
    insert into deliveries (event_seq, subscription_seq, state, ordered, generation, attempt_count, uncounted_attempts,
      recoveries, next_trigger, next_attempt_at, rank, queued_key, expires_at, created_at)
    values (?, ?, ?, ?, 1, 0, 0, 0, 0, ?, ?, ?, ?, ?)`;
  const insertFirst = db.prepare(insertRow);
  const insertIfMissing = db.prepare(`${insertRow} on conflict do nothing`);
  const holdMessage = db.prepare(
    `insert into taken_messages (event_seq, state, generation) values (?, ${MESSAGE_STATE.held}, ?)`,
  );
  const selectTarget = db.prepare(`
    select ${asFields("tenant_id, priority, ordering_key, due_at")} from events where seq = ?`);
  const moveCursor = db.prepare(
    "update events set fan_out_cursor = ?, delivery_count = delivery_count + ? where seq = ?",
  );
  // The tenant does not see the delivery of an operator's subscription for several tenants.
  const countLater = db.prepare(`
    update events set delivery_count = delivery_count + 1
    where seq = ?1 and coalesce((select tenant_id from records where seq = ?2), tenant_id) = tenant_id`);
  const selectTenant = db.prepare("select tenant_id from events where seq = ?");

  const ids = createEventIds(db);
  const keys = createDedupeKeys(db, options);
  let lastSeq = readLastSeq(db);
  const blocks = createEventBlocks(db, lastSeq + 1);
  const findGiven = createGivenIdLookup((sql) => db.prepare(sql), options.hashKey);
  const recordReturned = createReturnedEvents(
    db,
    options.storeId,
    (id, tenantId) => findGenerated(id, tenantId) ?? findGiven(id, tenantId),
  );

  function reportDuplicate(event: NewEvent, knownAs: string, wall: number): Duplicate {
    counters.addEvent(event.tenantId, "duplicates", wall);
    return { kind: "duplicate", eventId: knownAs };
  }

  /** A sender may use an id that this gateway generated. */
  function hasGeneratedId({ givenId, id, tenantId }: NewEvent): boolean {
    return givenId && isGeneratedId(id, "evt") && findGenerated(id, tenantId) !== undefined;
  }

  /** `seen`: how many of its deliveries its tenant sees. */
  function insert(seq: number, event: NewEvent, seen: number, wall: number): void {
    const isLarge = event.body.length > INLINE_BODY_BYTES;
    const inline = isLarge ? null : event.body;
    const summed = toSummed(seq, event);
    insertEvent.get(
      ...summed,
      event.givenId ? 1 : 0,
      wall,
      event.dueAt,
      event.expiresAt ?? null,
      writeKeys(event.dedupeKey, event.replayKey),
      seen,
      event.fanOutCursor ?? null,
      inline,
      sumRow(summed, inline),
    );
    if (!event.givenId) ids.record(seq, event.id);
    blocks.record(seq, event, seen === 0);
    if (isLarge) insertBody.run(seq, event.body, sumBody(seq, event.body));
    if (event.heldGeneration !== undefined) holdMessage.run(seq, event.heldGeneration);
    if (event.details !== undefined) recordReturned(seq, event);
  }

  function countSeen(tenantId: string, deliveries: readonly NewDelivery[]): number {
    let count = 0;
    for (const { subscriptionSeq } of deliveries) if (counters.isOf(tenantId, subscriptionSeq)) count++;
    return count;
  }

  /** Returns whether it was claimed on insert; undefined when the event already had it. `isFirst`: the event is new. */
  function insertDelivery(
    to: DeliveryTarget,
    delivery: NewDelivery,
    createdAt: number,
    isFirst: boolean,
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
    sending.countNewRow();
    counters.addDelivery(subscriptionSeq, "created", 1);
    return isClaimed;
  }

  /** Undefined when the event no longer exists. */
  function findTarget(eventSeq: number): (DeliveryTarget & { tenantId: string }) | undefined {
    const row = selectTarget.get(eventSeq);
    return row && { ...row, eventSeq, priority: toPriority(row.priority), orderingKey: row.orderingKey ?? undefined };
  }

  return {
    accept(event: NewEvent, deliveries: readonly NewDelivery[], wall: number): Stored | Duplicate {
      const slot = event.dedupeKey === undefined ? undefined : keys.find(event, event.dedupeKey);
      if (typeof slot === "string") return reportDuplicate(event, slot, wall);
      const replaySlot = event.replayKey === undefined ? undefined : keys.find(event, event.replayKey);
      if (typeof replaySlot === "string") return { ...reportDuplicate(event, replaySlot, wall), isReplay: true };
      if (hasGeneratedId(event)) return reportDuplicate(event, event.id, wall);
      const seq = ++lastSeq;
      const seen = countSeen(event.tenantId, deliveries);
      insert(seq, event, seen, wall);
      if (slot !== undefined) keys.save(slot, seq);
      if (replaySlot !== undefined) keys.save(replaySlot, seq);
      const to = { eventSeq: seq, dueAt: event.dueAt, priority: event.priority, orderingKey: event.orderingKey };
      const claimed = deliveries.map((delivery) => insertDelivery(to, delivery, wall, true) === true);
      counters.addEvent(event.tenantId, "accepted", wall, event.body.length);
      if (seen === 0) counters.addEvent(event.tenantId, "unmatched", wall);
      if (seen === 0 && deliveries.length > 0) counters.addEvent(event.tenantId, "operators_only", wall);
      return stored(event.id, seq, claimed);
    },

    findTarget,

    /** Adds a delivery to an event that was stored before. Returns false when the event already has it. */
    addDelivery(to: DeliveryTarget, delivery: Omit<NewDelivery, "claim">, wall: number): boolean {
      if (insertDelivery(to, { ...delivery, claim: false }, wall, false) === undefined) return false;
      countLater.run(to.eventSeq, delivery.subscriptionSeq);
      return true;
    },

    fanOut(eventSeq: number, deliveries: readonly NewDelivery[], cursor: number | undefined, wall: number): void {
      const to = findTarget(eventSeq);
      if (to === undefined) return;
      let added = 0;
      for (const delivery of deliveries) {
        // No caller waits for claimed deliveries here.
        const isAdded = insertDelivery(to, { ...delivery, claim: false }, wall, false) !== undefined;
        if (isAdded && counters.isOf(to.tenantId, delivery.subscriptionSeq)) added++;
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
    return selectTenant.get(seq).tenant_id === tenantId ? seq : undefined;
  }
}

export type Accept = ReturnType<typeof createAccept>;
