import { describe, expect, it } from "vitest";
import type { Accepted } from "../../../src/model/accepted.ts";
import type { DeliveryKey } from "../../../src/store/port/lanes.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  NOON,
  accept,
  change,
  claim,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  newSubscription,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness, type StorePlace } from "./harness.ts";

/** More than a time can have: no driver can write it. */
const IMPOSSIBLE = NOON + 0.5;

export function commitsContract(harness: StoreHarness): void {
  describe("what is written together", () => {
    /** A lane with one delivery that is over, one that is being sent, and one that waits. */
    async function prepare(store: Store) {
      const lane = await insertLane(store, { name: "one" });
      const make = async () => ({
        eventSeq: await stored(store, newEvent(), [newDelivery(lane)]),
        subscriptionSeq: lane,
      });
      const over = await make();
      await claim(store, lane);
      await settle(store, newSettlement(over));
      const sent = await make();
      await claim(store, lane);
      return { lane, over, sent, waits: await make() };
    }

    async function countCommitsOf<T>(
      place: StorePlace,
      work: () => Promise<T>,
    ): Promise<{ commits: number; value: T }> {
      const before = await place.countCommits();
      const value = await work();
      return { commits: (await place.countCommits()) - before, value };
    }

    const acceptOne = (store: Store, lane: number, dueAt = NOON) =>
      accept(store, newEvent({ dueAt }), [newDelivery(lane)]);

    /** One of each kind, so that whatever is undone beside them would show. */
    function writeNeighbours(
      store: Store,
      { lane, sent, waits }: { lane: number; sent: DeliveryKey; waits: DeliveryKey },
    ) {
      store.events.logRequest(newRequest(`req_${sent.eventSeq}`));
      return Promise.all([
        acceptOne(store, lane),
        settle(store, newSettlement(sent)),
        change(store, waits, { act: "cancel" }, NOON),
        acceptOne(store, lane),
      ]);
    }

    async function expectNeighbours(store: Store, lane: number, results: Awaited<ReturnType<typeof writeNeighbours>>) {
      const [first, settled, cancelled, last] = results;
      expect([first.kind, last.kind, settled.applied, cancelled]).toEqual(["stored", "stored", true, "pending"]);
      const seqs = [first, last].map((result) => (result as Accepted & { kind: "stored" }).eventSeq);
      expect((await claim(store, lane)).claimed.map(({ eventSeq }) => eventSeq)).toEqual(seqs);
      const { deliveries, events } = await store.reads.loadCounters();
      expect(deliveries).toMatchObject([{ created: 5, delivered: 2, cancelled: 1, attempts: 2 }]);
      expect(events).toMatchObject([{ accepted: 5, unmatched: 0 }]);
      expect(await store.reads.findImbalance()).toBe(0);
      expect(
        (await store.reads.listRequests({ source: undefined }, { limit: 9, cursor: undefined })).rows,
      ).toHaveLength(1);
    }

    it.each<{ what: string; ask: (store: Store, of: DeliveryKey) => Promise<unknown>; code: string }>([
      {
        what: "a cancel",
        ask: (store, over) => change(store, over, { act: "cancel" }, NOON),
        code: "illegal_transition",
      },
      {
        what: "a retry",
        ask: (store, over) => change(store, { ...over, eventSeq: 999_999 }, { act: "retry" }, NOON),
        code: "not_found",
      },
      {
        what: "a replay",
        ask: (store, over) =>
          change(store, { ...over, eventSeq: 999_999 }, { act: "replay", ordered: false, expiresAt: undefined }, NOON),
        code: "not_found",
      },
      {
        what: "a job's new status",
        ask: (store) => store.jobs.setReplayStatus("rpl_none", "paused"),
        code: "not_found",
      },
    ])("is unharmed by $what that is refused, which is a value, and shares its commit", async ({ ask, code }) => {
      await inFreshPlace(harness, async (place) => {
        const { store } = place;
        const known = await prepare(store);
        const { commits, value } = await countCommitsOf(place, () =>
          Promise.all([ask(store, known.over), writeNeighbours(store, known), ask(store, known.over)]),
        );
        const [first, results, last] = value;
        expect([first, last]).toMatchObject([{ refused: { code } }, { refused: { code } }]);
        expect(commits).toBe(1);
        await expectNeighbours(store, known.lane, results);
      });
    });

    it("is unharmed by a configuration that is refused, and shares its commit", async () => {
      await inFreshPlace(harness, async (place) => {
        const { store } = place;
        const known = await prepare(store);
        const refused = () => store.records.write(newSubscription("one"));
        const { commits, value } = await countCommitsOf(place, () =>
          Promise.all([refused(), writeNeighbours(store, known), refused()]),
        );
        const [first, results, last] = value;
        expect([first, last]).toMatchObject([{ why: "changed" }, { why: "changed" }]);
        expect(commits).toBe(1);
        await expectNeighbours(store, known.lane, results);
      });
    });

    it("is unharmed by items that cannot be written, and is still one commit", async () => {
      await inFreshPlace(harness, async (place) => {
        const { store } = place;
        const known = await prepare(store);
        const spoilt = () => acceptOne(store, known.lane, IMPOSSIBLE);
        const { commits, value } = await countCommitsOf(place, () =>
          Promise.all([spoilt(), writeNeighbours(store, known), spoilt()]),
        );
        const [first, results, last] = value;
        const failed = { kind: "rejected", stage: "accept", error: { code: "internal_error" } };
        expect([first, last]).toMatchObject([failed, failed]);
        expect(commits).toBe(1);
        await expectNeighbours(store, known.lane, results);
      });
    });

    it("is counted: what comes one after the other is not one commit", async () => {
      await inFreshPlace(harness, async (place) => {
        const { store } = place;
        const { lane } = await prepare(store);
        const { commits } = await countCommitsOf(place, async () => {
          for (let i = 0; i < 4; i++) await acceptOne(store, lane);
        });
        expect(commits).toBe(4);
      });
    });
  });
}
