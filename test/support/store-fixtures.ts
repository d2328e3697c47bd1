import { createIdSource } from "../../src/domain/ids.ts";
import { createSeededRandom } from "../../src/domain/seeded-random.ts";
import type { RecordKey, StoredRecord, WriteRequest } from "../../src/store/port/records.ts";
import type {
  AttemptRecord,
  ClaimedDelivery,
  ClaimRequest,
  ClaimResult,
  AcceptResult,
  LoggedRequest,
  NewDelivery,
  NewEvent,
  Settlement,
  SettleResult,
  Settled,
  Store,
} from "../../src/store/store.ts";

/** Small builders of what a store takes, and promises for the calls that answer by callback. */

/** A Friday in 2025, far from any edge. */
export const NOON = 1_760_000_000_000;

export const textOf = (body: Uint8Array | undefined) => Buffer.from(body ?? []).toString();

const createId = createIdSource({ wall: () => NOON }, createSeededRandom(1));

/** An event with a generated id; `dueAt` and `occurredAt` follow `receivedAt`. */
export function newEvent(change: Partial<NewEvent> = {}): NewEvent {
  const receivedAt = change.receivedAt ?? NOON;
  return {
    id: createId("evt"),
    givenId: false,
    type: "order.created",
    version: "1",
    source: "shop",
    tenantId: "default",
    priority: "normal",
    origin: "webhook",
    occurredAt: receivedAt,
    receivedAt,
    dueAt: receivedAt,
    expiresAt: undefined,
    orderingKey: undefined,
    dedupeKey: undefined,
    replayKey: undefined,
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: Buffer.from("{}"),
    fanOutCursor: undefined,
    ...change,
  };
}

export function newDelivery(subscriptionSeq: number, change: Partial<NewDelivery> = {}): NewDelivery {
  return { subscriptionSeq, claim: false, ordered: false, expiresAt: undefined, ...change };
}

export function newAttempt(change: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    startedAt: NOON,
    durationMs: 5,
    result: "success",
    trigger: "first",
    url: "https://example.com/hook",
    address: "192.0.2.1",
    requestHeaders: undefined,
    responseCode: 200,
    responseHeaders: undefined,
    responseBody: undefined,
    error: undefined,
    ...change,
  };
}

type Claimed = Pick<ClaimedDelivery, "eventSeq" | "subscriptionSeq"> &
  Partial<Pick<ClaimedDelivery, "generation" | "attemptCount">>;

/** The settlement of a successful attempt. */
export function newSettlement(of: Claimed, change: Partial<Settlement> = {}): Settlement {
  return {
    eventSeq: of.eventSeq,
    subscriptionSeq: of.subscriptionSeq,
    generation: of.generation ?? 1,
    attemptNumber: (of.attemptCount ?? 0) + 1,
    verdict: "delivered",
    nextAttemptAt: undefined,
    deadReason: undefined,
    keepsTime: false,
    isUncounted: false,
    leavesKeyQueue: true,
    claimNext: false,
    now: NOON,
    attempt: newAttempt(),
    ...change,
  };
}

/** The settlement of a failed attempt after which there is none. */
export function newDeath(of: Claimed, change: Partial<Settlement> = {}): Settlement {
  const attempt = newAttempt({ result: "failed", responseCode: 500, error: "500" });
  return newSettlement(of, { verdict: "dead", deadReason: "refused", attempt, ...change });
}

/** The settlement of a failed attempt that is made again at `nextAttemptAt`. */
export function newRetry(of: Claimed, nextAttemptAt: number, change: Partial<Settlement> = {}): Settlement {
  const attempt = newAttempt({ result: "timeout", responseCode: undefined, error: "timed out" });
  return newSettlement(of, { verdict: "retry", nextAttemptAt, attempt, ...change });
}

/** The write that makes a subscription, as far as the store looks at it. */
export function newSubscription(name: string, change: Partial<RecordKey> = {}): WriteRequest {
  const key = { kind: "subscription", tenantId: "default", id: `sub_${name}`, ...change } as const;
  const data = JSON.stringify({ name, status: "active", settings: {}, managedBy: "api" });
  const blob = new Uint8Array([1, 2, 3]);
  return { changes: [{ ...key, act: "put", expected: "absent", format: 1, data, blob }], at: NOON };
}

/** Resolves to its number. */
export async function insertSubscription(store: Store, name: string, change?: Partial<RecordKey>): Promise<number> {
  const result = await store.write(newSubscription(name, change));
  if (result.kind === "refused") throw new Error(`the subscription ${name} was refused: ${result.why}`);
  return result.seqs[0] as number;
}

export async function deleteSubscription(store: Store, seq: number): Promise<void> {
  const { records } = await store.loadRecords(["subscription"]);
  const { kind, tenantId, id, version } = records.find((record) => record.seq === seq) as StoredRecord;
  await store.write({ changes: [{ act: "delete", kind, tenantId, id, expected: version, format: 1 }], at: NOON });
}

export function newRequest(id: string, change: Partial<LoggedRequest> = {}): LoggedRequest {
  return {
    id,
    ring: "shop",
    source: "shop",
    tenantId: "default",
    receivedAt: NOON,
    facts: '{"method":"POST"}',
    outcome: "rejected",
    cause: "bad_signature",
    eventId: undefined,
    size: 2,
    body: Buffer.from("no"),
    ...change,
  };
}

export function accept(store: Store, event: NewEvent, deliveries: readonly NewDelivery[] = []): Promise<AcceptResult> {
  return new Promise((resolve) => store.accept(event, deliveries, resolve));
}

/** The sequence number of an event that must be stored. */
export async function stored(store: Store, event: NewEvent, deliveries: readonly NewDelivery[] = []): Promise<number> {
  const result = await accept(store, event, deliveries);
  if (result.kind !== "stored") throw new Error(`the event was not stored but ${result.kind}`);
  return result.eventSeq;
}

export function claim(store: Store, subscriptionSeq: number, change: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
  return new Promise((resolve) => store.claim({ subscriptionSeq, limit: 100, now: NOON, ...change }, resolve));
}

export function offer(store: Store, settlement: Settlement): Promise<SettleResult> {
  return new Promise((resolve) => store.settle(settlement, resolve));
}

export async function settle(store: Store, settlement: Settlement): Promise<Settled> {
  const result = await offer(store, settlement);
  if ("failed" in result) throw result.failed;
  return result;
}
