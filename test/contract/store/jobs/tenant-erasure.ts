import { describe, expect, it } from "vitest";
import type { AuditNote } from "../../../../src/store/port/audit.ts";
import type { ErasureRow } from "../../../../src/store/port/jobs.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  NOON,
  commit,
  newAttempt,
  newDelivery,
  newEvent,
  newRequest,
  newSettlement,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness } from "../harness.ts";

const NOTE: AuditNote = {
  actor: "key:key_1",
  act: "tenant.begin_erasure",
  kind: "tenant",
  id: "acme",
  tenantId: "acme",
};
const EVENTS = 12;
const ALL = { limit: 100, cursor: undefined };

/** Events of two tenants in turn, delivered, open and without a delivery; and a logged request of each. */
async function fill(store: Store): Promise<{ lane: number }> {
  const lane = await insertLane(store, { tenantId: "acme" });
  const others = await insertLane(store, { tenantId: "other" });
  for (const [tenantId, subscriptionSeq] of [
    ["acme", lane],
    ["other", others],
  ] as const) {
    for (let i = 0; i < EVENTS; i++) {
      const wanted = i % 3 === 2 ? [] : [newDelivery(subscriptionSeq, { claim: i % 3 === 0 })];
      const eventSeq = await stored(store, newEvent({ tenantId }), wanted);
      const attempt = newAttempt({}, { facts: "{}", answer: Buffer.from("thanks") });
      if (i % 3 === 0) await settle(store, newSettlement({ eventSeq, subscriptionSeq }, { attempt }));
    }
    store.events.logRequest(newRequest(`req_${tenantId}`, { tenantId }));
  }
  await commit(store);
  const note = { actor: "key:key_1", act: "key.make", kind: "key", id: "k", after: { name: "private" } };
  await store.audit.note([{ ...note, tenantId: "acme" }], NOON);
  await store.audit.note([{ ...note, tenantId: "other" }], NOON);
  return { lane };
}

async function toEnd(store: Store, maxRows = 4): Promise<ErasureRow> {
  for (let steps = 0; steps < 1000; steps++) {
    const { row } = await store.jobs.stepErasure("acme", maxRows);
    if (row.stage === "done") return row;
  }
  throw new Error("it does not end");
}

async function look(store: Store) {
  const { rows } = await store.reads.listEvents({}, ALL);
  const { rows: requests } = await store.reads.listRequests({}, ALL);
  const { rows: entries } = await store.audit.list({}, ALL);
  return {
    events: rows.map(({ tenantId }) => tenantId).sort(),
    requests: requests.map(({ tenantId }) => tenantId),
    private: entries.filter(({ data }) => data?.includes("private") === true).length,
    imbalance: await store.reads.findImbalance(),
  };
}

const LEFT = { events: Array.from({ length: EVENTS }, () => "other"), requests: ["other"], private: 1 };

export function tenantErasureContract(harness: StoreHarness): void {
  describe("the erasure of a tenant", () => {
    it("takes all of it, whatever is open, and nothing of others; what is counted stays true", () =>
      inFreshPlace(harness, async ({ store }) => {
        const { lane } = await fill(store);
        const before = await look(store);
        const begun = await store.jobs.beginErasure("acme", NOTE);
        expect(begun).toMatchObject({ stage: "records", total: EVENTS, events: 0 });
        expect(await store.jobs.beginErasure("acme", NOTE)).toEqual(begun);
        expect(await store.jobs.listErasing()).toEqual(["acme"]);
        const done = await toEnd(store);
        expect(done).toMatchObject({ events: EVENTS, deliveries: 8, requests: 1, auditEntries: 1 });
        expect(await store.jobs.findErasure("acme")).toEqual(done);
        expect(await store.jobs.listErasing()).toEqual([]);
        expect(await look(store)).toEqual({ ...LEFT, imbalance: before.imbalance });
        const { records } = await store.records.load(["subscription"]);
        expect(records.map(({ seq }) => seq)).not.toContain(lane);
        const [usage] = await store.reads.loadTenantUsage(["acme"]);
        expect(usage).toMatchObject({ subscriptions: 0, openDeliveries: 0, storedBytes: 0 });
      }));

    it("goes on where a crash has cut it off, wherever that is", () =>
      inFreshPlace(harness, async (place) => {
        await fill(place.store);
        const { imbalance } = await look(place.store);
        await place.store.jobs.beginErasure("acme", NOTE);
        let { row } = await place.store.jobs.stepErasure("acme", 4);
        for (let kills = 0; row.stage !== "done" && kills < 100; kills++) {
          const store = await place.kill();
          expect(await store.jobs.findErasure("acme")).toEqual(row);
          expect((await look(store)).imbalance).toEqual(imbalance);
          ({ row } = await store.jobs.stepErasure("acme", 4));
        }
        expect(row).toMatchObject({ stage: "done", events: EVENTS, deliveries: 8, requests: 1, auditEntries: 1 });
        expect(await look(place.store)).toEqual({ ...LEFT, imbalance });
      }));

    it("ends what is open, and names it for those who have it in memory", () =>
      inFreshPlace(harness, async ({ store }) => {
        await fill(store);
        await store.jobs.beginErasure("acme", NOTE);
        let ended = 0;
        for (let isOver = false; !isOver;) {
          const step = await store.jobs.stepErasure("acme", 100);
          ended += step.ended.length;
          isOver = step.row.stage === "done";
        }
        expect(ended).toBe(EVENTS / 3);
      }));
  });
}
