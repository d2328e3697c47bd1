/** How a batch and its answer are sent between threads: hot parts packed and transferred, the rest cloned. */
import { stored, type Duplicate, type Stored } from "../../model/accepted.ts";
import { DEAD_REASONS } from "../../model/delivery.ts";
import { PRIORITIES } from "../../model/event.ts";
import { ATTEMPT_RESULTS, type KindRecord } from "../../model/outcome.ts";
import type { NewDelivery, NewEvent } from "../port/event-log.ts";
import {
  ATTEMPT_TRIGGERS,
  type AttemptRecord,
  type ClaimedDelivery,
  type ClaimResult,
  type MoveTo,
  type Settled,
  type Settlement,
} from "../port/lanes.ts";
import { NOTHING_FOLLOWS, type AcceptItem, type BatchResult, type OrFault, type WriteBatch } from "./batch.ts";
import { BLANK, carryAll, packAll, unpackAll, type Carry } from "./packing.ts";

const VERDICTS = ["delivered", "retry", "dead"] as const;
const ORIGINS = ["webhook", "publish"] as const;

const carryAccept: Carry<AcceptItem> = (io, item, before) => ({
  event: carryEvent(io, item.event ?? BLANK, before.event ?? BLANK),
  deliveries: carryAll(io, item.deliveries, carryDelivery),
});

const carryEvent: Carry<NewEvent> = (io, event, before) => ({
  id: io.text(event.id),
  type: io.repeated(event.type, before.type),
  version: io.repeated(event.version, before.version),
  source: io.repeated(event.source, before.source),
  tenantId: io.repeated(event.tenantId, before.tenantId),
  priority: io.among(PRIORITIES, event.priority),
  origin: io.among(ORIGINS, event.origin),
  orderingKey: io.text(event.orderingKey),
  occurredAt: io.float(event.occurredAt),
  receivedAt: io.float(event.receivedAt),
  contentType: io.repeated(event.contentType, before.contentType),
  givenId: io.flag(event.givenId),
  dueAt: io.float(event.dueAt),
  expiresAt: io.float(event.expiresAt),
  dedupeKey: io.text(event.dedupeKey),
  replayKey: io.text(event.replayKey),
  request: io.repeated(event.request, before.request),
  details: io.text(event.details),
  heldGeneration: io.float(event.heldGeneration),
  fanOutCursor: io.float(event.fanOutCursor),
  body: io.bytes(event.body),
});

const carryDelivery: Carry<NewDelivery> = (io, delivery) => ({
  subscriptionSeq: io.uint(delivery.subscriptionSeq),
  claim: io.flag(delivery.claim),
  ordered: io.flag(delivery.ordered),
  expiresAt: io.float(delivery.expiresAt),
});

const carrySettlement: Carry<Settlement> = (io, settlement, before) => ({
  eventSeq: io.float(settlement.eventSeq),
  subscriptionSeq: io.uint(settlement.subscriptionSeq),
  generation: io.uint(settlement.generation),
  attemptNumber: io.uint(settlement.attemptNumber),
  verdict: io.among(VERDICTS, settlement.verdict),
  nextAttemptAt: io.float(settlement.nextAttemptAt),
  deadReason: io.among(DEAD_REASONS, settlement.deadReason),
  keepsTime: io.flag(settlement.keepsTime),
  isUncounted: io.flag(settlement.isUncounted),
  leavesKeyQueue: io.flag(settlement.leavesKeyQueue),
  claimNext: io.flag(settlement.claimNext),
  moveTo: io.flag(settlement.moveTo !== undefined) ? carryMove(io, settlement.moveTo ?? BLANK, BLANK) : undefined,
  attempt: carryAttempt(io, settlement.attempt ?? BLANK, before.attempt ?? BLANK),
});

const carryMove: Carry<MoveTo> = (io, to) => ({
  subscriptionSeq: io.uint(to.subscriptionSeq),
  ordered: io.flag(to.ordered),
  isReturn: io.flag(to.isReturn),
});

const carryAttempt: Carry<AttemptRecord> = (io, attempt, before) => ({
  startedAt: io.float(attempt.startedAt),
  durationMs: io.float(attempt.durationMs),
  result: io.among(ATTEMPT_RESULTS, attempt.result),
  trigger: io.among(ATTEMPT_TRIGGERS, attempt.trigger),
  error: io.text(attempt.error),
  record: carryRecord(io, attempt.record ?? BLANK, before.record ?? BLANK),
});

const carryRecord: Carry<KindRecord> = (io, record, before) => ({
  place: io.repeated(record.place, before.place),
  address: io.repeated(record.address, before.address),
  sent: io.text(record.sent),
  code: io.float(record.code),
  facts: io.repeated(record.facts, before.facts),
  answer: io.bytes(record.answer),
});

const carryClaimed: Carry<ClaimedDelivery> = (io, delivery, before) => ({
  eventSeq: io.float(delivery.eventSeq),
  subscriptionSeq: io.uint(delivery.subscriptionSeq),
  generation: io.uint(delivery.generation),
  attemptCount: io.uint(delivery.attemptCount),
  uncountedAttempts: io.uint(delivery.uncountedAttempts),
  trigger: io.among(ATTEMPT_TRIGGERS, delivery.trigger),
  expiresAt: io.float(delivery.expiresAt),
  request: undefined,
  isEarly: io.flag(delivery.isEarly),
  hasDetails: io.flag(delivery.hasDetails),
  details: undefined,
  event: carryContent(io, delivery.event ?? BLANK, before.event ?? BLANK),
});

const carryContent: Carry<ClaimedDelivery["event"]> = (io, event, before) => ({
  id: io.text(event.id),
  type: io.repeated(event.type, before.type),
  version: io.repeated(event.version, before.version),
  source: io.repeated(event.source, before.source),
  tenantId: io.repeated(event.tenantId, before.tenantId),
  priority: io.among(PRIORITIES, event.priority),
  origin: io.among(ORIGINS, event.origin),
  orderingKey: io.text(event.orderingKey),
  occurredAt: io.float(event.occurredAt),
  receivedAt: io.float(event.receivedAt),
  contentType: io.repeated(event.contentType, before.contentType),
  hops: io.uint(event.hops),
  originId: io.text(event.originId),
  trace: io.text(event.trace),
  size: io.uint(event.size),
  body: io.bytes(event.body),
});

export function toBatchMessage({ at, rows, commands, requests, claims, ...batch }: WriteBatch) {
  const bytesOf = ({ event }: AcceptItem) => event.body.length + (event.request?.length ?? 0) + 256;
  const accepts = packAll(batch.accepts, carryAccept, bytesOf);
  const settles = packAll(batch.settles, carrySettlement, () => 512);
  const message = { at, rows, accepts, settles, commands, requests, claims };
  return { message, transfer: [accepts, settles].filter((buffer) => buffer !== undefined) };
}

export type BatchMessage = ReturnType<typeof toBatchMessage>["message"];

export function fromBatchMessage({ accepts, settles, ...rest }: BatchMessage): WriteBatch {
  return { ...rest, accepts: unpackAll(accepts, carryAccept), settles: unpackAll(settles, carrySettlement) };
}

const CLAIMED = "1";
const WAITS = "0";

export function toResultMessage(result: BatchResult) {
  /** Sequence numbers; a negative number is an index into `special`. */
  const accepts = result.accepts.length === 0 ? undefined : new Float64Array(result.accepts.length);
  const special: OrFault<Duplicate>[] = [];
  /** For each delivery of the accepted events, in order, one character: whether it was claimed. */
  let claimedOnInsert = "";
  result.accepts.forEach((accepted, i) => {
    if (accepts === undefined) return;
    if ("eventSeq" in accepted) {
      accepts[i] = accepted.eventSeq;
      for (const isClaimed of accepted.claimed) claimedOnInsert += isClaimed ? CLAIMED : WAITS;
    } else {
      accepts[i] = -special.push(accepted);
    }
  });
  const handedOver = [
    ...result.claims.flatMap((claim) => ("failed" in claim ? [] : claim.claimed)),
    ...result.settles.flatMap((settle) => ("failed" in settle || settle.next === undefined ? [] : [settle.next])),
  ];
  const claimed = packAll(handedOver, carryClaimed, ({ event }) => (event.body?.length ?? 0) + 192);
  /** Undefined in the usual case, when nothing follows. */
  const settles = result.settles.map((settle) => {
    if ("failed" in settle) return settle;
    const { applied, next, movedUp, isKept } = settle;
    if (applied && next === undefined && !movedUp && isKept !== true) return undefined;
    return { applied, movedUp, hasNext: next !== undefined, isKept };
  });
  const claims = result.claims.map((claim) => {
    if ("failed" in claim) return claim;
    return { count: claim.claimed.length, expired: claim.expired, nextDueAt: claim.nextDueAt, dead: claim.dead };
  });
  const { commands, fatal, damages } = result;
  const message = { accepts, claimedOnInsert, special, settles, commands, claims, claimed, fatal, damages };
  return { message, transfer: [accepts?.buffer, claimed].filter((buffer) => buffer !== undefined) };
}

export type ResultMessage = ReturnType<typeof toResultMessage>["message"];

export function fromResultMessage(message: ResultMessage, batch: WriteBatch): BatchResult {
  const { commands, fatal, damages } = message;
  const handedOver = unpackAll(message.claimed, carryClaimed);
  let next = 0;
  const claims = message.claims.map((claim): OrFault<ClaimResult> => {
    if ("failed" in claim) return claim;
    const { count, ...rest } = claim;
    return { ...rest, claimed: handedOver.slice(next, (next += count)) };
  });
  const settles = message.settles.map((settle): OrFault<Settled> => {
    if (settle === undefined) return NOTHING_FOLLOWS;
    if ("failed" in settle) return settle;
    const { hasNext, ...rest } = settle;
    return { ...rest, next: hasNext ? handedOver[next++] : undefined };
  });
  let claimedAt = 0;
  const accepts = batch.accepts.map(({ event, deliveries }, i): OrFault<Stored | Duplicate> => {
    const seq = message.accepts?.[i] ?? 0;
    if (seq < 0) return message.special[-seq - 1] as OrFault<Duplicate>;
    const claimed = deliveries.map(() => message.claimedOnInsert[claimedAt++] === CLAIMED);
    return stored(event.id, seq, claimed);
  });
  return { accepts, settles, claims, commands, fatal, damages };
}
