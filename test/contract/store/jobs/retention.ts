import { describe, expect, it } from "vitest";
import { publishKey } from "../../../../src/model/ids.ts";
import { agesOf, type Ages } from "../../../../src/model/retention.ts";
import type { NewDelivery, NewEvent } from "../../../../src/store/port/event-log.ts";
import type { RetentionRules } from "../../../../src/store/port/jobs.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  accept,
  change,
  commit,
  countChanged,
  listDeliveriesOf,
  loadBody,
  newAttempt,
  newDeath,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  setTime,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { DEDUPE_HORIZON_MS, inFreshPlace, insertLane, type StoreHarness } from "../harness.ts";

const DAY_MS = 86_400_000;
const LATER = NOON + 31 * DAY_MS;

const keep = (ages: Partial<Ages> = {}, tenants: RetentionRules["tenants"] = []): RetentionRules => ({
  gateway: { ...agesOf({ days: 30 }), ...ages },
  tenants,
});

/** A walk from the oldest event to the end. */
async function prune(store: Store, wall: number, rules = keep(), maxRows = 500) {
  const sum = { removed: 0, deliveries: 0, answers: 0, bytes: 0 };
  let afterSeq = 0;
  for (let isEnd = false; !isEnd;) {
    const done = await store.jobs.prune({ of: "events", afterSeq, maxRows, rules, wall });
    sum.removed += done.removed;
    sum.deliveries += done.deliveries;
    sum.answers += done.answers;
    sum.bytes += done.bytes;
    ({ afterSeq, isEnd } = done);
  }
  return sum;
}

/** Each delivered by the first attempt. */
async function delivered(store: Store, lane: number, change: Partial<NewEvent> = {}): Promise<number> {
  const eventSeq = await stored(store, newEvent(change), [newDelivery(lane, { claim: true })]);
  const attempt = newAttempt({}, { facts: "{}", answer: Buffer.from("thanks") });
  await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }, { attempt }));
  return eventSeq;
}

async function dead(store: Store, lane: number, diedAt: number, change: Partial<NewDelivery> = {}): Promise<number> {
  const eventSeq = await stored(store, newEvent(), [newDelivery(lane, { claim: true, ...change })]);
  const attempt = newAttempt({ startedAt: diedAt - 5, result: "failed", error: "500" }, { code: 500 });
  setTime(store, diedAt);
  await settle(store, newDeath({ eventSeq, subscriptionSeq: lane }, { attempt, leavesKeyQueue: false }));
  return eventSeq;
}

async function seqsOf(store: Store): Promise<number[]> {
  const found: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.reads.listEvents({}, { limit: 7, cursor });
    found.push(...page.rows.map(({ seq }) => seq));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found.reverse();
}

/** Rows against counters: what was deleted is counted beside them. */
async function imbalance(store: Store) {
  const { deliveries, events } = await store.reads.loadCounters();
  const rows = await store.reads.listDeliveries({}, { limit: 100_000, cursor: undefined });
  const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
  return {
    open: await store.reads.findImbalance(),
    deliveries: sum(deliveries.map(({ created, pruned }) => created - pruned)) - rows.rows.length,
    dead: sum(deliveries.map(({ deadLetters }) => deadLetters)) - rows.rows.filter((d) => d.state === "dead").length,
    events: sum(events.map(({ accepted, pruned }) => accepted - pruned)) - (await seqsOf(store)).length,
  };
}
const BALANCED = { open: 0, deliveries: 0, dead: 0, events: 0 };

export function retentionContract(harness: StoreHarness): void {
  describe("retention", () => {
    it("deletes what has ended and is older, with all that belongs to it, and nothing else", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const large = Buffer.alloc(40_000, "x");
        const old = await delivered(store, lane, { body: large });
        const unmatched = await stored(store, newEvent());
        const young = await delivered(store, lane, { receivedAt: NOON + 2 * DAY_MS });
        expect(await prune(store, LATER - 2 * DAY_MS)).toMatchObject({ removed: 0 });
        expect(await prune(store, LATER)).toEqual({ removed: 2, deliveries: 1, answers: 0, bytes: 40_002 });
        expect(await seqsOf(store)).toEqual([young]);
        const key = { eventSeq: old, subscriptionSeq: lane };
        expect([await loadBody(store, old), await loadBody(store, unmatched)]).toEqual([undefined, undefined]);
        expect(await store.reads.findDelivery(key)).toBeUndefined();
        expect(await store.reads.listAttempts(key)).toEqual([]);
        expect(await store.reads.loadTenantUsage(["default"])).toMatchObject([{ storedBytes: 2, openDeliveries: 0 }]);
        expect(await imbalance(store)).toEqual(BALANCED);
        const { deliveries, events } = await store.reads.loadCounters();
        expect(deliveries[0]).toMatchObject({ created: 2, delivered: 2, attempts: 2, pruned: 1 });
        expect(events[0]).toMatchObject({ accepted: 3, unmatched: 1, pruned: 2 });
        // Without any time everything stays.
        expect(await prune(store, LATER * 2, { gateway: agesOf({ days: 0 }), tenants: [] })).toMatchObject({
          removed: 0,
        });
      }));

    it("never deletes what is open: waiting, being sent, not fanned out, or in the way of its ordering key", () =>
      inFreshPlace(harness, async ({ store }) => {
        const [lane, ordered] = [await insertLane(store), await insertLane(store)];
        const seqs = [
          await stored(store, newEvent(), [newDelivery(lane)]),
          await stored(store, newEvent(), [newDelivery(lane, { claim: true })]),
          await stored(store, newEvent({ fanOutCursor: lane })),
          await dead(store, ordered, NOON, { ordered: true }),
          await stored(store, newEvent(), [newDelivery(ordered, { ordered: true })]),
        ];
        expect(await prune(store, LATER)).toMatchObject({ removed: 0, deliveries: 0 });
        expect(await seqsOf(store)).toEqual(seqs);
        // The control: the same things go once they have ended.
        await store.events.fanOut(seqs[2] as number, [], undefined);
        await countChanged(store, ordered, { act: "skip_dead_heads" }, NOON);
        await countChanged(store, lane, { act: "cancel" }, NOON);
        await countChanged(store, ordered, { act: "cancel" }, NOON);
        expect(await prune(store, LATER + DAY_MS)).toMatchObject({ removed: 5, deliveries: 4 });
        expect(await imbalance(store)).toEqual(BALANCED);
      }));

    it("leaves what ended within the last hour, for attempts that come late", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        await stored(store, newEvent(), [newDelivery(lane)]);
        await countChanged(store, lane, { act: "cancel" }, LATER - 60_000);
        expect(await prune(store, LATER)).toMatchObject({ removed: 0 });
        expect(await prune(store, LATER + 3_600_000)).toMatchObject({ removed: 1 });
      }));

    // shows: Q29
    it("deletes an event whose message is in its queue only long after it ended, for then the message has gone", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        await delivered(store, lane, { heldGeneration: 1 });
        await stored(store, newEvent({ heldGeneration: 1 }));
        const open = await stored(store, newEvent({ heldGeneration: 1 }), [newDelivery(lane)]);
        const goneAt = NOON + DEDUPE_HORIZON_MS + 90 * DAY_MS;
        expect(await prune(store, goneAt - DAY_MS)).toMatchObject({ removed: 0 });
        expect(await prune(store, goneAt + DAY_MS)).toMatchObject({ removed: 2, deliveries: 1 });
        expect(await seqsOf(store)).toEqual([open]);
        expect(await imbalance(store)).toEqual(BALANCED);
        // Whoever keeps everything keeps these as well.
        await delivered(store, lane, { heldGeneration: 1 });
        const forever = { gateway: agesOf({ days: 0 }), tenants: [] };
        expect(await prune(store, goneAt * 2, forever)).toMatchObject({ removed: 0 });
      }));

    it("counts the time of dead letters from their death, and keeps the event with them", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const died = await dead(store, lane, NOON + 20 * DAY_MS);
        const other = await delivered(store, lane);
        const rules = keep({ deadLetters: 60 * DAY_MS });
        expect(await prune(store, LATER, rules)).toMatchObject({ removed: 1 });
        expect(await seqsOf(store)).toEqual([died]);
        expect(other).not.toBe(died);
        expect((await store.reads.loadCounters()).deliveries[0]).toMatchObject({ dead: 1, deadLetters: 1 });
        expect(await prune(store, NOON + 79 * DAY_MS, rules)).toMatchObject({ removed: 0 });
        expect(await prune(store, NOON + 81 * DAY_MS, rules)).toMatchObject({ removed: 1 });
        expect((await store.reads.loadCounters()).deliveries[0]).toMatchObject({ dead: 1, deadLetters: 0 });
        expect((await store.reads.listDeadLetters({}, { limit: 10, cursor: undefined })).rows).toEqual([]);
        expect(await imbalance(store)).toEqual(BALANCED);
      }));

    it("keeps tenants apart, each with its own times and bytes", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const seqs: number[] = [];
        for (const tenantId of ["short", "long", "other", "short", "long"]) {
          seqs.push(await delivered(store, lane, { tenantId }));
        }
        const rules = keep({}, [
          ["short", agesOf({ days: 1 }, keep().gateway)],
          ["long", agesOf({ days: 0 }, keep().gateway)],
        ]);
        expect(await prune(store, NOON + 2 * DAY_MS, rules)).toMatchObject({ removed: 2 });
        expect(await seqsOf(store)).toEqual([seqs[1], seqs[2], seqs[4]]);
        expect(await prune(store, LATER, rules)).toMatchObject({ removed: 1 });
        expect(await seqsOf(store)).toEqual([seqs[1], seqs[4]]);
        const usage = await store.reads.loadTenantUsage(["short", "long", "other"]);
        expect(usage.map(({ storedBytes }) => storedBytes)).toEqual([0, 4, 0]);
        // Whoever has no rule of its own any more follows the gateway.
        expect(await prune(store, LATER)).toMatchObject({ removed: 2 });
      }));

    it("erases answers before their event goes, and leaves the rest of the attempt", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await delivered(store, lane);
        const key = { eventSeq, subscriptionSeq: lane };
        const rules = keep({ answers: DAY_MS });
        expect(await prune(store, NOON + DAY_MS - 1, rules)).toMatchObject({ removed: 0, answers: 0 });
        expect((await store.reads.listAttempts(key))[0]?.record.answer).toBeDefined();
        expect(await prune(store, NOON + 2 * DAY_MS, rules)).toMatchObject({ removed: 0, answers: 1 });
        const [attempt] = await store.reads.listAttempts(key);
        expect(attempt).toMatchObject({
          number: 1,
          record: { code: 200, facts: undefined, answer: undefined },
        });
        expect(await prune(store, NOON + 2 * DAY_MS, rules)).toMatchObject({ answers: 0 });
      }));

    it("knows ids for as long as ids are known, and no longer, however soon the event goes", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        const given = (id: string, receivedAt: number) =>
          newEvent({ id, givenId: true, dedupeKey: publishKey(id), replayKey: `replay-${id}`, receivedAt });
        const rules = keep({ events: DAY_MS });
        await stored(store, given("a", NOON));
        expect(await prune(store, NOON + 2 * DAY_MS, rules)).toMatchObject({ removed: 1 });
        expect(await store.reads.findEvent("a", "default")).toBeUndefined();
        expect(await accept(store, given("a", NOON + 3 * DAY_MS))).toMatchObject({ kind: "duplicate", eventId: "a" });
        const again = await place.kill();
        expect(await accept(again, given("a", NOON + DEDUPE_HORIZON_MS))).toMatchObject({ kind: "duplicate" });
        await prune(again, NOON + DEDUPE_HORIZON_MS + 1, rules);
        expect(await accept(again, given("a", NOON + 10))).toMatchObject({ kind: "stored" });
        // Longer than the horizon: the id went with the event, and another of that name is not touched by the first.
        const known = { id: "b", givenId: true, dedupeKey: publishKey("b") };
        await stored(again, newEvent(known));
        await stored(again, newEvent({ ...known, receivedAt: NOON + DEDUPE_HORIZON_MS + DAY_MS }));
        await prune(again, LATER, keep());
        expect((await again.reads.findEvent("b", "default"))?.receivedAt).toBe(NOON + DEDUPE_HORIZON_MS + DAY_MS);
      }));

    it("gives no number twice, also when everything went and the store was opened again", () =>
      inFreshPlace(harness, async (place) => {
        const last = await stored(place.store, newEvent());
        expect(await prune(place.store, LATER)).toMatchObject({ removed: 1 });
        const store = await place.reopen();
        expect(await stored(store, newEvent())).toBeGreaterThan(last);
      }));

    it("finds what is left exactly once, and replays walk past what is gone", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const kept: number[] = [];
        const all = Array.from({ length: 3000 }, (_, i) => i);
        const seqs = await Promise.all(
          all.map((i) => stored(store, newEvent({ tenantId: i % 500 === 3 ? "kept" : "default", type: `t.${i % 3}` }))),
        );
        for (const i of all) if (i % 500 === 3) kept.push(seqs[i] as number);
        const young = await delivered(store, lane, { receivedAt: LATER - DAY_MS, type: "t.0" });
        const rules = keep({}, [["kept", agesOf({ days: 0 })]]);
        expect(await prune(store, LATER, rules, 100)).toMatchObject({ removed: 3000 - kept.length });
        expect(await seqsOf(store)).toEqual([...kept, young]);
        const ofTenant = await store.reads.listEvents({ tenantId: "kept" }, { limit: 100, cursor: undefined });
        expect(ofTenant.rows.map(({ seq }) => seq)).toEqual(kept.toReversed());
        const gone = await store.reads.listEvents(
          { tenantId: "default", until: LATER - 2 * DAY_MS },
          { limit: 9, cursor: undefined },
        );
        expect([gone.rows, gone.nextCursor]).toEqual([[], undefined]);
        const walk = { over: "events", include: "missing", upToSeq: young, subscriptionSeq: lane, now: LATER } as const;
        const page = await store.reads.walk(
          walk,
          { eventSeq: 0, subscriptionSeq: 0 },
          { limit: 100, maxScanned: 1000 },
        );
        expect(page.found.map(({ eventSeq }) => eventSeq)).toEqual(kept);
        const first = { eventSeq: seqs[0] as number, subscriptionSeq: lane };
        expect(
          await change(store, first, { act: "replay", ordered: false, expiresAt: undefined }, LATER),
        ).toMatchObject({
          refused: { code: "not_found" },
        });
        expect(await store.reads.findEventSpan(0, LATER)).toMatchObject({ oldestReceivedAt: NOON });
        expect(await imbalance(store)).toEqual(BALANCED);
      }));

    it("takes an event with more rows than a step may change away in parts, also over a crash", () =>
      inFreshPlace(harness, async (place) => {
        const lanes = await Promise.all(Array.from({ length: 60 }, () => insertLane(place.store)));
        const event = newEvent();
        const eventSeq = await stored(
          place.store,
          event,
          lanes.map((lane) => newDelivery(lane, { claim: true })),
        );
        await Promise.all(
          lanes.map((subscriptionSeq) => settle(place.store, newSettlement({ eventSeq, subscriptionSeq }))),
        );
        const step = { afterSeq: 0, maxRows: 25, rules: keep(), wall: LATER };
        const first = await place.store.jobs.prune({ ...step, of: "events" });
        expect([first.removed, first.isEnd]).toEqual([0, false]);
        const store = await place.kill();
        expect(await imbalance(store)).toEqual(BALANCED);
        expect(await prune(store, LATER, keep(), 25)).toMatchObject({ removed: 1 });
        expect(await imbalance(store)).toEqual(BALANCED);
        expect(await listDeliveriesOf(store, eventSeq)).toEqual([]);
        expect((await store.reads.loadCounters()).deliveries[0]).toMatchObject({ created: 1, delivered: 1, pruned: 1 });
      }));

    it("deletes old requests, of each tenant by its own time", () =>
      inFreshPlace(harness, async ({ store }) => {
        store.events.logRequest(newRequest("req_old"));
        store.events.logRequest(newRequest("req_kept", { tenantId: "kept" }));
        store.events.logRequest(newRequest("req_young", { receivedAt: LATER - DAY_MS }));
        const rules = keep({}, [["kept", agesOf({ days: 0 })]]);
        const step = { afterSeq: 0, maxRows: 500, rules, wall: LATER };
        await commit(store);
        expect(await store.jobs.prune({ ...step, of: "requests" })).toMatchObject({ removed: 1, isEnd: true });
        const { rows } = await store.reads.listRequests({ source: undefined }, { limit: 9, cursor: undefined });
        expect(rows.map(({ id }) => id)).toEqual(["req_young", "req_kept"]);
      }));
  });
}
