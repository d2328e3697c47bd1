import { describe, expect, it } from "vitest";
import { MAX_RECOVERIES } from "../../../../src/model/delivery.ts";
import type { ClaimedDelivery } from "../../../../src/store/port/lanes.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  change,
  claim,
  expire,
  newAttempt,
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  recover,
  settle,
  stored,
  type StandingClock,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

const APPLIED = { applied: true, next: undefined, movedUp: false };
const TOO_LATE = { applied: false, next: undefined, movedUp: false };

async function claimOnly(store: Store, lane: number, now = NOON): Promise<ClaimedDelivery> {
  const [claimed] = (await claim(store, lane, { limit: 1, now })).claimed;
  if (claimed === undefined) throw new Error("nothing was due");
  return claimed;
}

export function settleContract(harness: StoreHarness): void {
  describe("settle", () => {
    const shared = useStore(harness);

    async function sending(): Promise<ClaimedDelivery> {
      const lane = await shared.newLane();
      await stored(shared.store, newEvent(), [newDelivery(lane)]);
      return claimOnly(shared.store, lane);
    }
    const countersOf = async (lane: number) =>
      (await shared.store.reads.loadCounters()).deliveries.find(({ subscriptionSeq }) => subscriptionSeq === lane);

    it("records a delivered attempt whole and ends the delivery", async () => {
      const delivery = await sending();
      const record = { sent: '{"a":"b"}', facts: '{"c":"d"}', answer: Uint8Array.from([0, 255]) };
      const attempt = newAttempt({ durationMs: 12.4 }, record);
      expect(await settle(shared.store, newSettlement(delivery, { attempt }))).toEqual(APPLIED);
      const [recorded] = await shared.store.reads.listAttempts(delivery);
      const answer = Buffer.from(recorded?.record.answer ?? []).toString("hex");
      expect({ ...recorded, record: { ...recorded?.record, answer } }).toEqual({
        ...attempt,
        number: 1,
        durationMs: 12,
        record: { ...attempt.record, answer: "00ff" },
      });
      expect(await shared.store.reads.findDelivery(delivery)).toMatchObject({
        state: "delivered",
        attemptCount: 1,
        completedAt: NOON + 12,
        waitsForKey: false,
      });
      expect(await countersOf(delivery.subscriptionSeq)).toMatchObject({
        created: 1,
        delivered: 1,
        dead: 0,
        cancelled: 0,
        attempts: 1,
        failures: 0,
        lastAttemptAt: NOON,
      });
    });

    it("puts a retry back into the lane at its time", async () => {
      const delivery = await sending();
      expect(await settle(shared.store, newRetry(delivery, NOON + 500))).toEqual(APPLIED);
      const waiting = await shared.store.reads.findDelivery(delivery);
      expect(waiting).toMatchObject({ state: "pending", nextAttemptAt: NOON + 500, lastError: "timed out" });
      const early = await claim(shared.store, delivery.subscriptionSeq, { now: NOON + 499 });
      expect(early).toMatchObject({ claimed: [], nextDueAt: NOON + 500 });
      const again = await claimOnly(shared.store, delivery.subscriptionSeq, NOON + 500);
      expect(again).toMatchObject({ attemptCount: 1, uncountedAttempts: 0, trigger: "retry" });
    });

    it("makes a dead letter with its reason and its last error", async () => {
      const delivery = await sending();
      await settle(shared.store, newDeath(delivery, { deadReason: "gone" }));
      const dead = await shared.store.reads.findDelivery(delivery);
      expect(dead).toMatchObject({ state: "dead", deadReason: "gone", lastError: "500", completedAt: NOON + 5 });
      expect(await countersOf(delivery.subscriptionSeq)).toMatchObject({ dead: 1, attempts: 1, failures: 1 });
    });

    it("only records an attempt that comes a second time, and only once", async () => {
      const delivery = await sending();
      await settle(shared.store, newRetry(delivery, NOON + 1));
      expect(await settle(shared.store, newSettlement(delivery))).toEqual(TOO_LATE);
      expect(await shared.store.reads.findDelivery(delivery)).toMatchObject({ state: "pending", attemptCount: 1 });
      expect(await shared.store.reads.listAttempts(delivery)).toHaveLength(1);
      expect(await countersOf(delivery.subscriptionSeq)).toMatchObject({ attempts: 1 });
    });

    it("leaves a delivery cancelled that was cancelled while it was sent", async () => {
      const delivery = await sending();
      await change(shared.store, delivery, { act: "cancel" }, NOON);
      expect(await settle(shared.store, newSettlement(delivery))).toEqual(TOO_LATE);
      expect(await shared.store.reads.findDelivery(delivery)).toMatchObject({ state: "cancelled", attemptCount: 1 });
      expect(await shared.store.reads.listAttempts(delivery)).toHaveLength(1);
      expect(await countersOf(delivery.subscriptionSeq)).toMatchObject({ cancelled: 1, delivered: 0 });
    });

    it("keeps apart the late attempt of an earlier generation and the one under way", async () => {
      const old = await sending();
      await change(shared.store, old, { act: "cancel" }, NOON);
      await change(shared.store, old, { act: "replay", ordered: false, expiresAt: undefined }, NOON);
      const current = await claimOnly(shared.store, old.subscriptionSeq);
      expect(current).toMatchObject({ generation: 2, attemptCount: 0, trigger: "replay" });

      const late = newAttempt({ startedAt: NOON - 9, error: "late", result: "failed" });
      expect(await settle(shared.store, newDeath(old, { attempt: late }))).toEqual(TOO_LATE);
      expect(await shared.store.reads.findDelivery(old)).toMatchObject({ state: "sending" });
      expect(await settle(shared.store, newRetry(current, NOON + 1))).toEqual(APPLIED);
      const errors = (await shared.store.reads.listAttempts(old)).map(({ number, error }) => [number, error]);
      expect(errors).toEqual([
        [1, "late"],
        [2, "timed out"],
      ]);
      // The schedule counts one try of this generation.
      const next = await claimOnly(shared.store, old.subscriptionSeq, NOON + 1);
      expect(next.attemptCount - next.uncountedAttempts).toBe(1);
    });
  });

  describe("recovery after a crash", () => {
    it("makes what was being sent pending again, with an attempt that the schedule does not count", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        const [lane, other] = [await insertLane(store), await insertLane(store)];
        const seq = await stored(store, newEvent(), [newDelivery(lane, { claim: true }), newDelivery(other)]);
        const left = await place.kill();
        expect((await claim(left, lane)).claimed).toEqual([]);
        const sent = [{ eventSeq: seq, subscriptionSeq: lane, generation: 1, attemptNumber: 1 }];
        expect(await recover(left, sent, NOON + 3)).toEqual({ released: 0, interrupted: 1, poisoned: 0 });
        expect(await recover(left, sent, NOON + 4)).toEqual({ released: 0, interrupted: 0, poisoned: 0 });
        const [attempt] = await left.reads.listAttempts({ eventSeq: seq, subscriptionSeq: lane });
        expect(attempt).toMatchObject({ number: 1, result: "error", error: "gateway stopped" });
        expect(await left.lanes.load()).toContainEqual({ subscriptionSeq: lane, nextDueAt: NOON + 3 });
        const again = await claimOnly(left, lane, NOON + 3);
        expect(again).toMatchObject({ generation: 1, attemptCount: 1, uncountedAttempts: 1 });
      }));

    it("knows the attempt that was being sent among marks of earlier ones, whatever their order", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await stored(store, newEvent(), [newDelivery(lane)]);
        await settle(store, newRetry(await claimOnly(store, lane), NOON));
        const mark = { eventSeq, subscriptionSeq: lane, generation: 1 };
        for (const marked of [
          [1, 2],
          [3, 1],
        ]) {
          await claimOnly(store, lane);
          const sent = marked.map((attemptNumber) => ({ ...mark, attemptNumber }));
          expect(await recover(store, sent, NOON)).toEqual({ released: 0, interrupted: 1, poisoned: 0 });
        }
      }));

    it("gives back what was claimed and not sent, as it was", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await stored(store, newEvent(), [newDelivery(lane, { claim: true })]);
        const key = { eventSeq, subscriptionSeq: lane };
        // Marks of other attempts: an earlier generation, an attempt that was settled, another lane.
        const others = [
          { ...key, generation: 0, attemptNumber: 1 },
          { ...key, generation: 1, attemptNumber: 0 },
          { ...key, subscriptionSeq: lane + 1, generation: 1, attemptNumber: 1 },
        ];
        for (const mark of others) {
          expect(await recover(store, [mark], NOON)).toEqual({ released: 1, interrupted: 0, poisoned: 0 });
          expect(await store.reads.listAttempts(key)).toEqual([]);
          expect(await claimOnly(store, lane)).toMatchObject({ generation: 1, attemptCount: 0, trigger: "first" });
        }
      }));

    /** A crash while the claimed delivery is on the wire. */
    async function interrupt(store: Store, { eventSeq, subscriptionSeq, generation, attemptCount }: ClaimedDelivery) {
      return recover(store, [{ eventSeq, subscriptionSeq, generation, attemptNumber: attemptCount + 1 }], NOON);
    }

    it("takes a delivery for the cause when it happens as often as allowed in a row", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await stored(store, newEvent(), [newDelivery(lane)]);
        for (let time = 1; time < MAX_RECOVERIES; time++) {
          const interrupted = await interrupt(store, await claimOnly(store, lane));
          expect(interrupted).toEqual({ released: 0, interrupted: 1, poisoned: 0 });
        }
        const last = await claimOnly(store, lane);
        (store.clock as StandingClock).set(NOON + 5, NOON - 60_000);
        const recovered = await store.lanes.recover([{ ...last, attemptNumber: MAX_RECOVERIES }]);
        expect(recovered).toMatchObject({ released: 0, interrupted: 0, poisoned: 1 });
        const dead = await store.reads.findDelivery({ eventSeq, subscriptionSeq: lane });
        expect(dead).toMatchObject({ state: "dead", deadReason: "poison", attemptCount: MAX_RECOVERIES });
        // Like all others it ends in wall time, wherever the clock of the machine was set to.
        expect(dead?.completedAt).toBe(NOON - 60_000);
      }));

    it("does not count a planned stop, however often it happens, and starts to count anew after it", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const eventSeq = await stored(store, newEvent(), [newDelivery(lane)]);
        const stop = async () => {
          const { attemptCount, ...mark } = await claimOnly(store, lane);
          return store.lanes.recover([{ ...mark, attemptNumber: attemptCount + 1 }], true);
        };
        for (let time = 1; time < MAX_RECOVERIES; time++) await interrupt(store, await claimOnly(store, lane));
        for (let time = 1; time <= MAX_RECOVERIES + 1; time++) {
          expect(await stop()).toMatchObject({ released: 0, interrupted: 1, poisoned: 0 });
        }
        for (let time = 1; time < MAX_RECOVERIES; time++) {
          expect(await interrupt(store, await claimOnly(store, lane))).toMatchObject({ interrupted: 1, poisoned: 0 });
        }
        const attempts = await store.reads.listAttempts({ eventSeq, subscriptionSeq: lane });
        expect(attempts).toHaveLength(3 * MAX_RECOVERIES - 1);
        expect(await interrupt(store, await claimOnly(store, lane))).toMatchObject({ interrupted: 0, poisoned: 1 });
      }));

    it("starts to count anew after an attempt that ended", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        await stored(store, newEvent(), [newDelivery(lane)]);
        for (let time = 1; time < MAX_RECOVERIES; time++) {
          await interrupt(store, await claimOnly(store, lane));
        }
        await settle(store, newRetry(await claimOnly(store, lane), NOON));
        const again = await interrupt(store, await claimOnly(store, lane));
        expect(again).toEqual({ released: 0, interrupted: 1, poisoned: 0 });
      }));
  });

  describe("a delivery whose time is over", () => {
    const shared = useStore(harness);

    it("becomes a dead letter instead of being claimed", async () => {
      const lane = await shared.newLane();
      const late = { expiresAt: NOON };
      const eventSeq = await stored(shared.store, newEvent(), [newDelivery(lane, late)]);
      await stored(shared.store, newEvent(), [newDelivery(lane, { expiresAt: NOON + 1 })]);
      const result = await claim(shared.store, lane);
      expect(result).toMatchObject({ claimed: [{ eventSeq: eventSeq + 1 }], expired: 1, nextDueAt: undefined });
      const dead = await shared.store.reads.findDelivery({ eventSeq, subscriptionSeq: lane });
      expect(dead).toMatchObject({ state: "dead", deadReason: "expired", attemptCount: 0 });
    });

    it("is found by the sweep wherever it waits, unless it is being sent", async () => {
      const [plain, ordered] = [await shared.newLane(), await shared.newLane()];
      const queued = { ordered: true, expiresAt: NOON };
      const first = await stored(shared.store, newEvent({ dueAt: NOON + 60_000 }), [
        newDelivery(plain, { expiresAt: NOON }),
        newDelivery(ordered, { ordered: true }),
      ]);
      const second = await stored(shared.store, newEvent(), [
        newDelivery(plain, { expiresAt: NOON, claim: true }),
        newDelivery(ordered, queued),
      ]);
      expect(await expire(shared.store, NOON - 1)).toEqual({ expired: 0, movedUp: [] });
      expect(await expire(shared.store, NOON)).toMatchObject({ expired: 2, movedUp: [] });
      const state = async (eventSeq: number, subscriptionSeq: number) =>
        (await shared.store.reads.findDelivery({ eventSeq, subscriptionSeq }))?.state;
      expect(await state(first, plain)).toBe("dead");
      expect(await state(first, ordered)).toBe("pending");
      expect(await state(second, plain)).toBe("sending");
      expect(await state(second, ordered)).toBe("dead");
    });
  });
}
