import { DEAD_REASONS } from "../../model/delivery.ts";
import { PRIORITIES, type EventFacts, type EventOrigin } from "../../model/event.ts";
import { ATTEMPT_RESULTS, type KindRecord } from "../../model/outcome.ts";
import type { NewDelivery, NewEvent } from "../port/event-log.ts";
import { ATTEMPT_TRIGGERS, type ClaimedDelivery, type Settlement } from "../port/lanes.ts";
import type { AcceptItem } from "./batch.ts";
import { createPacker, createUnpacker, need, type Packer, type Unpacker } from "./packing.ts";

/**
 * Packs and unpacks the hot parts of a batch and of its answer; the functions of each pair mirror each other line by
 * line.
 */

const MOVED = 16;
const MOVED_IN_ORDER = 32;
const RETURNED = 64;
const VERDICTS = ["delivered", "retry", "dead"] as const;

export function packAccepts(items: readonly AcceptItem[]): ArrayBuffer {
  const packer = createPacker(
    items.reduce((sum, { event }) => sum + event.body.length + (event.request?.length ?? 0) + 256, 0),
  );
  packer.uint(items.length);
  let before: NewEvent | undefined;
  for (const { event, deliveries } of items) {
    packEvent(packer, event, before);
    before = event;
    packer.uint(deliveries.length);
    for (const delivery of deliveries) packDelivery(packer, delivery);
  }
  return packer.finish();
}

export function unpackAccepts(packed: ArrayBuffer): AcceptItem[] {
  const unpacker = createUnpacker(packed);
  const items: AcceptItem[] = [];
  for (let left = unpacker.uint(); left > 0; left--) {
    const event = unpackEvent(unpacker, items.at(-1)?.event);
    const deliveries: NewDelivery[] = [];
    for (let more = unpacker.uint(); more > 0; more--) deliveries.push(unpackDelivery(unpacker));
    items.push({ event, deliveries });
  }
  return items;
}

type Facts = EventFacts & { origin: EventOrigin };

function packFacts(packer: Packer, event: Facts, before: Facts | undefined): void {
  packer.text(event.id);
  packer.repeated(event.type, before?.type);
  packer.repeated(event.version, before?.version);
  packer.repeated(event.source, before?.source);
  packer.repeated(event.tenantId, before?.tenantId);
  packer.byte(PRIORITIES.indexOf(event.priority));
  packer.byte(event.origin === "webhook" ? 0 : 1);
  packer.text(event.orderingKey);
  packer.float(event.occurredAt);
  packer.float(event.receivedAt);
  packer.repeated(event.contentType, before?.contentType);
}

function unpackFacts(unpacker: Unpacker, before: Facts | undefined): Facts {
  return {
    id: need(unpacker.text()),
    type: need(unpacker.repeated(before?.type)),
    version: need(unpacker.repeated(before?.version)),
    source: need(unpacker.repeated(before?.source)),
    tenantId: need(unpacker.repeated(before?.tenantId)),
    priority: need(PRIORITIES[unpacker.byte()]),
    origin: unpacker.byte() === 0 ? "webhook" : "publish",
    orderingKey: unpacker.text(),
    occurredAt: need(unpacker.float()),
    receivedAt: need(unpacker.float()),
    contentType: unpacker.repeated(before?.contentType),
  };
}

function packEvent(packer: Packer, event: NewEvent, before: NewEvent | undefined): void {
  packFacts(packer, event, before);
  packer.byte(event.givenId ? 1 : 0);
  packer.float(event.dueAt);
  packer.float(event.expiresAt);
  packer.text(event.dedupeKey);
  packer.text(event.replayKey);
  packer.repeated(event.request, before?.request);
  packer.text(event.details);
  packer.float(event.heldGeneration);
  packer.float(event.fanOutCursor);
  packer.bytes(event.body);
}

// Fields are copied by name: with a spread, V8 gives each object a hidden class of its own, which costs more than all
// other unpacking.
function unpackEvent(unpacker: Unpacker, before: NewEvent | undefined): NewEvent {
  const facts = unpackFacts(unpacker, before);
  return {
    id: facts.id,
    type: facts.type,
    version: facts.version,
    source: facts.source,
    tenantId: facts.tenantId,
    priority: facts.priority,
    origin: facts.origin,
    orderingKey: facts.orderingKey,
    occurredAt: facts.occurredAt,
    receivedAt: facts.receivedAt,
    contentType: facts.contentType,
    givenId: unpacker.byte() === 1,
    dueAt: need(unpacker.float()),
    expiresAt: unpacker.float(),
    dedupeKey: unpacker.text(),
    replayKey: unpacker.text(),
    request: unpacker.repeated(before?.request),
    details: unpacker.text(),
    heldGeneration: unpacker.float(),
    fanOutCursor: unpacker.float(),
    body: need(unpacker.bytes()),
  };
}

function packDelivery(packer: Packer, delivery: NewDelivery): void {
  packer.uint(delivery.subscriptionSeq);
  packer.byte((delivery.claim ? 1 : 0) | (delivery.ordered ? 2 : 0));
  packer.float(delivery.expiresAt);
}

function unpackDelivery(unpacker: Unpacker): NewDelivery {
  const subscriptionSeq = unpacker.uint();
  const flags = unpacker.byte();
  return { subscriptionSeq, claim: (flags & 1) !== 0, ordered: (flags & 2) !== 0, expiresAt: unpacker.float() };
}

export function packSettles(items: readonly Settlement[]): ArrayBuffer {
  const packer = createPacker(items.length * 512);
  packer.uint(items.length);
  let before: KindRecord | undefined;
  for (const s of items) {
    packer.float(s.eventSeq);
    packer.uint(s.subscriptionSeq);
    packer.uint(s.generation);
    packer.uint(s.attemptNumber);
    packer.byte(VERDICTS.indexOf(s.verdict));
    packer.float(s.nextAttemptAt);
    packer.byte(s.deadReason === undefined ? DEAD_REASONS.length : DEAD_REASONS.indexOf(s.deadReason));
    packer.byte(
      (s.leavesKeyQueue ? 1 : 0) |
        (s.claimNext ? 2 : 0) |
        (s.keepsTime ? 4 : 0) |
        (s.isUncounted === true ? 8 : 0) |
        (s.moveTo === undefined ? 0 : MOVED) |
        (s.moveTo?.ordered === true ? MOVED_IN_ORDER : 0) |
        (s.moveTo?.isReturn === true ? RETURNED : 0),
    );
    if (s.moveTo !== undefined) packer.uint(s.moveTo.subscriptionSeq);
    packer.float(s.attempt.startedAt);
    packer.float(s.attempt.durationMs);
    packer.byte(ATTEMPT_RESULTS.indexOf(s.attempt.result));
    packer.byte(ATTEMPT_TRIGGERS.indexOf(s.attempt.trigger));
    packer.text(s.attempt.error);
    const { record } = s.attempt;
    packer.repeated(record.place, before?.place);
    packer.repeated(record.address, before?.address);
    packer.text(record.sent);
    packer.float(record.code);
    packer.repeated(record.facts, before?.facts);
    packer.bytes(record.answer);
    before = record;
  }
  return packer.finish();
}

export function unpackSettles(packed: ArrayBuffer): Settlement[] {
  const unpacker = createUnpacker(packed);
  const items: Settlement[] = [];
  for (let left = unpacker.uint(); left > 0; left--) items.push(unpackSettle(unpacker, items.at(-1)?.attempt.record));
  return items;
}

function unpackSettle(unpacker: Unpacker, before: KindRecord | undefined): Settlement {
  const eventSeq = need(unpacker.float());
  const subscriptionSeq = unpacker.uint();
  const generation = unpacker.uint();
  const attemptNumber = unpacker.uint();
  const verdict = need(VERDICTS[unpacker.byte()]);
  const nextAttemptAt = unpacker.float();
  const deadReason = DEAD_REASONS[unpacker.byte()];
  const flags = unpacker.byte();
  const ordered = (flags & MOVED_IN_ORDER) !== 0;
  const isReturn = (flags & RETURNED) !== 0;
  const moveTo = (flags & MOVED) === 0 ? undefined : { subscriptionSeq: unpacker.uint(), ordered, isReturn };
  return {
    eventSeq,
    subscriptionSeq,
    generation,
    attemptNumber,
    verdict,
    nextAttemptAt,
    deadReason,
    keepsTime: (flags & 4) !== 0,
    isUncounted: (flags & 8) !== 0,
    leavesKeyQueue: (flags & 1) !== 0,
    claimNext: (flags & 2) !== 0,
    moveTo,
    attempt: {
      startedAt: need(unpacker.float()),
      durationMs: need(unpacker.float()),
      result: need(ATTEMPT_RESULTS[unpacker.byte()]),
      trigger: need(ATTEMPT_TRIGGERS[unpacker.byte()]),
      error: unpacker.text(),
      record: {
        place: unpacker.repeated(before?.place),
        address: unpacker.repeated(before?.address),
        sent: unpacker.text(),
        code: unpacker.float(),
        facts: unpacker.repeated(before?.facts),
        answer: unpacker.bytes(),
      },
    },
  };
}

export function packClaimed(items: readonly ClaimedDelivery[]): ArrayBuffer {
  const packer = createPacker(items.reduce((sum, { event }) => sum + (event.body?.length ?? 0) + 192, 0));
  packer.uint(items.length);
  let before: ClaimedDelivery["event"] | undefined;
  for (const delivery of items) {
    const { event } = delivery;
    packer.float(delivery.eventSeq);
    packer.uint(delivery.subscriptionSeq);
    packer.uint(delivery.generation);
    packer.uint(delivery.attemptCount);
    packer.uint(delivery.uncountedAttempts);
    packer.byte(ATTEMPT_TRIGGERS.indexOf(delivery.trigger));
    packer.float(delivery.expiresAt);
    packer.byte(delivery.isEarly === true ? 1 : 0);
    packer.byte(delivery.hasDetails === true ? 1 : 0);
    packFacts(packer, event, before);
    packer.byte(event.hops ?? 0);
    packer.text(event.originId);
    packer.text(event.trace);
    packer.uint(event.size);
    packer.bytes(event.body);
    before = event;
  }
  return packer.finish();
}

export function unpackClaimed(packed: ArrayBuffer): ClaimedDelivery[] {
  const unpacker = createUnpacker(packed);
  const items: ClaimedDelivery[] = [];
  for (let left = unpacker.uint(); left > 0; left--) {
    items.push({
      eventSeq: need(unpacker.float()),
      subscriptionSeq: unpacker.uint(),
      generation: unpacker.uint(),
      attemptCount: unpacker.uint(),
      uncountedAttempts: unpacker.uint(),
      trigger: need(ATTEMPT_TRIGGERS[unpacker.byte()]),
      expiresAt: unpacker.float(),
      request: undefined,
      isEarly: unpacker.byte() === 1,
      hasDetails: unpacker.byte() === 1,
      details: undefined,
      event: unpackContent(unpacker, items.at(-1)?.event),
    });
  }
  return items;
}

function unpackContent(unpacker: Unpacker, before: ClaimedDelivery["event"] | undefined): ClaimedDelivery["event"] {
  const facts = unpackFacts(unpacker, before);
  return {
    id: facts.id,
    type: facts.type,
    version: facts.version,
    source: facts.source,
    tenantId: facts.tenantId,
    priority: facts.priority,
    origin: facts.origin,
    orderingKey: facts.orderingKey,
    occurredAt: facts.occurredAt,
    receivedAt: facts.receivedAt,
    contentType: facts.contentType,
    hops: unpacker.byte(),
    originId: unpacker.text(),
    trace: unpacker.text(),
    size: unpacker.uint(),
    body: unpacker.bytes(),
  };
}
