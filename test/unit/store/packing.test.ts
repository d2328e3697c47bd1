import { stored } from "../../../src/model/accepted.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEAD_REASONS } from "../../../src/model/delivery.ts";
import { PRIORITIES } from "../../../src/model/event.ts";
import { ATTEMPT_RESULTS } from "../../../src/model/outcome.ts";
import type { AcceptItem, BatchResult, WriteBatch } from "../../../src/store/commit/batch.ts";
import { createPacker, createUnpacker } from "../../../src/store/commit/packing.ts";
import {
  fromBatchMessage,
  fromResultMessage,
  toBatchMessage,
  toResultMessage,
} from "../../../src/store/commit/thread-messages.ts";
import { ATTEMPT_TRIGGERS, type ClaimedDelivery, type Settlement } from "../../../src/store/port/lanes.ts";
import { newAttempt, newDelivery, newEvent, newRequest, newSettlement, NOON } from "../../support/store-fixtures.ts";

const text = fc.string({ unit: "binary" });
const bytes = fc.uint8Array().map((one) => Buffer.from(one));
const time = fc.integer({ min: 0, max: 2 ** 48 });
const seq = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const small = fc.nat({ max: 0xffff_fffe });
const orAbsent = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const origin = fc.constantFrom("webhook" as const, "publish" as const);

const event = fc.record({
  id: text,
  givenId: fc.boolean(),
  type: text,
  version: text,
  source: text,
  tenantId: text,
  priority: fc.constantFrom(...PRIORITIES),
  origin,
  occurredAt: time,
  receivedAt: time,
  dueAt: time,
  expiresAt: orAbsent(time),
  orderingKey: orAbsent(text),
  dedupeKey: orAbsent(text),
  replayKey: orAbsent(text),
  contentType: orAbsent(text),
  request: orAbsent(text),
  details: orAbsent(text),
  body: bytes,
  fanOutCursor: orAbsent(small),
});
const delivery = fc.record({
  subscriptionSeq: small,
  claim: fc.boolean(),
  ordered: fc.boolean(),
  expiresAt: orAbsent(time),
});
const settlement = fc.record({
  eventSeq: seq,
  subscriptionSeq: small,
  generation: small,
  attemptNumber: small,
  verdict: fc.constantFrom("delivered" as const, "retry" as const, "dead" as const),
  nextAttemptAt: orAbsent(time),
  deadReason: orAbsent(fc.constantFrom(...DEAD_REASONS)),
  keepsTime: fc.boolean(),
  isUncounted: fc.boolean(),
  leavesKeyQueue: fc.boolean(),
  claimNext: fc.boolean(),
  attempt: fc.record({
    startedAt: time,
    durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    result: fc.constantFrom(...ATTEMPT_RESULTS),
    trigger: fc.constantFrom(...ATTEMPT_TRIGGERS),
    error: orAbsent(text),
    record: fc.record({
      place: orAbsent(text),
      address: orAbsent(text),
      sent: orAbsent(text),
      code: orAbsent(fc.integer({ min: 100, max: 599 })),
      facts: orAbsent(text),
      answer: orAbsent(bytes),
    }),
  }),
});
const claimed = fc.record({
  eventSeq: seq,
  subscriptionSeq: small,
  generation: small,
  attemptCount: small,
  uncountedAttempts: small,
  trigger: fc.constantFrom(...ATTEMPT_TRIGGERS),
  expiresAt: orAbsent(time),
  hasDetails: fc.boolean(),
  isEarly: fc.boolean(),
  event: fc.record({
    id: text,
    type: text,
    version: text,
    source: text,
    tenantId: text,
    priority: fc.constantFrom(...PRIORITIES),
    origin,
    orderingKey: orAbsent(text),
    occurredAt: time,
    receivedAt: time,
    contentType: orAbsent(text),
    hops: fc.nat({ max: 9 }),
    size: small,
    body: orAbsent(bytes),
  }),
});

/** Whoever unpacks gives nothing. */
const NONE = undefined as string | undefined;
const NO_NUMBER = undefined as number | undefined;
const NO_BYTES = undefined as Uint8Array | undefined;

function bring(items: { accepts?: AcceptItem[]; settles?: Settlement[] }): WriteBatch {
  const at = { now: NOON, wall: NOON };
  const batch = { at, rows: 1, settles: [], accepts: [], commands: [], requests: [], claims: [], ...items };
  return fromBatchMessage(toBatchMessage(batch).message);
}

function bringClaimed(claimed: ClaimedDelivery[]): unknown {
  const result = { settles: [], accepts: [], commands: [], fatal: undefined };
  const claims = [{ claimed, expired: 0, nextDueAt: undefined }];
  const { message } = toResultMessage({ ...result, claims });
  const [claim] = fromResultMessage(message, bring({})).claims;
  return claim !== undefined && "claimed" in claim ? claim.claimed : undefined;
}

describe("packing", () => {
  it("brings any event with its deliveries across unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ event, deliveries: fc.array(delivery) })), (items) => {
        expect(bring({ accepts: items }).accepts).toEqual(items);
      }),
    );
  });

  it("brings any settlement across unchanged", () => {
    fc.assert(
      fc.property(fc.array(settlement), (items) => {
        expect(bring({ settles: items }).settles).toEqual(items);
      }),
    );
  });

  it("brings any claimed delivery across unchanged", () => {
    fc.assert(
      fc.property(fc.array(claimed), (items) => {
        expect(bringClaimed(items)).toEqual(items);
      }),
    );
  });

  it("tells an absent value from an empty one", () => {
    const packer = createPacker(1);
    packer.text("");
    packer.text(undefined);
    packer.bytes(new Uint8Array(0));
    packer.bytes(undefined);
    packer.float(0);
    packer.float(undefined);
    const unpacker = createUnpacker(packer.finish());
    expect([
      unpacker.text(NONE),
      unpacker.text(NONE),
      unpacker.bytes(NO_BYTES)?.length,
      unpacker.bytes(NO_BYTES),
    ]).toEqual(["", undefined, 0, undefined]);
    expect([unpacker.float(NO_NUMBER), unpacker.float(NO_NUMBER)]).toEqual([0, undefined]);
  });

  it("brings a text across that is the same as one before, and one that is not", () => {
    const before = [undefined, "a", "a", undefined, undefined, "", "a"];
    const packer = createPacker(1);
    before.forEach((value, i) => packer.repeated(value, before[i - 1]));
    const unpacker = createUnpacker(packer.finish());
    const read: (string | undefined)[] = [];
    for (let i = 0; i < before.length; i++) read.push(unpacker.repeated(NONE, read.at(-1)));
    expect(read).toEqual(before);
  });

  it("grows beyond what it expected", () => {
    const packer = createPacker(1);
    const long = "ä€😀".repeat(10_000);
    packer.text(long);
    packer.bytes(new Uint8Array(100_000).fill(3));
    const unpacker = createUnpacker(packer.finish());
    expect(unpacker.text(NONE)).toBe(long);
    expect(unpacker.bytes(NO_BYTES)?.every((byte) => byte === 3)).toBe(true);
  });
});

describe("a batch and its answer between threads", () => {
  const batch: WriteBatch = {
    at: { now: NOON, wall: NOON + 1 },
    rows: 20,
    settles: [1, 2, 3, 4].map((eventSeq) => newSettlement({ eventSeq, subscriptionSeq: 1 }, { attempt: newAttempt() })),
    accepts: [
      { event: newEvent(), deliveries: [newDelivery(1), newDelivery(2)] },
      { event: newEvent(), deliveries: [newDelivery(1)] },
      { event: newEvent(), deliveries: [] },
      { event: newEvent(), deliveries: [newDelivery(3)] },
    ],
    commands: [{ port: "jobs", name: "schedule", args: ["sweep", NOON] }],
    requests: [newRequest("req_1")],
    claims: [1, 2].map((subscriptionSeq) => ({ subscriptionSeq, limit: 1 })),
  };

  it("is the same batch on the other side", () => {
    const { message } = toBatchMessage(batch);
    expect(fromBatchMessage(message)).toEqual(batch);
  });

  it("is the same answer on the other side, whatever kinds it mixes", () => {
    const [first, second, third] = fc.sample(claimed, { numRuns: 3, seed: 1 });
    const failed = { fault: "item" as const, message: "no" };
    const ids = batch.accepts.map(({ event }) => event.id);
    const result = {
      settles: [
        { applied: true, next: undefined, movedUp: false },
        { applied: true, next: third, movedUp: false },
        { failed },
        { applied: false, next: undefined, movedUp: true },
      ],
      accepts: [
        stored(ids[0] ?? "", 7, [true, false]),
        { failed },
        { kind: "duplicate", eventId: "evt_1" },
        stored(ids[3] ?? "", 8, [true]),
      ],
      commands: [{ value: 5 }],
      claims: [{ claimed: [first, second], expired: 1, nextDueAt: NOON }, { failed }],
      fatal: undefined,
    } as BatchResult;
    const { message } = toResultMessage(result);
    expect(fromResultMessage(message, batch)).toEqual(result);
  });
});
