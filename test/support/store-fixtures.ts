import type { Accepted } from "../../src/model/accepted.ts";
import type { Clock } from "../../src/model/clock.ts";
import { createIdSource } from "../../src/model/ids.ts";
import type { KindRecord } from "../../src/model/outcome.ts";
import { createSeededRandom } from "./seeded-random.ts";
import type { LoggedRequest, NewDelivery, NewEvent } from "../../src/store/port/event-log.ts";
import type { NewReplay, Pruned, PruneStep, ReplayRow } from "../../src/store/port/jobs.ts";
import type {
  AttemptRecord,
  ClaimResult,
  ClaimedDelivery,
  DeliveryChange,
  DeliveryKey,
  LaneChange,
  LaneChanged,
  Recovered,
  SentMark,
  SettleResult,
  Settled,
  Settlement,
} from "../../src/store/port/lanes.ts";
import type { RecordKey, StoredRecord, WriteRequest } from "../../src/store/port/records.ts";
import type { Store } from "../../src/store/store.ts";

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

export function newAttempt(
  change: Partial<Omit<AttemptRecord, "record">> = {},
  record: Partial<KindRecord> = {},
): AttemptRecord {
  return {
    startedAt: NOON,
    durationMs: 5,
    result: "success",
    trigger: "first",
    error: undefined,
    ...change,
    record: {
      place: "https://example.com/hook",
      address: "192.0.2.1",
      sent: undefined,
      code: 200,
      facts: undefined,
      answer: undefined,
      ...record,
    },
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
    attempt: newAttempt(),
    ...change,
  };
}

/** The settlement of a failed attempt after which there is none. */
export function newDeath(of: Claimed, change: Partial<Settlement> = {}): Settlement {
  const attempt = newAttempt({ result: "failed", error: "500" }, { code: 500 });
  return newSettlement(of, { verdict: "dead", deadReason: "refused", attempt, ...change });
}

/** The settlement of a failed attempt that is made again at `nextAttemptAt`. */
export function newRetry(of: Claimed, nextAttemptAt: number, change: Partial<Settlement> = {}): Settlement {
  const attempt = newAttempt({ result: "timeout", error: "timed out" }, { code: undefined });
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
  const result = await store.records.write(newSubscription(name, change));
  if (result.kind === "rejected") throw new Error(`the subscription ${name} was refused: ${result.why}`);
  return result.seqs[0] as number;
}

export async function deleteSubscription(store: Store, seq: number): Promise<void> {
  const { records } = await store.records.load(["subscription"]);
  const { kind, tenantId, id, version } = records.find((record) => record.seq === seq) as StoredRecord;
  await store.records.write({
    changes: [{ act: "delete", kind, tenantId, id, expected: version, format: 1 }],
    at: NOON,
  });
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

export function accept(store: Store, event: NewEvent, deliveries: readonly NewDelivery[] = []): Promise<Accepted> {
  return new Promise((resolve) => store.events.accept(event, deliveries, resolve));
}

/** The sequence number of an event that must be stored. */
export async function stored(store: Store, event: NewEvent, deliveries: readonly NewDelivery[] = []): Promise<number> {
  const result = await accept(store, event, deliveries);
  if (result.kind !== "stored") throw new Error(`the event was not stored but ${result.kind}`);
  return result.eventSeq;
}

/** The clock of a store under test: it stands still until it is set. */
export interface StandingClock extends Clock {
  /** The same for others, unless their clock was set to another time. */
  set(time: number, wall?: number): void;
}

export function createStandingClock(time = NOON): StandingClock {
  let [current, wall] = [time, time];
  const setTimer = () => ({ cancel: () => undefined });
  const set = (to: number, toWall = to) => void ([current, wall] = [to, toWall]);
  return { now: () => current, wall: () => wall, setTimer, set };
}

/** What is asked of the store from now on happens then. Its clock must be one that stands still. */
export function setTime({ clock }: Pick<Store, "clock">, now: number, wall = now): void {
  if (!("set" in clock)) throw new Error("the clock of this store goes by itself");
  (clock as StandingClock).set(now, wall);
}

/** Resolves when everything that was asked for before is written. */
export function commit(store: Store): Promise<void> {
  return store.lanes.release([]);
}

export function change(store: Store, key: DeliveryKey, wanted: DeliveryChange, now: number) {
  setTime(store, now);
  return store.lanes.change(key, wanted);
}

export function changeLane(store: Store, lane: number, wanted: LaneChange, now: number): Promise<LaneChanged> {
  setTime(store, now);
  return store.lanes.changeLane(lane, wanted);
}

export async function countChanged(store: Store, lane: number, wanted: LaneChange, now: number): Promise<number> {
  return (await changeLane(store, lane, wanted, now)).changed;
}

export function expire(store: Store, now: number) {
  setTime(store, now);
  return store.lanes.expire();
}

export function recover(store: Store, sent: readonly SentMark[], now: number): Promise<Recovered> {
  setTime(store, now);
  return store.lanes.recover(sent);
}

/** By the counters, which must be true (`findImbalance`). */
export async function countOpen(store: Pick<Store, "reads">): Promise<number> {
  const { deliveries } = await store.reads.loadCounters();
  return deliveries.reduce((sum, one) => sum + one.created - one.delivered - one.dead - one.cancelled, 0);
}

export async function beginReplay(store: Store, replay: NewReplay): Promise<ReplayRow> {
  const result = await store.records.write({ changes: [], replay, at: NOON });
  if (result.kind === "rejected" || result.replay === undefined) throw new Error(`the replay ${replay.id} was refused`);
  return result.replay;
}

export async function listDeliveriesOf(store: Pick<Store, "reads">, eventSeq: number) {
  return (await store.reads.listDeliveries({ eventSeq }, { limit: 1000, cursor: undefined })).rows;
}

export async function loadBody(store: Pick<Store, "reads">, eventSeq: number): Promise<Uint8Array | undefined> {
  return (await store.reads.loadEvent(eventSeq))?.body;
}

export async function loadRequest(store: Pick<Store, "reads">, eventSeq: number): Promise<string | undefined> {
  return (await store.reads.loadEvent(eventSeq))?.request;
}

export function prune(store: Store, of: "events" | "requests", step: AgeStep): Promise<Pruned> {
  return store.jobs.prune({ ...step, of });
}

type AgeStep = Omit<Extract<PruneStep, { afterSeq: number }>, "of">;

export function claim(
  store: Store,
  subscriptionSeq: number,
  { now = NOON, limit = 100 }: { now?: number; limit?: number } = {},
): Promise<ClaimResult> {
  setTime(store, now);
  return new Promise((resolve) => store.lanes.claim({ subscriptionSeq, limit }, resolve));
}

export function offer(store: Store, settlement: Settlement): Promise<SettleResult> {
  return new Promise((resolve) => store.lanes.settle(settlement, resolve));
}

export async function settle(store: Store, settlement: Settlement): Promise<Settled> {
  const result = await offer(store, settlement);
  if ("failed" in result) throw result.failed;
  return result;
}
