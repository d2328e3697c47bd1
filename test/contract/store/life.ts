import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import {
  NOON,
  accept,
  claim,
  commit,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  offer,
  setTime,
  stored,
} from "../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness } from "./harness.ts";

const HOUR_MS = 3_600_000;
/** How far back what the next start knows may lie behind what was written last. */
const KNOWN_WITHIN_MS = 5000;

export function lifeContract(harness: StoreHarness): void {
  it("has an id of its own, which stays", () =>
    inFreshPlace(harness, async (place) => {
      const { id } = place.store.info;
      expect(id).toMatch(/^str_[0-9a-f]{32}$/);
      await place.reopen();
      expect(place.store.info.id).toBe(id);
      await inFreshPlace(harness, async (other) => expect(other.store.info.id).not.toBe(id));
    }));

  describe("its time", () => {
    it("goes on after a close or a crash from no earlier than what was written", () =>
      inFreshPlace(harness, async (place) => {
        expect(place.lastKnownNow).toBe(0);
        await stored(place.store, newEvent());
        await place.reopen();
        expect(place.lastKnownNow).toBe(NOON);
        setTime(place.store, NOON + HOUR_MS);
        await stored(place.store, newEvent());
        await place.kill();
        expect(place.lastKnownNow).toBe(NOON + HOUR_MS);
        setTime(place.store, NOON);
        await stored(place.store, newEvent());
        await place.reopen();
        expect(place.lastKnownNow).toBe(NOON + HOUR_MS);
      }));

    it.each<{ what: string; write: (store: Store, lane: number) => Promise<unknown> }>([
      { what: "an event", write: (store) => stored(store, newEvent()) },
      { what: "a claim", write: (store, lane) => claim(store, lane, { now: store.clock.now() }) },
      {
        what: "a settlement",
        write: (store, lane) => offer(store, newSettlement({ eventSeq: 1, subscriptionSeq: lane })),
      },
      { what: "an act", write: (store) => store.jobs.schedule("sweep", NOON) },
      {
        what: "a refused request",
        write(store) {
          store.events.logRequest(newRequest("req_1"));
          return commit(store);
        },
      },
      {
        what: "one that cannot be written, and its neighbour",
        write: (store) => Promise.all([accept(store, newEvent({ dueAt: NOON + 0.5 })), accept(store, newEvent())]),
      },
    ])("is known with the first write after a rest: $what", ({ write }) =>
      inFreshPlace(harness, async (place) => {
        const lane = await insertLane(place.store);
        await stored(place.store, newEvent(), [newDelivery(lane, { claim: true })]);
        setTime(place.store, NOON + HOUR_MS);
        await write(place.store, lane);
        await place.kill();
        expect(place.lastKnownNow).toBe(NOON + HOUR_MS);
      }),
    );

    it("is known to a few seconds while it writes", () =>
      inFreshPlace(harness, async (place) => {
        const last = NOON + 12_700;
        for (let now = NOON; now <= last; now += 100) {
          setTime(place.store, now);
          await stored(place.store, newEvent());
        }
        await place.kill();
        expect(place.lastKnownNow).toBeGreaterThan(last - KNOWN_WITHIN_MS);
        expect(place.lastKnownNow).toBeLessThanOrEqual(last);
      }));
  });

  describe("what it is", () => {
    it("is said, and so is what one transaction may hold", () =>
      inFreshPlace(harness, async ({ store }) => {
        expect(store.info.driver).not.toBe("");
        expect(store.info.version).toMatch(/^\d+\./);
        expect(store.limits.maxRows).toBeGreaterThan(1);
        expect(store.limits.maxBytes).toBeGreaterThan(1024);
      }));
  });

  describe("close", () => {
    it("writes what was asked for before, and refuses what is asked for after", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        const lane = await insertLane(store);
        const event = newEvent();
        const before = accept(store, event, [newDelivery(lane)]);
        const closed = store.close();
        const during = accept(store, newEvent());
        expect(await before).toMatchObject({ kind: "stored" });
        expect(await during).toMatchObject({ kind: "rejected", error: { code: "shutting_down" } });
        await closed;
        await store.close();

        const refused = { code: "shutting_down", retryAfterS: expect.any(Number) };
        expect(await accept(store, newEvent())).toMatchObject({ kind: "rejected", error: refused });
        const late = newSettlement({ eventSeq: 1, subscriptionSeq: lane });
        expect(await offer(store, late)).toMatchObject({ failed: refused });
        expect((await claim(store, lane)).claimed).toEqual([]);
        await expect(commit(store)).rejects.toMatchObject(refused);
        await expect(store.reads.findEvent(event.id, undefined)).rejects.toMatchObject(refused);
        expect(await (await place.reopen()).reads.findEvent(event.id, undefined)).toMatchObject({ open: 1 });
      }));
  });
}
