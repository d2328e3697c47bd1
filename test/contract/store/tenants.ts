import { describe, expect, it } from "vitest";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { KeyRow, Store } from "../../../src/store/store.ts";
import {
  deleteSubscription,
  accept,
  newDelivery,
  newEvent,
  newSettlement,
  insertSubscription,
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

function newKey(id: string, change: Partial<KeyRow> = {}): KeyRow {
  return {
    id,
    hash: Buffer.from(id),
    name: id,
    scopes: "admin",
    tenantId: undefined,
    createdAt: NOON,
    expiresAt: undefined,
    revokedAt: undefined,
    prefix: undefined,
    ...change,
  };
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
        await insertSubscription(store, "s", { tenantId: "by-subscription" });
        await store.insertKey(newKey("key_1", { tenantId: "by-key" }));
        expect(await idsOf(store)).toEqual(["by-event", "by-key", "by-subscription", "default", "known"]);
        expect(await store.findTenant("by-event")).toEqual(newTenant("by-event"));
        expect((await store.findTenant("known"))?.name).toBe("Known");
        expect(await idsOf(await place.reopen())).toContain("by-event");
      }));

    it("are deleted only without subscriptions and live keys, and come back with the next event", async () => {
      const { store } = shared;
      const seq = await insertSubscription(store, "of-doomed", { tenantId: "doomed" });
      await store.insertKey(newKey("key_doomed", { tenantId: "doomed", expiresAt: NOON + 10 }));
      await stored(store, newEvent({ tenantId: "doomed" }));
      await expect(store.deleteTenant("doomed", NOON)).rejects.toMatchObject({
        code: "conflict",
        details: { subscriptions: 1, keys: 1 },
      });
      await deleteSubscription(store, seq);
      await expect(store.deleteTenant("doomed", NOON)).rejects.toMatchObject({ code: "conflict" });
      await store.deleteTenant("doomed", NOON + 10);
      expect(await store.findTenant("doomed")).toBeUndefined();
      await expect(store.deleteTenant("doomed", NOON + 10)).rejects.toMatchObject({ code: "not_found" });
      await stored(store, newEvent({ tenantId: "doomed" }));
      expect(await store.findTenant("doomed")).toEqual(newTenant("doomed"));
    });

    it("get no more live keys than is said, even when two come at once; of dead ones the latest are kept", () =>
      inFreshPlace(harness, async ({ store }) => {
        const insert = (id: string, more: object = {}) =>
          store.insertKey(newKey(id, { tenantId: "limited", ...more }), undefined, 2);
        for (const [n, id] of ["key_a", "key_b", "key_c"].entries()) {
          expect(await insert(id, { revokedAt: NOON - 10 + n })).toEqual([]);
        }
        expect(await insert("key_d")).toEqual(["key_a"]);
        const race = await Promise.allSettled([insert("key_e"), insert("key_f")]);
        expect(race.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(race[1]).toMatchObject({ reason: { code: "key_limit", details: { limit: 2, used: 2 } } });
        await store.insertKey(newKey("key_other", { tenantId: "other" }), undefined, 2);
        expect((await store.findKey({ id: "key_e" }))?.tenantId).toBe("limited");
        expect((await store.findKey({ hash: newKey("key_e").hash }))?.id).toBe("key_e");
        for (const id of ["key_a", "key_f", "key_e\u0000x"]) expect(await store.findKey({ id })).toBeUndefined();
      }));

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

  describe("keys", () => {
    it("are revoked, but for the last live admin key that is bound to no tenant", () =>
      inFreshPlace(harness, async ({ store }) => {
        const keep = { keepLastAdmin: true };
        await store.insertKey(newKey("key_admin", { scopes: "read admin" }));
        await store.insertKey(newKey("key_old", { expiresAt: NOON }));
        await store.insertKey(newKey("key_dead", { revokedAt: NOON }));
        await store.insertKey(newKey("key_bound", { tenantId: "a" }));
        await store.insertKey(newKey("key_reader", { scopes: "read" }));
        await expect(store.revokeKey("key_admin", NOON, keep)).rejects.toMatchObject({ code: "conflict" });
        for (const id of ["key_old", "key_bound", "key_reader"]) await store.revokeKey(id, NOON + 1, keep);
        await store.insertKey(newKey("key_second", { expiresAt: NOON + 100 }));
        await store.revokeKey("key_admin", NOON + 2, keep);
        await store.revokeKey("key_admin", NOON + 3, keep);
        await expect(store.revokeKey("key_second", NOON + 4, keep)).rejects.toMatchObject({ code: "conflict" });
        await store.revokeKey("key_second", NOON + 4, { keepLastAdmin: false });
        await expect(store.revokeKey("key_x", NOON, keep)).rejects.toMatchObject({ code: "not_found" });
        const ends = (await store.loadKeys()).map(({ id, revokedAt }) => [id, (revokedAt ?? 0) - NOON]);
        expect(Object.fromEntries(ends)).toEqual({
          key_admin: 2,
          key_old: 1,
          key_dead: 0,
          key_bound: 1,
          key_reader: 1,
          key_second: 4,
        });
      }));
  });
}
