import { describe, expect, it } from "vitest";
import type { DeliveryKey, LaneChange } from "../../../../src/store/port/lanes.ts";
import {
  NOON,
  accept,
  change,
  claim,
  countChanged,
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  setTime,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "../harness.ts";

const UNORDERED = { ordered: false, expiresAt: undefined };

export function changesContract(harness: StoreHarness): void {
  describe("what an operator does", () => {
    const shared = useStore(harness);

    async function pending(lane: number, expiresAt?: number) {
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(lane, { expiresAt })]);
      return { eventSeq, subscriptionSeq: lane };
    }
    async function dead(lane: number, expiresAt?: number) {
      const key = await pending(lane, expiresAt);
      await claim(shared.store, lane);
      await settle(shared.store, newDeath(key));
      return key;
    }

    it("retries a pending delivery now", async () => {
      const lane = await shared.newLane();
      const key = await pending(lane);
      await claim(shared.store, lane);
      await settle(shared.store, newRetry(key, NOON + 3_600_000));
      expect(await change(shared.store, key, { act: "retry" }, NOON + 1)).toBe("pending");
      const [again] = (await claim(shared.store, lane, { now: NOON + 1 })).claimed;
      expect(again).toMatchObject({ generation: 1, attemptCount: 1, trigger: "manual" });
    });

    it("retries a dead letter in a new generation, with its whole schedule before it", async () => {
      const lane = await shared.newLane();
      const key = await dead(lane);
      expect(await change(shared.store, key, { act: "retry" }, NOON)).toBe("dead");
      const opened = await shared.store.reads.findDelivery(key);
      expect(opened).toMatchObject({ state: "pending", generation: 2, attemptCount: 1 });
      expect([opened?.deadReason, opened?.completedAt, opened?.lastError]).toEqual([undefined, undefined, undefined]);
      const [again] = (await claim(shared.store, lane)).claimed;
      expect(again).toMatchObject({ generation: 2, attemptCount: 1, uncountedAttempts: 1, trigger: "manual" });
    });

    it("cannot retry what is being sent, nor what does not exist", async () => {
      const lane = await shared.newLane();
      const key = await pending(lane);
      await claim(shared.store, lane);
      expect(await change(shared.store, key, { act: "retry" }, NOON)).toMatchObject({
        refused: { code: "illegal_transition" },
      });
      const nowhere = await change(shared.store, { ...key, eventSeq: 999_999 }, { act: "retry" }, NOON);
      expect(nowhere).toMatchObject({ refused: { code: "not_found" } });
    });

    it("cancels what is open and refuses what has ended", async () => {
      const lane = await shared.newLane();
      const [open, ended] = [await pending(lane), await dead(lane)];
      await change(shared.store, open, { act: "cancel" }, NOON);
      expect(await shared.store.reads.findDelivery(open)).toMatchObject({ state: "cancelled", completedAt: NOON });
      for (const key of [open, ended]) {
        const again = await change(shared.store, key, { act: "cancel" }, NOON);
        expect(again).toMatchObject({ refused: { code: "illegal_transition" } });
      }
    });

    it("purges a dead letter with its attempts, and nothing that is not dead", async () => {
      const lane = await shared.newLane();
      const [open, ended] = [await pending(lane), await dead(lane)];
      expect(await shared.store.reads.listAttempts(ended)).toHaveLength(1);
      expect(await change(shared.store, ended, { act: "purge" }, NOON)).toBe("dead");
      expect(await shared.store.reads.findDelivery(ended)).toMatchObject({ state: "cancelled", completedAt: NOON });
      expect(await shared.store.reads.listAttempts(ended)).toEqual([]);
      for (const key of [open, ended]) {
        const refused = await change(shared.store, key, { act: "purge" }, NOON);
        expect(refused).toMatchObject({ refused: { code: "illegal_transition" } });
      }
    });

    it("replays a delivered one in a new generation and uncounts it until it is delivered again", async () => {
      const lane = await shared.newLane();
      const key = await pending(lane);
      await claim(shared.store, lane);
      await settle(shared.store, newSettlement(key));
      await change(shared.store, key, { act: "replay", ...UNORDERED }, NOON);
      const counters = async () =>
        (await shared.store.reads.loadCounters()).deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane);
      expect(await counters()).toMatchObject({ created: 1, delivered: 0 });
      const [again] = (await claim(shared.store, lane)).claimed;
      expect(again).toMatchObject({ generation: 2, attemptCount: 1, trigger: "replay" });
      await settle(shared.store, newSettlement({ ...key, generation: 2, attemptCount: 1 }));
      expect(await counters()).toMatchObject({ created: 1, delivered: 1, attempts: 2 });
    });

    it("replays to a subscription that never had the event", async () => {
      const [old, lane] = [await shared.newLane(), await shared.newLane()];
      const { eventSeq } = await pending(old);
      const key = { eventSeq, subscriptionSeq: lane };
      await change(shared.store, key, { act: "replay", ordered: false, expiresAt: NOON + 70 }, NOON + 60);
      expect(await shared.store.reads.findDelivery(key)).toMatchObject({ state: "pending", nextAttemptAt: NOON + 60 });
      expect((await claim(shared.store, lane, { now: NOON + 70 })).expired).toBe(1);
      const { rows } = await shared.store.reads.listEvents({}, { limit: 1, cursor: undefined });
      expect(rows).toMatchObject([{ seq: eventSeq, deliveryCount: 2, open: 1, dead: 1 }]);
      const nowhere = await change(shared.store, { ...key, eventSeq: 999_999 }, { act: "replay", ...UNORDERED }, NOON);
      expect(nowhere).toMatchObject({ refused: { code: "not_found" } });
    });

    it("does not replay what is still open", async () => {
      const key = await pending(await shared.newLane());
      const replay = await change(shared.store, key, { act: "replay", ...UNORDERED }, NOON);
      expect(replay).toMatchObject({ refused: { code: "illegal_transition", details: { state: "pending" } } });
    });

    it("opens an expired one again without ending it at once", async () => {
      const lane = await shared.newLane();
      const late = NOON + 100;
      for (const open of [
        (key: DeliveryKey) => change(shared.store, key, { act: "replay", ...UNORDERED }, late),
        (key: DeliveryKey) => change(shared.store, key, { act: "retry" }, late),
      ]) {
        const key = await pending(lane, NOON + 50);
        expect((await claim(shared.store, lane, { now: late })).expired).toBe(1);
        await open(key);
        expect((await claim(shared.store, lane, { now: late })).claimed).toMatchObject([key]);
      }
    });

    it("makes waiting retries of one subscription due, and nothing else", async () => {
      const [lane, other] = [await shared.newLane(), await shared.newLane()];
      for (const one of [lane, other]) {
        const key = await pending(one);
        await claim(shared.store, one);
        await settle(shared.store, newRetry(key, NOON + 60_000));
        await stored(shared.store, newEvent({ dueAt: NOON + 60_000 }), [newDelivery(one)]);
      }
      expect(await countChanged(shared.store, lane, { act: "hasten" }, NOON + 1)).toBe(1);
      expect(await countChanged(shared.store, lane, { act: "hasten" }, NOON + 1)).toBe(0);
      expect((await claim(shared.store, lane, { now: NOON + 1 })).claimed).toHaveLength(1);
      expect((await claim(shared.store, other, { now: NOON + 1 })).claimed).toHaveLength(0);
    });

    it("brings no retry forward twice in a row, nor one that keeps its time", async () => {
      const lane = await shared.newLane();
      const [key, kept] = [await pending(lane), await pending(lane)];
      const retry = async (now: number, keepsTime: boolean) => {
        const [one] = (await claim(shared.store, lane, { now, limit: 1 })).claimed;
        const attemptNumber = (one?.attemptCount ?? 0) + 1;
        await settle(shared.store, newRetry(one as never, now + 60_000, { attemptNumber, keepsTime }));
      };
      await retry(NOON, false);
      await retry(NOON, true);
      const hasten = (now: number, limit?: number) =>
        countChanged(shared.store, lane, { act: "hasten", onlyFresh: true, limit }, now);
      expect(await hasten(NOON + 1)).toBe(1);
      expect((await claim(shared.store, lane, { now: NOON + 1 })).claimed).toMatchObject([key]);
      await shared.store.lanes.release([{ ...key, generation: 1 }]);
      await retry(NOON + 2, false);
      // It has failed again: now it waits for its own time, and then may be brought forward again.
      expect(await hasten(NOON + 3)).toBe(0);
      await retry(NOON + 70_000, false);
      await retry(NOON + 70_000, false);
      expect(await hasten(NOON + 70_001, 1)).toBe(1);
      expect(await hasten(NOON + 70_001)).toBe(1);
      expect((await claim(shared.store, lane, { now: NOON + 70_001 })).claimed).toHaveLength(2);
      expect(kept.eventSeq).not.toBe(key.eventSeq);
    });

    it("brings forward what keeps its time of one source", async () => {
      const lane = await shared.newLane();
      for (const source of ["orders", "orders", "users"]) {
        await stored(shared.store, newEvent({ source }), [newDelivery(lane)]);
        const [one] = (await claim(shared.store, lane)).claimed;
        await settle(shared.store, newRetry(one as never, NOON + 60_000, { keepsTime: true }));
      }
      expect(await countChanged(shared.store, lane, { act: "hasten", keptOf: "orders" }, NOON + 1)).toBe(2);
      const { claimed } = await claim(shared.store, lane, { now: NOON + 1 });
      expect(claimed.map(({ event }) => event.source)).toEqual(["orders", "orders"]);
    });

    it.each([{ ordered: false }, { ordered: true }])(
      "cancels a whole lane step by step ($ordered)",
      async ({ ordered }) => {
        const lane = await shared.newLane();
        const event = () => newEvent({ orderingKey: "k" });
        await Promise.all(
          Array.from({ length: 1200 }, () => accept(shared.store, event(), [newDelivery(lane, { ordered })])),
        );
        const [head] = (await claim(shared.store, lane, { limit: 1 })).claimed;
        await settle(shared.store, newDeath(head as never, { leavesKeyQueue: false }));
        const steps: number[] = [];
        do steps.push(await countChanged(shared.store, lane, { act: "cancel" }, NOON));
        while (steps.at(-1) !== 0);
        expect(steps.length).toBeGreaterThan(2);
        const { deliveries } = await shared.store.reads.loadCounters();
        const counters = deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane);
        expect(counters).toMatchObject({ created: 1200, cancelled: 1199, dead: 1 });
        expect((await claim(shared.store, lane)).nextDueAt).toBeUndefined();
      },
    );

    it("notes in wall time when a delivery was made and when it ended, however far ahead scheduling time is", async () => {
      const { store } = shared;
      const [lane, other] = [await shared.newLane(), await shared.newLane()];
      // The wall clock was set back by an hour.
      const [now, wall] = [NOON + 3_600_000, NOON];
      setTime(store, now, wall);
      const claimDue = () => new Promise((done) => store.lanes.claim({ subscriptionSeq: lane, limit: 1 }, done));
      const ofLane = (wanted: LaneChange) => store.lanes.changeLane(lane, wanted);
      const ends: Record<string, (key: DeliveryKey) => Promise<unknown>> = {
        cancelled: (key) => store.lanes.change(key, { act: "cancel" }),
        erased: ({ eventSeq }) => store.events.eraseBody(eventSeq, true),
        "held too long": () => ofLane({ act: "give_up_held", dueBefore: now }),
        skipped: () => ofLane({ act: "skip_held", upTo: undefined }),
        moved: () => ofLane({ act: "move", to: { subscriptionSeq: other, ordered: false } }),
        "cancelled with its lane": () => ofLane({ act: "cancel" }),
        async purged(key) {
          await claimDue();
          await settle(store, newDeath(key));
          await store.lanes.change(key, { act: "purge" });
        },
        async poison(key) {
          for (let n = 1; n <= 5; n++) {
            await claimDue();
            await store.lanes.recover([{ ...key, generation: 1, attemptNumber: n }]);
          }
        },
        "expired when it was claimed": async () => claimDue(),
        expired: () => store.lanes.expire(),
      };
      const times: Record<string, unknown> = {};
      for (const [name, end] of Object.entries(ends)) {
        const key = await pending(lane, name.startsWith("expired") ? now - 1 : undefined);
        await end(key);
        times[name] = (await store.reads.findDelivery(key))?.completedAt;
      }
      expect(times).toEqual(Object.fromEntries(Object.keys(ends).map((name) => [name, wall])));

      const made = { ...(await pending(lane)), subscriptionSeq: await shared.newLane() };
      await store.lanes.change(made, { act: "replay", ...UNORDERED });
      expect(await store.reads.findDelivery(made)).toMatchObject({ createdAt: wall, nextAttemptAt: now });
    });
  });
}
