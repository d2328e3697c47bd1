import { describe, expect, it } from "vitest";
import type { StoredRecord } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  accept,
  newDelivery,
  newEvent,
  newSettlement,
  insertSubscription,
  NOON,
  settle,
  stored,
} from "../../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "../harness.ts";

/** Of one that nobody has configured. */
const UNCONFIGURED = { format: 0, data: "{}", createdAt: NOON, updatedAt: NOON };

const keyOf = (id: string) => ({ kind: "tenant", tenantId: "", id }) as const;

function configure(store: Store, id: string, kept: object, expected: number | "absent" = "absent") {
  const change = { act: "put", ...keyOf(id), expected, format: 1, data: JSON.stringify(kept) } as const;
  return store.records.write({ changes: [change], at: NOON + 9 });
}

async function bury(store: Store, id: string) {
  const { version, format } = (await store.records.find(keyOf(id))) as StoredRecord;
  return store.records.write({ changes: [{ act: "delete", ...keyOf(id), expected: version, format }], at: NOON });
}

function newKey(id: string, tenantId: string) {
  const change = { act: "put", kind: "key", tenantId, id, expected: "absent", format: 1, data: "{}" } as const;
  return { changes: [change], at: NOON };
}

async function idsOf(store: Store): Promise<string[]> {
  return (await store.records.list("tenant", { limit: 100, cursor: undefined })).rows.map(({ id }) => id);
}

const put = { act: "put", expected: "absent", format: 1, data: "{}" } as const;

const born = (store: Store, tenantId: string) => stored(store, newEvent({ tenantId }));

export function tenantsContract(harness: StoreHarness): void {
  describe("tenants", () => {
    const shared = useStore(harness);

    it("are listed all, by id and page", () =>
      inFreshPlace(harness, async ({ store }) => {
        expect(await idsOf(store)).toEqual(["default"]);
        for (const id of ["c", "b", "plain"]) await born(store, id);
        await configure(store, "a", {});
        const first = await store.records.list("tenant", { limit: 3, cursor: undefined });
        expect([first.rows.map(({ id }) => id), first.nextCursor]).toEqual([["a", "b", "c"], "c"]);
        const rest = await store.records.list("tenant", { limit: 3, cursor: "c" });
        expect([rest.rows.map(({ id }) => id), rest.nextCursor]).toEqual([["default", "plain"], undefined]);
        await bury(store, "b");
        expect(await idsOf(store)).toEqual(["a", "c", "default", "plain"]);
      }));

    it("come into being with the first event, subscription or key that names them, and stay as they are", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        await configure(store, "known", { name: "Known" });
        for (const tenantId of ["by-event", "by-event", "known"]) await born(store, tenantId);
        const { version } = (await store.records.find(keyOf("by-event"))) as StoredRecord;
        await insertSubscription(store, "s", { tenantId: "by-subscription" });
        expect(await store.records.write(newKey("key_1", "by-key"))).toMatchObject({ kind: "written" });
        await store.records.write({ changes: [{ ...put, kind: "target", tenantId: "by-target", id: "t" }], at: NOON });
        expect(await idsOf(store)).toEqual(["by-event", "by-key", "by-subscription", "default", "known"]);
        expect(await store.records.find(keyOf("by-event"))).toMatchObject({ ...UNCONFIGURED, version });
        expect((await store.records.find(keyOf("known")))?.data).toBe('{"name":"Known"}');
        expect(await idsOf(await place.reopen())).toContain("by-event");
      }));

    it("are in no load, change or guard until somebody configures them", () =>
      inFreshPlace(harness, async ({ store }) => {
        const { version } = await store.records.load(["tenant"]);
        await born(store, "born");
        const record = (await store.records.find(keyOf("born"))) as StoredRecord;
        expect(record.version).toBeGreaterThan(version);
        expect(await store.records.load(["tenant"])).toEqual({ version: record.version, records: [] });
        expect((await store.records.changesSince(version, ["tenant"])).records).toEqual([]);
        const guards = [{ kind: "tenant" as const, since: version }];
        const guarded = { changes: [{ ...put, kind: "target" as const, tenantId: "", id: "t" }], guards, at: NOON };
        expect(await store.records.write(guarded)).toMatchObject({ kind: "written" });
        // Who expects none is right; who has seen another one is not.
        expect(await configure(store, "born", {}, record.version + 9)).toMatchObject({ kind: "rejected" });
        const checks = [{ ...keyOf("born"), expected: "absent" as const }];
        expect(await store.records.write({ changes: [], checks, at: NOON })).toMatchObject({ kind: "written" });
        expect(await configure(store, "born", { name: "x" })).toMatchObject({ kind: "written", seqs: [record.seq] });
        const { records } = await store.records.changesSince(record.version, ["tenant"]);
        expect(records).toMatchObject([{ id: "born", createdAt: NOON, updatedAt: NOON + 9, data: '{"name":"x"}' }]);
        expect(await store.records.write({ changes: [], checks, at: NOON })).toMatchObject({ why: "changed" });
      }));

    it("come back with the next event after they were deleted, and whoever knew them learns of it", async () => {
      const { store } = shared;
      await born(store, "doomed");
      await bury(store, "doomed");
      expect(await store.records.find(keyOf("doomed"))).toBeUndefined();
      await born(store, "doomed");
      expect(await store.records.find(keyOf("doomed"))).toMatchObject(UNCONFIGURED);
      await configure(store, "doomed", { name: "x" });
      const { version } = await store.records.load(["tenant"]);
      await bury(store, "doomed");
      await born(store, "doomed");
      const { records } = await store.records.changesSince(version, ["tenant"]);
      expect(records).toMatchObject([{ id: "doomed", data: "{}", deletedAt: undefined }]);
    });

    it("have their use counted: subscriptions, open deliveries, bytes of stored bodies", async () => {
      const { store } = shared;
      const lane = await shared.newLane({ tenantId: "counted" });
      const event = (size: number) => newEvent({ tenantId: "counted", body: Buffer.alloc(size, "x") });
      const eventSeq = await stored(store, event(100), [newDelivery(lane, { claim: true })]);
      await stored(store, event(30_000), [newDelivery(lane)]);
      const known = newEvent({ tenantId: "counted", body: Buffer.alloc(7), dedupeKey: "k", givenId: true, id: "k" });
      await accept(store, known);
      expect((await accept(store, known)).kind).toBe("duplicate");
      const usage = { tenantId: "counted", subscriptions: 1, openDeliveries: 2, storedBytes: 30_107 };
      const none = { tenantId: "nobody at all", subscriptions: 0, openDeliveries: 0, storedBytes: 0 };
      expect(await store.reads.loadTenantUsage(["counted", "nobody at all"])).toEqual([usage, none]);
      await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }));
      expect(await store.reads.loadTenantUsage(["counted"])).toEqual([{ ...usage, openDeliveries: 1 }]);
    });
  });
}
