import { describe, expect, it } from "vitest";
import { publishKey } from "../../../../src/model/ids.ts";
import { agesOf } from "../../../../src/model/retention.ts";
import type { NewEvent } from "../../../../src/store/port/event-log.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  accept,
  listDeliveriesOf,
  newDelivery,
  newEvent,
  newSettlement,
  setTime,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { DEDUPE_HORIZON_MS, inFreshPlace, insertLane, useStore, type StoreHarness } from "../harness.ts";

const DAY_MS = 86_400_000;
const LATER = NOON + 31 * DAY_MS;

async function prune(store: Store, wall: number): Promise<number> {
  const rules = { gateway: agesOf({ days: 30 }), tenants: [] };
  let [removed, afterSeq] = [0, 0];
  for (let isEnd = false; !isEnd;) {
    const done = await store.jobs.prune({ of: "events", afterSeq, maxRows: 500, rules, wall });
    removed += done.removed;
    ({ afterSeq, isEnd } = done);
  }
  return removed;
}

function keyed(id: string, change: Partial<NewEvent> = {}): NewEvent {
  return newEvent({ id, givenId: true, dedupeKey: publishKey(id), ...change });
}

async function delivered(store: Store, lane: number, event: NewEvent): Promise<number> {
  const eventSeq = await stored(store, event, [newDelivery(lane, { claim: true })]);
  await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }));
  return eventSeq;
}

const AGAIN = { generation: 2, knownGeneration: 1, isHeld: true };

/** What is noted of the message that an event came as. */
export function messagesContract(harness: StoreHarness): void {
  describe("messages", () => {
    const shared = useStore(harness);

    it("notes what became of one that stays in its queue, and nothing of others", async () => {
      const { store } = shared;
      const plain = await stored(store, newEvent(), []);
      expect(await store.reads.findMessage(plain)).toBeUndefined();
      const held = await stored(store, newEvent({ heldGeneration: 3 }), []);
      expect(await store.reads.findMessage(held)).toEqual({ state: "held", generation: 3 });
      await store.events.settleMessage(held, "acknowledged");
      expect(await store.reads.findMessage(held)).toEqual({ state: "acknowledged", generation: 3 });
      await store.events.settleMessage(plain, "acknowledged");
      expect(await store.reads.findMessage(plain)).toBeUndefined();
      await store.events.settleMessage(plain, "parked");
      expect(await store.reads.findMessage(plain)).toEqual({ state: "parked", generation: 1 });
    });

    // shows: Q12
    it("opens the event's deliveries again for a higher generation, once", async () => {
      const { store } = shared;
      const lane = await shared.newLane();
      const eventSeq = await delivered(store, lane, newEvent());
      const wanted = [{ subscriptionSeq: lane, ordered: false, expiresAt: undefined }];
      expect(await store.events.reopenByMessage(eventSeq, { ...AGAIN, generation: 1 }, wanted)).toBe(false);
      expect(await listDeliveriesOf(store, eventSeq)).toMatchObject([{ state: "delivered" }]);
      expect(await store.events.reopenByMessage(eventSeq, AGAIN, wanted)).toBe(true);
      expect(await listDeliveriesOf(store, eventSeq)).toMatchObject([{ state: "pending", generation: 2 }]);
      expect(await store.reads.findMessage(eventSeq)).toEqual({ state: "held", generation: 2 });
      expect(await store.events.reopenByMessage(eventSeq, AGAIN, wanted)).toBe(false);
      const highBefore = { ...AGAIN, knownGeneration: 7 };
      expect(await store.events.reopenByMessage(eventSeq, highBefore, wanted)).toBe(false);
    });

    // shows: Q28
    it("opens them again when it was parked and came back, and not when it is on its way", async () => {
      const { store } = shared;
      const lane = await shared.newLane();
      const eventSeq = await delivered(store, lane, newEvent({ heldGeneration: 1 }));
      const wanted = [{ subscriptionSeq: lane, ordered: false, expiresAt: undefined }];
      const same = { ...AGAIN, generation: 1 };
      expect(await store.events.reopenByMessage(eventSeq, same, wanted)).toBe(false);
      await store.events.settleMessage(eventSeq, "parked");
      expect(await store.events.reopenByMessage(eventSeq, same, wanted)).toBe(true);
      expect(await store.reads.findMessage(eventSeq)).toEqual({ state: "held", generation: 1 });
      expect(await listDeliveriesOf(store, eventSeq)).toMatchObject([{ state: "pending" }]);
    });

    it("reports an event that is gone", async () => {
      expect(await shared.store.events.reopenByMessage(1_000_000_000, AGAIN, [])).toBe(false);
    });

    // shows: Q29
    it("keeps an event and its key until its message is settled, whatever the retention, and the key for the horizon after", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const held = await delivered(store, lane, keyed("held", { heldGeneration: 1 }));
        await delivered(store, lane, keyed("plain"));
        setTime(store, LATER);
        expect(await prune(store, LATER)).toBe(1);
        expect(await accept(store, keyed("held", { receivedAt: LATER }), [])).toMatchObject({ kind: "duplicate" });
        expect(await accept(store, keyed("plain", { receivedAt: LATER }), [])).toMatchObject({ kind: "stored" });
        await store.events.settleMessage(held, "acknowledged");
        setTime(store, LATER + 2 * DAY_MS);
        expect(await prune(store, LATER + 2 * DAY_MS)).toBe(1);
        const soon = keyed("held", { receivedAt: LATER + DEDUPE_HORIZON_MS });
        expect(await accept(store, soon, [])).toMatchObject({ kind: "duplicate" });
        const late = keyed("held", { receivedAt: LATER + DEDUPE_HORIZON_MS + 1 });
        expect(await accept(store, late, [])).toMatchObject({ kind: "stored" });
      });
    });

    it("forgets the key of a parked one with its event: put back, it is another event", async () => {
      await inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const parked = await delivered(store, lane, keyed("parked", { heldGeneration: 1 }));
        setTime(store, LATER);
        await store.events.settleMessage(parked, "parked");
        expect(await prune(store, LATER + 2 * DAY_MS)).toBe(1);
        const again = keyed("parked", { receivedAt: LATER + 2 * DAY_MS });
        expect(await accept(store, again, [])).toMatchObject({ kind: "stored" });
      });
    });
  });
}
