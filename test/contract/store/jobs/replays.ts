import { describe, expect, it } from "vitest";
import type { DeadReason } from "../../../../src/model/delivery.ts";
import { orThrow } from "../../../../src/model/errors.ts";
import type { NewReplay, ReplayItem, ReplayStep } from "../../../../src/store/port/jobs.ts";
import type { DeliveryKey } from "../../../../src/store/port/lanes.ts";
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
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

let lastId = 0;

export function newReplay(change: Partial<NewReplay> = {}): NewReplay {
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

    it("tell what became of what they opened, and of nothing else", async () => {
      const lane = await shared.newLane();
      const [one, two, three, other] = [await dead(lane), await dead(lane), await dead(lane), await dead(lane)];
      const open = await pending(lane);
      const { id } = await beginReplay(shared.store, newReplay());
      expect(await shared.store.jobs.loadReplayResults(id)).toEqual({ delivered: 0, dead: 0, open: 0, cancelled: 0 });
      const first = [toItem(one), toItem(two), toItem(open)];
      const { replay } = orThrow(await shared.store.jobs.stepReplay(newStep(id), first));
      expect(replay).toMatchObject({ done: 2, skipped: 1 });
      const next = { ...newStep(id), cursorFrom: replay.cursor, cursorTo: `${replay.cursor} ` };
      expect(orThrow(await shared.store.jobs.stepReplay(next, [toItem(three)])).replay.cursor).toBe(next.cursorTo);
      const results = () => shared.store.jobs.loadReplayResults(id);
      expect(await results()).toEqual({ delivered: 0, dead: 0, open: 3, cancelled: 0 });
      await claim(shared.store, lane, { now: NOON + 1, limit: 10 });
      await settle(shared.store, newSettlement({ ...one, generation: 2, attemptCount: 1 }));
      await settle(shared.store, newDeath({ ...two, generation: 2, attemptCount: 1 }));
      expect(await results()).toEqual({ delivered: 1, dead: 1, open: 1, cancelled: 0 });
      await change(shared.store, three, { act: "cancel" }, NOON);
      expect([await results(), await stateOf(other)]).toEqual([
        { delivered: 1, dead: 1, open: 0, cancelled: 1 },
        "dead",
      ]);
      expect(await shared.store.jobs.loadReplayResults("rpl_unknown")).toMatchObject({ delivered: 0, open: 0 });
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
