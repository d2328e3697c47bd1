import { describe, expect, it } from "vitest";
import { formatDeliveryId } from "../../../../src/model/ids.ts";
import {
  NOON,
  change,
  changeLane,
  claim,
  newAttempt,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

/** One subscription hands a delivery over to another. */
export function moveContract(harness: StoreHarness): void {
  describe("a delivery that moves to another lane", () => {
    const shared = useStore(harness);

    async function openLanes() {
      return { from: await shared.newLane(), to: await shared.newLane() };
    }
    const countersOf = async (lane: number) =>
      (await shared.store.reads.loadCounters()).deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane);
    const stateOf = async (subscriptionSeq: number, eventSeq: number) =>
      (await shared.store.reads.findDelivery({ eventSeq, subscriptionSeq }))?.state;
    const claimSeqs = async (lane: number) => (await claim(shared.store, lane)).claimed.map(({ eventSeq }) => eventSeq);

    async function claimFirst(lane: number) {
      const [first] = (await claim(shared.store, lane, { limit: 1 })).claimed;
      if (first === undefined) throw new Error("nothing was due");
      return first;
    }

    async function makeOrdered(lane: number, ...keys: readonly string[]): Promise<number[]> {
      const seqs: number[] = [];
      for (const orderingKey of keys) {
        seqs.push(await stored(shared.store, newEvent({ orderingKey }), [newDelivery(lane, { ordered: true })]));
      }
      return seqs;
    }

    it("still names the other when the body is erased, and the error of its attempt is erased", async () => {
      const { from, to } = await openLanes();
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(from)]);
      const delivery = await claimFirst(from);
      const moveTo = { subscriptionSeq: to, ordered: false };
      const attempt = newAttempt({ result: "failed", error: "payload: a value" });
      await settle(shared.store, newRetry(delivery, NOON + 1, { moveTo, attempt }));
      await shared.store.events.eraseBody(eventSeq, true);
      const { lastError } = (await shared.store.reads.findDelivery(delivery)) ?? {};
      expect(lastError).toBe(`moved to ${formatDeliveryId(eventSeq, to)}`);
      const [attempted] = await shared.store.reads.listAttempts(delivery);
      expect(attempted).toMatchObject({ number: 1, error: undefined });
    });

    // shows: Q36
    it("ends as cancelled, names the other, and is due there, with the attempt that failed", async () => {
      const { from, to } = await openLanes();
      const made = newEvent();
      const eventSeq = await stored(shared.store, made, [newDelivery(from, { expiresAt: NOON + 60_000 })]);
      const delivery = await claimFirst(from);
      const moveTo = { subscriptionSeq: to, ordered: false };
      const settled = await settle(shared.store, newRetry(delivery, NOON + 1, { moveTo }));
      expect(settled).toEqual({ applied: true, next: undefined, movedUp: false });
      expect(await shared.store.reads.findDelivery(delivery)).toMatchObject({
        state: "cancelled",
        attemptCount: 1,
        lastError: `moved to ${formatDeliveryId(eventSeq, to)}`,
      });
      expect(await shared.store.reads.listAttempts(delivery)).toHaveLength(1);
      const [moved] = (await claim(shared.store, to)).claimed;
      expect(moved).toMatchObject({ eventSeq, attemptCount: 0, expiresAt: NOON + 60_000 });
      expect(await countersOf(from)).toMatchObject({ created: 1, cancelled: 1, attempts: 1, failures: 1 });
      expect(await countersOf(to)).toMatchObject({ created: 1, cancelled: 0, attempts: 0 });
      const event = await shared.store.reads.findEvent(made.id, undefined);
      expect(event).toMatchObject({ deliveryCount: 2, open: 1, cancelled: 1 });
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    // shows: Q37
    it("stays where it is when it was cancelled meanwhile: only the attempt is recorded", async () => {
      const { from, to } = await openLanes();
      await stored(shared.store, newEvent(), [newDelivery(from)]);
      const delivery = await claimFirst(from);
      await change(shared.store, delivery, { act: "cancel" }, NOON);
      const moveTo = { subscriptionSeq: to, ordered: false };
      expect((await settle(shared.store, newRetry(delivery, NOON + 1, { moveTo }))).applied).toBe(false);
      expect(await stateOf(to, delivery.eventSeq)).toBeUndefined();
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    // shows: Q39
    it("goes there and back, each time opened again", async () => {
      const { from, to } = await openLanes();
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(from)]);
      const over = (lane: number, other: number) =>
        changeLane(shared.store, lane, { act: "move", to: { subscriptionSeq: other, ordered: false } }, NOON);
      for (let round = 0; round < 2; round++) {
        expect((await over(from, to)).changed).toBe(1);
        expect([await stateOf(from, eventSeq), await stateOf(to, eventSeq)]).toEqual(["cancelled", "pending"]);
        expect((await over(to, from)).changed).toBe(1);
        expect([await stateOf(from, eventSeq), await stateOf(to, eventSeq)]).toEqual(["pending", "cancelled"]);
      }
      expect((await over(to, from)).changed).toBe(0);
      expect(await claimSeqs(from)).toEqual([eventSeq]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    it("waits when it is to be delivered later, and when its lane is asked, that says until when", async () => {
      const { from, to } = await openLanes();
      const later = NOON + 3_600_000;
      await stored(shared.store, newEvent({ dueAt: later }), [newDelivery(from)]);
      const moved = await changeLane(
        shared.store,
        from,
        { act: "move", to: { subscriptionSeq: to, ordered: false } },
        NOON,
      );
      expect(moved).toMatchObject({ changed: 0, nextDueAt: later });
    });

    // shows: Q37
    it("moves with its ordering key in order, and not while the head is being sent", async () => {
      const { from, to } = await openLanes();
      const [a1, a2, b1, a3] = await makeOrdered(from, "a", "a", "b", "a");
      const sent = await claimFirst(from);
      expect(sent.eventSeq).toBe(a1);
      const move = { act: "move", to: { subscriptionSeq: to, ordered: true } } as const;
      expect((await changeLane(shared.store, from, move, NOON)).changed).toBe(1);
      expect(await stateOf(to, b1 as number)).toBe("pending");
      const settled = await settle(shared.store, newRetry(sent, NOON + 1, { moveTo: move.to }));
      expect(settled).toMatchObject({ applied: true, movedUp: true });
      expect((await changeLane(shared.store, from, move, NOON)).changed).toBe(2);
      const order: number[] = [];
      for (let claimed = await claim(shared.store, to); claimed.claimed.length > 0;) {
        for (const delivery of claimed.claimed) {
          if (delivery.event.orderingKey === "a") order.push(delivery.eventSeq);
          await settle(shared.store, newSettlement(delivery));
        }
        claimed = await claim(shared.store, to);
      }
      expect(order).toEqual([a1, a2, a3]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    // shows: Q38
    it("returns with its reason from a lane that cannot accept it, and does not go there again", async () => {
      const { from, to } = await openLanes();
      const there = { subscriptionSeq: to, ordered: false };
      const back = { subscriptionSeq: from, ordered: false, isReturn: true };
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(from)]);
      await changeLane(shared.store, from, { act: "move", to: there }, NOON);
      const refused = await claimFirst(to);
      const dead = { verdict: "dead", deadReason: "too_large", moveTo: back } as const;
      expect(await settle(shared.store, newSettlement(refused, dead))).toMatchObject({ applied: true });
      expect(await shared.store.reads.findDelivery(refused)).toMatchObject({
        state: "cancelled",
        deadReason: "too_large",
        lastError: `moved to ${formatDeliveryId(eventSeq, from)}`,
      });
      const again = await changeLane(shared.store, from, { act: "move", to: there }, NOON);
      expect(again).toMatchObject({ changed: 0, nextMoveAt: undefined });
      expect(again.nextDueAt).toBeLessThanOrEqual(NOON);
      const tried = await claimFirst(from);
      expect(tried.eventSeq).toBe(eventSeq);
      const settled = await settle(shared.store, newRetry(tried, NOON + 60_000, { moveTo: there }));
      expect(settled).toMatchObject({ applied: true, isKept: true });
      expect([await stateOf(from, eventSeq), await stateOf(to, eventSeq)]).toEqual(["pending", "cancelled"]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    it("returns to a lane that it never was in, and stays dead when that one has delivered it", async () => {
      const { from, to } = await openLanes();
      const back = { subscriptionSeq: from, ordered: false, isReturn: true };
      const dead = { verdict: "dead", deadReason: "too_large", moveTo: back } as const;
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(to)]);
      await settle(shared.store, newSettlement(await claimFirst(to), dead));
      expect([await stateOf(from, eventSeq), await stateOf(to, eventSeq)]).toEqual(["pending", "cancelled"]);
      await settle(shared.store, newSettlement(await claimFirst(from)));

      const replay = { act: "replay", ordered: false, expiresAt: undefined } as const;
      await change(shared.store, { eventSeq, subscriptionSeq: to }, replay, NOON);
      const settled = await settle(shared.store, newSettlement(await claimFirst(to), dead));
      expect(settled).toMatchObject({ applied: true, isKept: true });
      expect([await stateOf(from, eventSeq), await stateOf(to, eventSeq)]).toEqual(["delivered", "dead"]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    // shows: Q38
    it("returns with those behind it in its ordering key, and they stay until it is delivered", async () => {
      const { from, to } = await openLanes();
      const there = { act: "move", to: { subscriptionSeq: to, ordered: true } } as const;
      const [a1, a2, b1, a3] = await makeOrdered(from, "a", "a", "b", "a");
      expect((await changeLane(shared.store, from, there, NOON)).changed).toBe(4);
      const back = { subscriptionSeq: from, ordered: true, isReturn: true };
      const refused = await claimFirst(to);
      expect(refused.eventSeq).toBe(a1);
      await settle(shared.store, newSettlement(refused, { verdict: "dead", deadReason: "refused", moveTo: back }));
      const [a4] = await makeOrdered(from, "a");
      expect((await changeLane(shared.store, from, there, NOON)).changed).toBe(0);
      expect(await claimSeqs(to)).toEqual([b1]);
      const order: number[] = [];
      for (let claimed = await claim(shared.store, from); claimed.claimed.length > 0;) {
        for (const delivery of claimed.claimed) {
          order.push(delivery.eventSeq);
          await settle(shared.store, newSettlement(delivery));
        }
        claimed = await claim(shared.store, from);
      }
      expect(order).toEqual([a1, a2, a3, a4]);
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    it("comes back before those of its key that came meanwhile", async () => {
      const { from, to } = await openLanes();
      const over = (lane: number, other: number) =>
        changeLane(shared.store, lane, { act: "move", to: { subscriptionSeq: other, ordered: true } }, NOON);
      const [a1, a2] = await makeOrdered(from, "a", "a");
      expect((await over(from, to)).changed).toBe(2);
      const [a3] = await makeOrdered(from, "a");
      expect((await over(to, from)).changed).toBe(2);
      const order: number[] = [];
      for (let claimed = await claim(shared.store, from); claimed.claimed.length > 0;) {
        for (const delivery of claimed.claimed) {
          order.push(delivery.eventSeq);
          await settle(shared.store, newSettlement(delivery));
        }
        claimed = await claim(shared.store, from);
      }
      expect(order).toEqual([a1, a2, a3]);
    });

    it("moves in bounded steps until nothing is left", async () => {
      const { from, to } = await openLanes();
      for (let count = 0; count < 1100; count++) await stored(shared.store, newEvent(), [newDelivery(from)]);
      const move = { act: "move", to: { subscriptionSeq: to, ordered: false } } as const;
      const steps: number[] = [];
      do steps.push((await changeLane(shared.store, from, move, NOON)).changed);
      while (steps.at(-1) !== 0);
      expect(steps.reduce((sum, step) => sum + step, 0)).toBe(1100);
      expect(Math.max(...steps)).toBeLessThan(1100);
      expect(await countersOf(to)).toMatchObject({ created: 1100 });
      expect(await shared.store.reads.findImbalance()).toBe(0);
    });

    // shows: Q36
    it("is there once after a crash: both rows are in one transaction", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        const [from, to] = [await insertLane(store), await insertLane(store)];
        const eventSeq = await stored(store, newEvent(), [newDelivery(from, { claim: true })]);
        const moveTo = { subscriptionSeq: to, ordered: false };
        await settle(store, newRetry({ eventSeq, subscriptionSeq: from }, NOON + 1, { moveTo }));
        const after = await place.kill();
        await after.lanes.recover([]);
        const states = await Promise.all(
          [from, to].map(
            async (subscriptionSeq) => (await after.reads.findDelivery({ eventSeq, subscriptionSeq }))?.state,
          ),
        );
        expect(states).toEqual(["cancelled", "pending"]);
        expect(await after.reads.findImbalance()).toBe(0);
      }));
  });
}
