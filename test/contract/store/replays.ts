import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DeadReason } from "../../../src/domain/delivery.ts";
import { orThrow } from "../../../src/domain/refusal.ts";
import type { NewReplay, ReplayItem, ReplayStep, ReplayWalk } from "../../../src/store/port/jobs.ts";
import type { DeliveryKey } from "../../../src/store/port/lanes.ts";
import type { StoredDelivery } from "../../../src/store/port/reads.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  NOON,
  beginReplay,
  change,
  claim,
  countChanged,
  deleteSubscription,
  newDeath,
  newDelivery,
  newEvent,
  newSettlement,
  setTime,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "./harness.ts";

let lastId = 0;

function newReplay(change: Partial<NewReplay> = {}): NewReplay {
  return {
    id: `rpl_${++lastId}`,
    tenantId: "default",
    kind: "dead_letters",
    filter: {},
    subscriptionSeq: undefined,
    laneSeq: undefined,
    afterSeq: 0,
    upToSeq: 1_000_000,
    cursor: "0",
    total: 1,
    totalIsExact: true,
    createdAt: NOON,
    ...change,
  };
}

function newStep(id: string, change: Partial<ReplayStep> = {}): ReplayStep {
  return { id, cursorFrom: "0", cursorTo: "1", isEnd: false, failed: 0, ...change };
}

function toItem(key: DeliveryKey, change: Partial<ReplayItem> = {}): ReplayItem {
  const { eventSeq, subscriptionSeq } = key;
  return { eventSeq, subscriptionSeq, isMissing: false, ordered: false, expiresAt: undefined, ...change };
}

const FROM_THE_START = { eventSeq: 0, subscriptionSeq: 0 };

/** Every page of a walk. */
async function walkAll(
  store: Store,
  walk: Partial<ReplayWalk>,
  page = { limit: 7, maxScanned: 11 },
): Promise<string[]> {
  const found: string[] = [];
  let after: DeliveryKey = FROM_THE_START;
  for (;;) {
    const whole: ReplayWalk = { over: "dead", upToSeq: 1_000_000, now: NOON, ...walk };
    const next = await store.reads.walk(whole, after, page);
    expect(next.found.length).toBeLessThanOrEqual(page.limit);
    found.push(...next.found.map((one) => `${one.eventSeq}.${one.subscriptionSeq}${one.isMissing ? " new" : ""}`));
    if (next.isEnd) return found;
    after = next.after;
  }
}

export function replaysContract(harness: StoreHarness): void {
  describe("jobs over many deliveries", () => {
    const shared = useStore(harness);

    async function pending(lane: number, change: object = {}, ordered = false): Promise<DeliveryKey> {
      const eventSeq = await stored(shared.store, newEvent(change), [newDelivery(lane, { ordered })]);
      return { eventSeq, subscriptionSeq: lane };
    }
    async function dead(lane: number, change: object = {}, deadReason: DeadReason = "refused"): Promise<DeliveryKey> {
      const key = await pending(lane, change);
      await claim(shared.store, lane);
      await settle(shared.store, newDeath(key, { deadReason }));
      return key;
    }
    async function countersOf(lane: number) {
      const { deliveries } = await shared.store.reads.loadCounters();
      return deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane);
    }
    const stateOf = async (key: DeliveryKey) => (await shared.store.reads.findDelivery(key))?.state;

    it("are kept, listed newest first, and found by their id", async () => {
      const tenantId = `t${++lastId}`;
      const first = await beginReplay(shared.store, newReplay({ tenantId, filter: { reason: "gone" } }));
      const second = await beginReplay(shared.store, newReplay({ tenantId, kind: "cancel" }));
      expect(first).toMatchObject({ status: "running", filter: { reason: "gone" }, done: 0, startedAt: NOON });
      expect(await shared.store.jobs.findReplay(first.id)).toEqual(first);
      const page = await shared.store.jobs.listReplays({ tenantId }, { limit: 1, cursor: undefined });
      expect(page.rows).toEqual([second]);
      const rest = await shared.store.jobs.listReplays({ tenantId }, { limit: 1, cursor: page.nextCursor });
      expect([rest.rows, rest.nextCursor]).toEqual([[first], undefined]);
      await shared.store.jobs.setReplayStatus(second.id, "paused");
      const paused = await shared.store.jobs.listReplays(
        { tenantId, status: "paused" },
        { limit: 5, cursor: undefined },
      );
      expect(paused.rows.map(({ id }) => id)).toEqual([second.id]);
      const all = { limit: 1000, cursor: undefined };
      const running = (await shared.store.jobs.listReplays({ status: "running" }, all)).rows;
      expect(running.map(({ id }) => id)).toContain(first.id);
      expect(running.map(({ id }) => id)).not.toContain(second.id);
      expect(await beginReplay(shared.store, newReplay({ id: first.id, total: 99 }))).toEqual(first);
    });

    it("pause, go on and end; what has ended stays as it is", async () => {
      const { id } = await beginReplay(shared.store, newReplay());
      const set = (status: "running" | "paused" | "cancelled") => shared.store.jobs.setReplayStatus(id, status);
      setTime(shared.store, NOON + 5);
      expect(await set("paused")).toMatchObject({ status: "paused", completedAt: undefined });
      expect(await set("running")).toMatchObject({ status: "running" });
      expect(await set("cancelled")).toMatchObject({ status: "cancelled", completedAt: NOON + 5 });
      expect(await set("cancelled")).toMatchObject({ completedAt: NOON + 5 });
      expect(await set("running")).toMatchObject({ refused: { code: "conflict" } });
      expect(await shared.store.jobs.setReplayStatus("rpl_none", "paused")).toMatchObject({
        refused: { code: "not_found" },
      });
      expect(await shared.store.jobs.stepReplay(newStep("rpl_none"), [])).toMatchObject({
        refused: { code: "not_found" },
      });
    });

    it("open dead letters again and move on in one step, which has no effect a second time", async () => {
      const lane = await shared.newLane();
      const keys = [await dead(lane), await dead(lane)];
      const { id } = await beginReplay(shared.store, newReplay({ total: 2 }));
      const step = newStep(id);
      const items = keys.map((key) => toItem(key));
      const first = orThrow(await shared.store.jobs.stepReplay(step, items));
      expect(first).toMatchObject({ changed: [true, true], replay: { cursor: "1", done: 2, status: "running" } });
      expect(await shared.store.jobs.stepReplay(step, items)).toMatchObject({
        changed: undefined,
        replay: { done: 2 },
      });
      const { claimed } = await claim(shared.store, lane, { now: NOON + 1 });
      expect(claimed).toMatchObject(keys.map((key) => ({ ...key, generation: 2, trigger: "replay" })));
      expect(await countersOf(lane)).toMatchObject({ created: 2, dead: 0 });
      const end = newStep(id, { cursorFrom: "1", cursorTo: "2", isEnd: true, failed: 1 });
      const last = orThrow(await shared.store.jobs.stepReplay(end, [toItem(keys[0] as DeliveryKey)]));
      expect(last).toMatchObject({
        changed: [false],
        replay: { status: "completed", done: 2, skipped: 1, failed: 1, total: 4, completedAt: NOON + 1 },
      });
    });

    it("do nothing while they are paused", async () => {
      const key = await dead(await shared.newLane());
      const { id } = await beginReplay(shared.store, newReplay());
      await shared.store.jobs.setReplayStatus(id, "paused");
      const { changed, replay } = orThrow(await shared.store.jobs.stepReplay(newStep(id), [toItem(key)]));
      expect([changed, replay.cursor, await stateOf(key)]).toEqual([undefined, "0", "dead"]);
    });

    it("let fresh events go before what they opened", async () => {
      const lane = await shared.newLane();
      const old = await dead(lane, { priority: "critical" });
      const { id } = await beginReplay(shared.store, newReplay());
      await shared.store.jobs.stepReplay(newStep(id), [toItem(old)]);
      const fresh = await pending(lane, { priority: "low", receivedAt: NOON + 20_000 });
      const { claimed } = await claim(shared.store, lane, { now: NOON + 20_000 });
      expect(claimed.map(({ eventSeq }) => eventSeq)).toEqual([fresh.eventSeq, old.eventSeq]);
    });

    it("open what was delivered or cancelled only when whole events are replayed", async () => {
      const lane = await shared.newLane();
      const delivered = await pending(lane);
      await claim(shared.store, lane);
      await settle(shared.store, newSettlement(delivered));
      const cancelled = await pending(lane);
      await change(shared.store, cancelled, { act: "cancel" }, NOON);
      const open = await pending(lane);
      const items = [delivered, cancelled, open].map((key) => toItem(key));
      const letters = await beginReplay(shared.store, newReplay());
      const none = orThrow(await shared.store.jobs.stepReplay(newStep(letters.id), items));
      expect(none.changed).toEqual([false, false, false]);
      const events = await beginReplay(shared.store, newReplay({ kind: "events" }));
      const both = orThrow(await shared.store.jobs.stepReplay(newStep(events.id), items));
      expect(both).toMatchObject({ changed: [true, true, false], replay: { done: 2, skipped: 1 } });
    });

    it("make deliveries that an event never had, once, and not before they are due", async () => {
      const [old, lane] = [await shared.newLane(), await shared.newLane()];
      const { eventSeq } = await pending(old, { dueAt: NOON + 500 });
      const key = { eventSeq, subscriptionSeq: lane };
      const { id } = await beginReplay(shared.store, newReplay({ kind: "recover" }));
      const missing = toItem(key, { isMissing: true });
      const made = orThrow(await shared.store.jobs.stepReplay(newStep(id), [missing, missing]));
      expect(made).toMatchObject({ changed: [true, false], replay: { done: 1, skipped: 1 } });
      expect((await claim(shared.store, lane)).claimed).toEqual([]);
      const { claimed } = await claim(shared.store, lane, { now: NOON + 500 });
      expect(claimed).toMatchObject([{ eventSeq, trigger: "replay", generation: 1 }]);
      const [event] = (await shared.store.reads.listEvents({}, { limit: 1, cursor: undefined })).rows;
      expect(event).toMatchObject({ seq: eventSeq, deliveryCount: 2 });
      expect(await countersOf(lane)).toMatchObject({ created: 1 });
    });

    it("open nothing of a subscription that was deleted", async () => {
      const lane = await shared.newLane();
      const key = await dead(lane);
      await deleteSubscription(shared.store, lane);
      const { id } = await beginReplay(shared.store, newReplay());
      const { replay } = orThrow(await shared.store.jobs.stepReplay(newStep(id), [toItem(key)]));
      expect([replay.done, replay.failed, await stateOf(key)]).toEqual([0, 1, "dead"]);
    });

    it("cancel what is open, also while it is sent, and let the next of an ordering key go", async () => {
      const lane = await shared.newLane();
      const [sent, next, other] = [
        await pending(lane, { orderingKey: "k" }, true),
        await pending(lane, { orderingKey: "k" }, true),
        await pending(lane, { orderingKey: "k" }, true),
      ];
      await claim(shared.store, lane);
      const { id } = await beginReplay(shared.store, newReplay({ kind: "cancel" }));
      const { changed } = orThrow(await shared.store.jobs.stepReplay(newStep(id), [toItem(sent), toItem(other)]));
      expect([changed, await stateOf(sent), await stateOf(other)]).toEqual([[true, true], "cancelled", "cancelled"]);
      expect((await claim(shared.store, lane)).claimed).toMatchObject([next]);
    });

    it("purge dead letters: counted as cancelled, without attempts, and out of the way of their key", async () => {
      const lane = await shared.newLane();
      const [head, next] = [
        await pending(lane, { orderingKey: "k" }, true),
        await pending(lane, { orderingKey: "k" }, true),
      ];
      await claim(shared.store, lane);
      await settle(shared.store, newDeath(head, { leavesKeyQueue: false }));
      expect((await claim(shared.store, lane)).claimed).toEqual([]);
      const { id } = await beginReplay(shared.store, newReplay({ kind: "purge" }));
      const { changed } = orThrow(await shared.store.jobs.stepReplay(newStep(id), [toItem(head), toItem(next)]));
      expect(changed).toEqual([true, false]);
      expect(await shared.store.reads.findDelivery(head)).toMatchObject({
        state: "cancelled",
        lastError: "purged from the dead letters",
      });
      expect(await shared.store.reads.listAttempts(head)).toEqual([]);
      expect(await countersOf(lane)).toMatchObject({ created: 2, dead: 0, cancelled: 1 });
      expect((await claim(shared.store, lane)).claimed).toMatchObject([next]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
      // Its event is still there, and with it what a replay needs.
      await change(shared.store, head, { act: "retry" }, NOON);
      expect(await stateOf(head)).toBe("pending");
    });

    it("count what they opened until it is tried, for the lanes that are asked for", async () => {
      const [lane, other] = [await shared.newLane(), await shared.newLane()];
      const keys = [await dead(lane), await dead(lane), await dead(other)];
      await pending(lane);
      const { id } = await beginReplay(shared.store, newReplay());
      await shared.store.jobs.stepReplay(
        newStep(id),
        keys.map((key) => toItem(key)),
      );
      expect(await shared.store.reads.countReopened([other, lane, 999], 100)).toEqual([1, 2, 0]);
      expect(await shared.store.reads.countReopened([lane], 1)).toEqual([1]);
      await claim(shared.store, lane, { now: NOON + 1 });
      expect(await shared.store.reads.countReopened([lane], 100)).toEqual([2]);
      await settle(shared.store, newDeath({ ...(keys[0] as DeliveryKey), generation: 2, attemptCount: 1 }));
      expect(await shared.store.reads.countReopened([lane], 100)).toEqual([1]);
    });

    it("count what is cancelled of a deleted subscription's lane, whoever cancels it", async () => {
      const lane = await shared.newLane();
      for (let n = 0; n < 3; n++) await pending(lane);
      const { id } = await beginReplay(shared.store, newReplay({ kind: "cancel", laneSeq: lane, total: 2 }));
      expect(await countChanged(shared.store, lane, { act: "cancel" }, NOON)).toBe(3);
      expect(await shared.store.jobs.findReplay(id)).toMatchObject({ done: 3, total: 3, status: "running" });
      const done = await shared.store.jobs.setReplayStatus(id, "completed");
      expect(done).toMatchObject({ done: 3, total: 3, completedAt: NOON });
    });

    it("walk over dead letters in the order of their events, by what is asked for", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "w" }), await shared.newLane({ tenantId: "w" })];
      const first = await dead(lane, { tenantId: "w", type: "a.b" });
      const second = await dead(other, { tenantId: "w", type: "a.c" }, "gone");
      const third = await dead(lane, { tenantId: "w", type: "a.c" }, "expired");
      const names = (...keys: DeliveryKey[]) => keys.map((key) => `${key.eventSeq}.${key.subscriptionSeq}`);
      const walk = (change: Partial<ReplayWalk>) => walkAll(shared.store, { tenantId: "w", ...change });
      expect(await walk({})).toEqual(names(first, second, third));
      expect(await walk({ subscriptionSeq: lane })).toEqual(names(first, third));
      expect(await walk({ type: "a.c" })).toEqual(names(second, third));
      expect(await walk({ reason: "gone" })).toEqual(names(second));
      expect(await walk({ upToSeq: second.eventSeq })).toEqual(names(first, second));
      const { completedAt = 0 } = (await shared.store.reads.findDelivery(first)) as StoredDelivery;
      expect(await walk({ since: completedAt, until: completedAt + 1 })).toHaveLength(3);
      expect(await walk({ until: completedAt })).toEqual([]);
    });

    it("find for one subscription what failed, what it never had, and what may be sent again", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "m" }), await shared.newLane({ tenantId: "m" })];
      const failed = await dead(lane, { tenantId: "m" });
      const delivered = await pending(lane, { tenantId: "m" });
      await claim(shared.store, lane);
      await settle(shared.store, newSettlement(delivered));
      const open = await pending(lane, { tenantId: "m" });
      const missing = await pending(other, { tenantId: "m", receivedAt: NOON + 10 });
      await pending(other, { tenantId: "m", expiresAt: NOON });
      const walk = (include: ReplayWalk["include"], change: Partial<ReplayWalk> = {}) =>
        walkAll(shared.store, { over: "events", tenantId: "m", subscriptionSeq: lane, include, ...change });
      const had = `${failed.eventSeq}.${lane}`;
      const never = `${missing.eventSeq}.${lane} new`;
      expect(await walk("failed")).toEqual([had]);
      expect(await walk("missing")).toEqual([never]);
      expect(await walk("all")).toEqual([had, never]);
      expect(await walk("had")).toEqual([had, `${delivered.eventSeq}.${lane}`]);
      expect(await walk("any")).toEqual([had, `${delivered.eventSeq}.${lane}`, never]);
      expect(await walk("all", { until: NOON + 10 })).toEqual([had]);
      expect(await walkAll(shared.store, { over: "open", tenantId: "m", subscriptionSeq: lane })).toEqual([
        `${open.eventSeq}.${lane}`,
      ]);
      await claim(shared.store, lane);
      const pendingOnly = { over: "open", tenantId: "m", subscriptionSeq: lane, isPending: true } as const;
      expect(await walkAll(shared.store, pendingOnly)).toEqual([]);
    });

    it("find the same, however small the pages", async () => {
      const [lane, other] = [await shared.newLane({ tenantId: "p" }), await shared.newLane({ tenantId: "p" })];
      for (let n = 0; n < 30; n++) await dead(n % 3 === 0 ? lane : other, { tenantId: "p", type: `t.${n % 2}` });
      const large = { limit: 1000, maxScanned: 100_000 };
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom("dead" as const, "ended" as const, "events" as const),
          fc.constantFrom(lane, other),
          fc.option(fc.constantFrom("t.0", "t.1"), { nil: undefined }),
          fc.integer({ min: 1, max: 9 }),
          fc.integer({ min: 1, max: 9 }),
          async (over, subscriptionSeq, type, limit, maxScanned) => {
            const walk = { over, subscriptionSeq, type, tenantId: "p", include: "all" } as const;
            const whole = await walkAll(shared.store, walk, large);
            expect(await walkAll(shared.store, walk, { limit, maxScanned })).toEqual(whole);
          },
        ),
        { numRuns: 15 },
      );
    });

    it("know where the events of a time lie, even after the clock was set back", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const HOUR = 3_600_000;
        const times = [0, 1, 2, 3, 30, 60, 60 - 12, 49, 90, 120];
        const seqs: number[] = [];
        for (const hours of times) seqs.push(await stored(store, newEvent({ receivedAt: NOON + hours * HOUR })));
        const last = seqs.at(-1) as number;
        expect(await store.reads.findEventSpan(undefined, undefined)).toMatchObject({ afterSeq: 0, upToSeq: last });
        for (let from = -1; from <= 121; from += 7) {
          for (const to of [from + 1, from + 20, from + 60]) {
            const [since, until] = [NOON + from * HOUR, NOON + to * HOUR];
            const { afterSeq, upToSeq } = await store.reads.findEventSpan(since, until);
            const inTime = seqs.filter((_, i) => (times[i] as number) >= from && (times[i] as number) < to);
            expect(inTime.filter((seq) => seq <= afterSeq || seq > upToSeq)).toEqual([]);
          }
        }
        const narrow = await store.reads.findEventSpan(NOON + 119 * HOUR, undefined);
        expect(narrow.afterSeq).toBeGreaterThan(seqs[4] as number);
      });
    });

    it("are after a crash where their deliveries are", async () => {
      await inFreshPlace(harness, async (place) => {
        const lane = await insertLane(place.store);
        const keys: DeliveryKey[] = [];
        for (let n = 0; n < 6; n++) {
          const eventSeq = await stored(place.store, newEvent(), [newDelivery(lane)]);
          keys.push({ eventSeq, subscriptionSeq: lane });
        }
        const { claimed } = await claim(place.store, lane);
        for (const one of claimed) await settle(place.store, newDeath(one));
        const { id } = await beginReplay(place.store, newReplay({ total: 6 }));
        const items = keys.map((key) => toItem(key));
        await place.store.jobs.stepReplay(newStep(id), items.slice(0, 2));
        // Nobody hears of this one before the end.
        void place.store.jobs
          .stepReplay(newStep(id, { cursorFrom: "1", cursorTo: "2" }), items.slice(2, 4))
          .catch(() => 0);
        const store = await place.kill();
        const replay = await store.jobs.findReplay(id);
        const open = await Promise.all(
          keys.map(async (key) => (await store.reads.findDelivery(key))?.state === "pending"),
        );
        expect(open.filter(Boolean)).toHaveLength(replay?.done ?? 0);
        expect([2, 4]).toContain(replay?.done);
        expect(await store.reads.findImbalance()).toBe(0);
      });
    });
  });
}
