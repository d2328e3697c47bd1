import { describe, expect, it } from "vitest";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  accept,
  newDelivery,
  newEvent,
  newSettlement,
  newSubscription,
  NOON,
  settle,
  stored,
} from "../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "./harness.ts";

const NO_QUOTAS = {
  subscriptions: undefined,
  eventsPerMinute: undefined,
  openDeliveries: undefined,
  storedBytes: undefined,
};

function newTenant(id: string, change: Partial<Tenant> = {}): Tenant {
  return {
    id,
    name: id,
    contactEmail: undefined,
    quotas: NO_QUOTAS,
    retention: {},
    status: "active",
    managedBy: "api",
    createdAt: NOON,
    updatedAt: NOON,
    ...change,
  };
}

function newKey(id: string, tenantId: string, kept: object = {}) {
  const data = JSON.stringify(kept);
  const change = { act: "put", kind: "key", tenantId, id, expected: "absent", format: 1, data } as const;
  return { changes: [change], at: NOON };
}

async function idsOf(store: Store): Promise<string[]> {
  return (await store.listTenants({ limit: 100, cursor: undefined })).rows.map(({ id }) => id);
}

export function tenantContract(harness: StoreHarness): void {
  describe("tenants", () => {
    const shared = useStore(harness);

    it("are kept with all they have, and keep their birth when they change", async () => {
      const { store } = shared;
      const quotas = { subscriptions: 0, eventsPerMinute: 60, openDeliveries: 10, storedBytes: 2 ** 40 };
      const tenant = newTenant("kept", { name: "Käpt", contactEmail: "a@b", quotas });
      await store.insertTenant(tenant);
      expect(await store.findTenant("kept")).toEqual(tenant);
      const changed = newTenant("kept", { status: "inactive", createdAt: NOON + 9, updatedAt: NOON + 9 });
      await store.saveTenant(changed);
      expect(await store.findTenant("kept")).toEqual({ ...changed, createdAt: NOON });
      await expect(store.insertTenant(tenant)).rejects.toMatchObject({ code: "conflict" });
      await store.saveTenant(newTenant("made"));
      expect(await store.findTenant("made")).toEqual(newTenant("made"));
      expect(await store.findTenant("nobody")).toBeUndefined();
    });

    it("are loaded at a start when they have limits or were declared, and listed all, by id and page", () =>
      inFreshPlace(harness, async ({ store }) => {
        expect(await idsOf(store)).toEqual(["default"]);
        await store.insertTenant(newTenant("c", { quotas: { ...NO_QUOTAS, storedBytes: 1 } }));
        await store.insertTenant(newTenant("b", { status: "inactive" }));
        await store.insertTenant(newTenant("a", { managedBy: "config" }));
        await store.insertTenant(newTenant("plain", { quotas: { ...NO_QUOTAS, subscriptions: 1 } }));
        expect((await store.loadTenants()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
        const first = await store.listTenants({ limit: 3, cursor: undefined });
        expect([first.rows.map(({ id }) => id), first.nextCursor]).toEqual([["a", "b", "c"], "c"]);
        const rest = await store.listTenants({ limit: 3, cursor: "c" });
        expect([rest.rows.map(({ id }) => id), rest.nextCursor]).toEqual([["default", "plain"], undefined]);
      }));

    it("come into being with the first event, subscription or key that names them, and stay as they are", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        await store.saveTenant(newTenant("known", { name: "Known" }));
        for (const tenantId of ["by-event", "by-event", "known"]) await stored(store, newEvent({ tenantId }));
        await store.insertSubscription(newSubscription("s", { tenantId: "by-subscription" }));
        await store.write(newKey("key_1", "by-key"));
        expect(await idsOf(store)).toEqual(["by-event", "by-key", "by-subscription", "default", "known"]);
        expect(await store.findTenant("by-event")).toEqual(newTenant("by-event"));
        expect((await store.findTenant("known"))?.name).toBe("Known");
        expect(await idsOf(await place.reopen())).toContain("by-event");
      }));

    it("are deleted only without subscriptions and live keys, and come back with the next event", async () => {
      const { store } = shared;
      const seq = await store.insertSubscription(newSubscription("of-doomed", { tenantId: "doomed" }));
      await store.write(newKey("key_doomed", "doomed", { expiresAt: NOON + 10 }));
      await stored(store, newEvent({ tenantId: "doomed" }));
      await expect(store.deleteTenant("doomed", NOON)).rejects.toMatchObject({
        code: "conflict",
        details: { subscriptions: 1, keys: 1 },
      });
      await store.deleteSubscription(seq, NOON);
      await expect(store.deleteTenant("doomed", NOON)).rejects.toMatchObject({ code: "conflict" });
      await store.deleteTenant("doomed", NOON + 10);
      expect(await store.findTenant("doomed")).toBeUndefined();
      await expect(store.deleteTenant("doomed", NOON + 10)).rejects.toMatchObject({ code: "not_found" });
      await stored(store, newEvent({ tenantId: "doomed" }));
      expect(await store.findTenant("doomed")).toEqual(newTenant("doomed"));
    });

    it("get no more subscriptions than their quota, even when two come at once; declared ones count and pass", async () => {
      const { store } = shared;
      await store.insertTenant(newTenant("small", { quotas: { ...NO_QUOTAS, subscriptions: 2 } }));
      const insert = (name: string, change = {}) =>
        store.insertSubscription(newSubscription(name, { tenantId: "small", ...change }));
      const first = await insert("small-1", { managedBy: "config" });
      const race = await Promise.allSettled([insert("small-2"), insert("small-3")]);
      expect(race.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      await expect(insert("small-4")).rejects.toMatchObject({ code: "subscription_quota", details: { quota: 2 } });
      await insert("small-5", { managedBy: "config" });
      await store.deleteSubscription(first, NOON);
      await expect(insert("small-6")).rejects.toMatchObject({ code: "subscription_quota" });
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
      expect(await store.loadTenantUsage(["counted", "nobody at all"])).toEqual([usage, none]);
      await settle(store, newSettlement({ eventSeq, subscriptionSeq: lane }));
      expect(await store.loadTenantUsage(["counted"])).toEqual([{ ...usage, openDeliveries: 1 }]);
    });
  });
}
