import { describe, expect, it } from "vitest";
import type { KeyRow } from "../../../src/store/store.ts";
import type { IdempotencyMark } from "../../../src/store/port/idempotency.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "./harness.ts";

const mark = (change: Partial<IdempotencyMark>): IdempotencyMark => ({
  scope: "tenants",
  key: "once",
  fingerprint: "f",
  madeId: "acme",
  madeAt: NOON,
  ...change,
});

const key = (id: string): KeyRow => ({
  id,
  hash: Buffer.from(id),
  name: id,
  scopes: "read",
  tenantId: undefined,
  createdAt: NOON,
  expiresAt: undefined,
  revokedAt: undefined,
  prefix: undefined,
});

const tenant = (id: string) => ({
  id,
  name: id,
  contactEmail: undefined,
  quotas: { subscriptions: undefined, eventsPerMinute: undefined, openDeliveries: undefined, storedBytes: undefined },
  retention: {},
  status: "active" as const,
  managedBy: "api" as const,
  createdAt: NOON,
  updatedAt: NOON,
});

export function idempotencyKeysContract(harness: StoreHarness): void {
  describe("idempotency keys", () => {
    const shared = useStore(harness);

    it("are kept with what they made, or neither is", async () => {
      const { store } = shared;
      await store.insertTenant(tenant("acme"), mark({}));
      expect(await store.findIdempotencyKey("tenants", "once")).toEqual(mark({}));
      expect(await store.findIdempotencyKey("keys/", "once")).toBeUndefined();
      // The tenant is refused: its mark is not there either.
      const refused = store.insertTenant(tenant("acme"), mark({ key: "again" }));
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await store.findIdempotencyKey("tenants", "again")).toBeUndefined();
      // The mark is refused: nothing is made.
      const twice = store.insertTenant(tenant("other"), mark({ madeId: "other" }));
      await expect(twice).rejects.toMatchObject({ code: "conflict" });
      expect(await store.findTenant("other")).toBeUndefined();
    });

    it("let one of many make its thing, when all come at once", async () => {
      const { store } = shared;
      const tries = [1, 2, 3, 4].map((n) =>
        store.insertKey(key(`key_race_${n}`), mark({ scope: "keys/", madeId: `key_race_${n}` })),
      );
      const ended = await Promise.allSettled(tries);
      expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
      const made = (await store.loadKeys()).filter(({ id }) => id.startsWith("key_race"));
      expect(made.map(({ id }) => id)).toEqual([(await store.findIdempotencyKey("keys/", "once"))?.madeId]);
    });

    it("are forgotten by age, in steps", () =>
      inFreshPlace(harness, async ({ store }) => {
        const marks = Array.from({ length: 600 }, (_, n) => mark({ key: `k${n}`, madeAt: NOON + (n < 550 ? 0 : 10) }));
        await Promise.all(marks.map((one) => store.write({ changes: [], mark: one, at: NOON })));
        const first = await store.pruneIdempotencyKeys(NOON + 5);
        expect(first).toBeLessThan(550);
        expect(first + (await store.pruneIdempotencyKeys(NOON + 5))).toBe(550);
        expect(await store.pruneIdempotencyKeys(NOON + 5)).toBe(0);
        expect(await store.findIdempotencyKey("tenants", "k0")).toBeUndefined();
        expect(await store.findIdempotencyKey("tenants", "k599")).toBeDefined();
      }));
  });

  describe("keys", () => {
    const shared = useStore(harness);
    const change = (id: string, scopes: string, expiresAt?: number) =>
      shared.store.updateKey(id, { name: "new", scopes, expiresAt }, NOON, { keepLastAdmin: true });

    it("change, unless they are revoked or the last that may do everything", async () => {
      const { store } = shared;
      await store.insertKey({ ...key("key_a"), scopes: "admin" });
      await store.insertKey(key("key_b"));
      await expect(store.insertKey({ ...key("key_b"), hash: Buffer.from("x") })).rejects.toMatchObject({
        code: "conflict",
      });
      await change("key_b", "publish read", NOON + 5);
      const find = async (id: string) => (await store.loadKeys()).find((row) => row.id === id);
      expect(await find("key_b")).toMatchObject({ name: "new", scopes: "publish read", expiresAt: NOON + 5 });
      await expect(change("key_a", "read")).rejects.toMatchObject({ code: "conflict" });
      await expect(change("key_a", "admin", NOON + 5)).rejects.toMatchObject({ code: "conflict" });
      await change("key_a", "admin read");
      await change("key_b", "admin");
      await change("key_a", "read");
      await store.revokeKey("key_a", NOON, { keepLastAdmin: true });
      await expect(change("key_a", "read")).rejects.toMatchObject({ code: "conflict" });
      await expect(change("key_none", "read")).rejects.toMatchObject({ code: "not_found" });
    });
  });
}
