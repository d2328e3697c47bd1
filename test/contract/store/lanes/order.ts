import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  NOON,
  change,
  claim,
  countChanged,
  newDeath,
  newDelivery,
  newEvent,
  newRetry,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "../harness.ts";
import { operations, runOperations } from "../random-operations.ts";

export function orderContract(harness: StoreHarness): void {
  describe("an ordered lane", () => {
    const shared = useStore(harness);

    /** One event after another, by ordering key. */
    async function queue(lane: number, ...keys: readonly (string | undefined)[]): Promise<number[]> {
      const seqs: number[] = [];
      for (const orderingKey of keys) {
        seqs.push(await stored(shared.store, newEvent({ orderingKey }), [newDelivery(lane, { ordered: true })]));
      }
      return seqs;
    }
    const claimSeqs = async (lane: number) => (await claim(shared.store, lane)).claimed.map(({ eventSeq }) => eventSeq);
    const waits = async (lane: number, eventSeq: number | undefined) =>
      (await shared.store.reads.findDelivery({ eventSeq: eventSeq ?? 0, subscriptionSeq: lane }))?.waitsForKey;

    it("lets only the head of each key's queue go", async () => {
      const lane = await shared.newLane();
      const [a1, b1, a2, none1, none2] = await queue(lane, "a", "b", "a", undefined, undefined);
      expect(await claimSeqs(lane)).toEqual([a1, b1, none1]);
      expect([await waits(lane, a2), await waits(lane, none2), await waits(lane, a1)]).toEqual([true, true, false]);
      const behind = newDelivery(lane, { ordered: true, claim: true });
      const born = await stored(shared.store, newEvent({ orderingKey: "a" }), [behind]);
      expect(await waits(lane, born)).toBe(true);
    });

    it("moves the next one up when its predecessor is settled, and hands it over when asked to", async () => {
      const lane = await shared.newLane();
      const [first, second, third] = await queue(lane, "a", "a", "a");
      await claimSeqs(lane);
      const key = { subscriptionSeq: lane };
      const moved = await settle(shared.store, newSettlement({ ...key, eventSeq: first as number }));
      expect(moved).toEqual({ applied: true, next: undefined, movedUp: true });
      expect(await claimSeqs(lane)).toEqual([second]);
      const handed = await settle(
        shared.store,
        newSettlement({ ...key, eventSeq: second as number }, { claimNext: true }),
      );
      expect(handed).toMatchObject({ applied: true, next: { eventSeq: third }, movedUp: false });
      expect(await claimSeqs(lane)).toEqual([]);
      const last = await settle(
        shared.store,
        newSettlement({ ...key, eventSeq: third as number }, { claimNext: true }),
      );
      expect(last).toEqual({ applied: true, next: undefined, movedUp: false });
    });

    it("does not hand over a next one that is not due yet", async () => {
      const lane = await shared.newLane();
      const [first] = await queue(lane, "a");
      await stored(shared.store, newEvent({ orderingKey: "a", dueAt: NOON + 5 }), [
        newDelivery(lane, { ordered: true }),
      ]);
      const settlement = newSettlement({ eventSeq: first as number, subscriptionSeq: lane }, { claimNext: true });
      await claimSeqs(lane);
      expect(await settle(shared.store, settlement)).toEqual({ applied: true, next: undefined, movedUp: true });
      expect(await claim(shared.store, lane)).toMatchObject({ claimed: [], nextDueAt: NOON + 5 });
    });

    it("keeps followers waiting while its head waits for a retry", async () => {
      const lane = await shared.newLane();
      const [first] = await queue(lane, "a", "a");
      await claimSeqs(lane);
      await settle(shared.store, newRetry({ eventSeq: first as number, subscriptionSeq: lane }, NOON + 9));
      expect(await claimSeqs(lane)).toEqual([]);
    });

    /** A dead head that keeps its place, and two followers. */
    async function blocked() {
      const lane = await shared.newLane();
      const [head, next, last] = (await queue(lane, "a", "a", "a")) as [number, number, number];
      await claimSeqs(lane);
      const key = { eventSeq: head, subscriptionSeq: lane };
      await settle(shared.store, newDeath(key, { leavesKeyQueue: false, claimNext: true }));
      expect(await claimSeqs(lane)).toEqual([]);
      return { lane, key, head, next, last };
    }

    it("is blocked by a dead head that keeps its place, until that is retried and delivered", async () => {
      const { lane, key, head, next } = await blocked();
      expect(await change(shared.store, key, { act: "retry" }, NOON)).toBe("dead");
      expect(await claimSeqs(lane)).toEqual([head]);
      await settle(shared.store, newSettlement({ ...key, generation: 2, attemptCount: 1 }));
      expect(await claimSeqs(lane)).toEqual([next]);
    });

    it("goes on when the dead head is cancelled", async () => {
      const { lane, key, next } = await blocked();
      await change(shared.store, key, { act: "cancel" }, NOON);
      expect(await claimSeqs(lane)).toEqual([next]);
      expect(await shared.store.reads.findDelivery(key)).toMatchObject({ state: "cancelled" });
    });

    it("goes on when dead heads are skipped, which stay dead letters", async () => {
      const { lane, key, next } = await blocked();
      expect(await countChanged(shared.store, lane, { act: "skip_dead_heads" }, NOON)).toBe(1);
      expect(await claimSeqs(lane)).toEqual([next]);
      expect(await shared.store.reads.findDelivery(key)).toMatchObject({ state: "dead" });
      expect(await change(shared.store, key, { act: "cancel" }, NOON)).toMatchObject({
        refused: { code: "illegal_transition" },
      });
    });

    it("refuses to retry what waits behind another of its key", async () => {
      const { lane, next } = await blocked();
      const retry = await change(shared.store, { eventSeq: next, subscriptionSeq: lane }, { act: "retry" }, NOON);
      expect(retry).toMatchObject({ refused: { code: "illegal_transition" } });
    });

    it("takes a replayed one back into the queue of its key, also one that had left it", async () => {
      const lane = await shared.newLane();
      const [first, second, third] = (await queue(lane, "a", "a", "a")) as [number, number, number];
      const of = (eventSeq: number) => ({ eventSeq, subscriptionSeq: lane });
      await claimSeqs(lane);
      await settle(shared.store, newDeath(of(first)));
      expect(await claimSeqs(lane)).toEqual([second]);
      await change(shared.store, of(first), { act: "retry" }, NOON);
      expect(await claimSeqs(lane)).toEqual([]);
      // The second ends as a dead letter that blocks what came after it, not what was before it.
      await settle(shared.store, newDeath(of(second), { leavesKeyQueue: false }));
      expect(await claimSeqs(lane)).toEqual([first]);
      await settle(shared.store, newSettlement({ ...of(first), generation: 2, attemptCount: 1 }));
      expect(await claimSeqs(lane)).toEqual([]);
      await change(shared.store, of(second), { act: "cancel" }, NOON);
      expect(await claimSeqs(lane)).toEqual([third]);
    });

    it("keeps strict order per key and gets stuck on nothing, whatever happens", async () => {
      await fc.assert(
        fc.asyncProperty(operations, async (list) => {
          const { violations } = await runOperations(shared.store, await shared.newLane(), list, { ordered: true });
          expect(violations).toEqual([]);
        }),
        { numRuns: 30 },
      );
    });

    it("would be seen to break its order if its deliveries stood in no key queue", async () => {
      const [list] = fc.sample(operations, { seed: 7, numRuns: 1 });
      const { violations } = await runOperations(shared.store, await shared.newLane(), list ?? [], { ordered: false });
      expect(violations).not.toEqual([]);
    });
  });
}
