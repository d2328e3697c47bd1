import { describe, expect, it } from "vitest";
import {
  NOON,
  accept,
  changeLane,
  claim,
  expire,
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  recover,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

const HOUR_MS = 3_600_000;

export function heldContract(harness: StoreHarness): void {
  describe("what a subscription holds", () => {
    const shared = useStore(harness);

    const put = (lane: number, dueAt = NOON, key?: string) =>
      stored(shared.store, newEvent({ dueAt, orderingKey: key }), [
        newDelivery(lane, { ordered: key !== undefined, expiresAt: undefined }),
      ]);
    const find = (lane: number, eventSeq: number) =>
      shared.store.reads.findDelivery({ eventSeq, subscriptionSeq: lane });
    const stateOf = async (lane: number, eventSeq: number) => (await find(lane, eventSeq))?.state;

    it("is skipped as far as it is due or a retry, and came before the call", async () => {
      const [lane, other] = [await shared.newLane(), await shared.newLane()];
      const [sending, retry, due] = [await put(lane), await put(lane), await put(lane)];
      const { claimed } = await claim(shared.store, lane, { limit: 2 });
      expect(claimed.map(({ eventSeq }) => eventSeq)).toEqual([sending, retry]);
      await settle(shared.store, newRetry({ eventSeq: retry, subscriptionSeq: lane }, NOON + HOUR_MS));
      const later = await put(lane, NOON + HOUR_MS);
      const ofOther = await put(other);
      const first = await changeLane(shared.store, lane, { act: "skip_held", upTo: undefined }, NOON);
      expect(first).toEqual({ changed: 2, upTo: ofOther });
      const newer = await put(lane);
      expect(await changeLane(shared.store, lane, { act: "skip_held", upTo: first.upTo }, NOON)).toEqual({
        changed: 0,
        upTo: ofOther,
      });
      const states = await Promise.all([sending, retry, due, later, newer].map((seq) => stateOf(lane, seq)));
      expect(states).toEqual(["sending", "cancelled", "cancelled", "pending", "pending"]);
      expect(await stateOf(other, ofOther)).toBe("pending");
      expect(await find(lane, due)).toMatchObject({ lastError: "skipped when the subscription was resumed" });
      const { deliveries } = await shared.store.reads.loadCounters();
      expect(deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane)).toMatchObject({ cancelled: 2 });
    });

    it.each([{ ordered: false }, { ordered: true }])(
      "is skipped in steps of one transaction's worth ($ordered)",
      async ({ ordered }) => {
        const lane = await shared.newLane();
        const event = () => newEvent({ orderingKey: "k" });
        await Promise.all(
          Array.from({ length: 1200 }, () => accept(shared.store, event(), [newDelivery(lane, { ordered })])),
        );
        const steps: number[] = [];
        let upTo: number | undefined;
        do {
          const step = await changeLane(shared.store, lane, { act: "skip_held", upTo }, NOON);
          steps.push(step.changed);
          upTo = step.upTo;
        } while (steps.at(-1) !== 0);
        expect(steps.length).toBeGreaterThan(2);
        expect(steps.reduce((sum, count) => sum + count)).toBe(1200);
        expect((await claim(shared.store, lane)).nextDueAt).toBeUndefined();
      },
    );

    it("lets the next of an ordering key go that came after what was skipped", async () => {
      const lane = await shared.newLane();
      const [, second] = [await put(lane, NOON, "k"), await put(lane, NOON, "k")];
      const newer = await put(lane, NOON, "k");
      expect(await changeLane(shared.store, lane, { act: "skip_held", upTo: second }, NOON)).toEqual({
        changed: 2,
        upTo: second,
      });
      expect((await claim(shared.store, lane)).claimed.map(({ eventSeq }) => eventSeq)).toEqual([newer]);
    });

    it("becomes a dead letter when it was due too long ago, and nothing else does", async () => {
      const lane = await shared.newLane();
      const [old, edge] = [await put(lane, NOON - 2), await put(lane, NOON)];
      const [young, later] = [await put(lane, NOON + 1), await put(lane, NOON + HOUR_MS)];
      const { dead, movedUp } = await changeLane(
        shared.store,
        lane,
        { act: "give_up_held", dueBefore: NOON },
        NOON + 10,
      );
      expect(movedUp).toBe(false);
      expect(dead?.map(({ eventSeq, reason, attemptCount }) => [eventSeq, reason, attemptCount])).toEqual([
        [old, "held_too_long", 0],
        [edge, "held_too_long", 0],
      ]);
      expect(dead?.[0]).toMatchObject({ subscriptionSeq: lane, eventType: "order.created" });
      expect(await find(lane, old)).toMatchObject({
        state: "dead",
        deadReason: "held_too_long",
        completedAt: NOON + 10,
        lastError: expect.stringContaining("held_max_days"),
      });
      expect(await Promise.all([young, later].map((seq) => stateOf(lane, seq)))).toEqual(["pending", "pending"]);
      const again = await changeLane(shared.store, lane, { act: "give_up_held", dueBefore: NOON }, NOON + 10);
      expect([again.changed, again.dead]).toEqual([0, undefined]);
    });

    it("leaves its ordering key to the next, as what has expired does", async () => {
      const lane = await shared.newLane();
      const [head, follower] = [await put(lane, NOON - HOUR_MS, "k"), await put(lane, NOON - HOUR_MS, "k")];
      const young = await put(lane, NOON, "k");
      const { dead, movedUp } = await changeLane(
        shared.store,
        lane,
        { act: "give_up_held", dueBefore: NOON - 1 },
        NOON,
      );
      expect([dead?.map(({ eventSeq }) => eventSeq), movedUp]).toEqual([[head, follower], true]);
      expect((await claim(shared.store, lane)).claimed.map(({ eventSeq }) => eventSeq)).toEqual([young]);
    });

    it("is given up in steps of one transaction's worth", async () => {
      const lane = await shared.newLane();
      await Promise.all(Array.from({ length: 1200 }, () => put(lane)));
      const steps: number[] = [];
      do {
        const step = await changeLane(shared.store, lane, { act: "give_up_held", dueBefore: NOON }, NOON);
        expect(step.dead?.length ?? 0).toBe(step.changed);
        steps.push(step.changed);
      } while (steps.at(-1) !== 0);
      expect(steps.length).toBeGreaterThan(2);
      expect(steps.reduce((sum, count) => sum + count)).toBe(1200);
    });
  });

  describe("a delivery that dies without an attempt", () => {
    it("is told by whatever ended it: a claim, a look at the times, a recovery", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const event = newEvent({ type: "order.late" });
        const told = { subscriptionSeq: lane, eventId: event.id, eventType: "order.late", reason: "expired" };
        const put = (id: string) => stored(store, { ...event, id }, [newDelivery(lane, { expiresAt: NOON + 1 })]);
        const first = await put(event.id);
        expect((await claim(store, lane)).dead).toBeUndefined();
        await settle(store, newRetry({ eventSeq: first, subscriptionSeq: lane }, NOON));
        expect((await claim(store, lane, { now: NOON + 1 })).dead).toEqual([
          { ...told, eventSeq: first, attemptCount: 1 },
        ]);
        const second = await put("evt_2");
        expect((await expire(store, NOON)).dead).toBeUndefined();
        expect((await expire(store, NOON + 1)).dead).toEqual([
          { ...told, eventSeq: second, eventId: "evt_2", attemptCount: 0 },
        ]);
        const third = await stored(store, newEvent({ id: "evt_3", type: "order.poison" }), [newDelivery(lane)]);
        for (let attempt = 1; attempt <= 5; attempt++) {
          await claim(store, lane, { now: NOON + attempt });
          const mark = { eventSeq: third, subscriptionSeq: lane, generation: 1, attemptNumber: attempt };
          const { dead } = await recover(store, [mark], NOON + attempt);
          expect(dead).toEqual(
            attempt < 5
              ? undefined
              : [
                  {
                    eventSeq: third,
                    subscriptionSeq: lane,
                    eventId: "evt_3",
                    eventType: "order.poison",
                    reason: "poison",
                    attemptCount: 5,
                  },
                ],
          );
        }
        const dead = await stored(store, newEvent(), [newDelivery(lane)]);
        await claim(store, lane, { now: NOON + 9 });
        await settle(store, newDeath({ eventSeq: dead, subscriptionSeq: lane }));
        expect((await expire(store, NOON + HOUR_MS)).dead).toBeUndefined();
      });
    });
  });
}
