import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openKeys } from "../../../src/resources/keys.ts";
import { etagOf } from "../../../src/resources/resource.ts";
import { createRegistry } from "../../../src/resources/registry.ts";
import { openTenants, type TenantChange } from "../../../src/resources/tenants.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { createStandingClock, newEvent, NOON, stored } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const folder = useFolder();

async function open(weaken: (records: Records) => Partial<Records> = () => ({})) {
  const store = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    createClock: () => createStandingClock(),
    dedupeHorizonMs: 1000,
    thread: false,
    onFatal: (error) => {
      throw error;
    },
  });
  folder.onEnd(() => store.close());
  let made = 0;
  const clock = { wall: () => NOON + 9, now: () => NOON + 9 };
  /** As another process on the same store would. */
  async function openOne() {
    const registry = createRegistry({ records: { ...store.records, ...weaken(store.records) }, clock });
    const told: TenantChange[] = [];
    const keys = await openKeys({
      registry,
      clock,
      createId: () => `key_${made++}`,
      adminKey: "configured",
      maxKeysPerTenant: 9,
    });
    const tenants = await openTenants({
      registry,
      store,
      clock,
      countSubscriptions: () => 0,
      countLiveKeys: keys.countLive,
      onChange: async (changes) => void told.push(...changes),
    });
    const makeKey = (tenantId: string) => keys.create({ name: "k", scopes: ["read"], tenantId });
    return { registry, keys, tenants, told, makeKey };
  }
  const bear = (tenantId: string) => stored(store, newEvent({ tenantId }));
  return { store, bear, openOne, ...(await openOne()) };
}

describe("a tenant that nobody has configured", () => {
  it("is shown like any other and is in nobody's memory", async () => {
    const { tenants, told, bear, registry, openOne } = await open();
    await bear("Born One");
    await registry.follow();
    const entry = await tenants.get("Born One");
    expect(entry.thing).toMatchObject({ name: "Born One", status: "active", managedBy: "api", createdAt: NOON });
    expect((await tenants.list({ limit: 9, cursor: undefined })).rows).toContainEqual(entry.thing);
    const later = await openOne();
    expect([tenants.find("Born One"), told, later.tenants.find("Born One"), later.told]).toEqual([
      undefined,
      [],
      undefined,
      [],
    ]);
    await expect(tenants.get("nobody")).rejects.toMatchObject({ code: "not_found" });
    await expect(tenants.create({ id: "Born One" })).rejects.toMatchObject({ code: "conflict" });
  });

  it("is changed in the version that was meant, keeps its time of creation, and is in memory from then on", async () => {
    const { registry, tenants, told, bear } = await open();
    await bear("born");
    const seen = etagOf(await tenants.get("born"));
    await expect(tenants.change("born", {}, '"0"')).rejects.toMatchObject({ details: { etag: seen } });
    const changed = await tenants.change("born", { quotas: { stored_bytes: 5 } }, seen);
    expect(changed.thing).toMatchObject({ name: "born", quotas: { storedBytes: 5 }, createdAt: NOON });
    expect(told).toEqual([{ id: "born", tenant: changed.thing }]);
    expect(tenants.find("born")).toEqual(changed);
    await expect(tenants.change("born", {}, seen)).rejects.toMatchObject({ code: "precondition_failed" });
    await bear("put");
    expect(await tenants.put({ id: "put", name: "P" })).toMatchObject({ isNew: false, entry: { createdAt: NOON } });
    await bear("declared");
    await registry.changeAll((draft) => tenants.declareIn(draft, [{ id: "declared", status: "inactive" }]));
    expect(tenants.find("declared")).toMatchObject({ createdAt: NOON, thing: { managedBy: "config" } });
  });

  it("is deleted in the version that was meant, and comes back with the next event", async () => {
    const { tenants, bear } = await open();
    await bear("born");
    const { version, seq } = await tenants.get("born");
    await expect(tenants.remove("born", '"0"')).rejects.toMatchObject({ code: "precondition_failed" });
    await tenants.remove("born", etagOf({ version }));
    await expect(tenants.get("born")).rejects.toMatchObject({ code: "not_found" });
    await expect(tenants.remove("born")).rejects.toMatchObject({ code: "not_found" });
    await bear("born");
    expect(await tenants.get("born")).toMatchObject({ seq, createdAt: NOON });
  });

  it("that was configured and deleted comes back as new, for another process too", async () => {
    const { tenants, bear, openOne } = await open();
    await tenants.create({ id: "limited", quotas: { stored_bytes: 1 } });
    const other = await openOne();
    await tenants.remove("limited");
    await bear("limited");
    await other.registry.follow();
    expect(other.told.at(-1)?.tenant?.quotas.storedBytes).toBeUndefined();
    expect((await other.tenants.get("limited")).thing.name).toBe("limited");
  });

  it("is changed by one of two processes that mean the same version", async () => {
    const { tenants, bear, openOne } = await open();
    const other = (await openOne()).tenants;
    await bear("born");
    const seen = etagOf(await tenants.get("born"));
    const results = await Promise.allSettled([
      tenants.change("born", { name: "a" }, seen),
      other.change("born", { name: "b" }, seen),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("a tenant", () => {
  it("is not deleted while it has live keys", async () => {
    const { tenants, keys, makeKey } = await open();
    const { id } = (await makeKey("acme")).entry;
    await expect(tenants.remove("acme")).rejects.toMatchObject({
      code: "conflict",
      details: { subscriptions: 0, keys: 1 },
    });
    await keys.revoke(id, "acme");
    await tenants.remove("acme");
    await expect(tenants.remove("default")).rejects.toMatchObject({ code: "conflict" });
  });

  async function keyMeanwhile(weaken?: (records: Records) => Partial<Records>) {
    const { tenants, openOne } = await open(weaken);
    await tenants.create({ id: "acme" });
    const other = await openOne();
    await other.makeKey("acme");
    return tenants.remove("acme").then(
      () => "removed",
      () => "refused",
    );
  }

  it("is not deleted while another process gives it a key", async () => {
    expect(await keyMeanwhile()).toBe("refused");
  });

  it("would be without guards (control)", async () => {
    const withoutGuards = (records: Records) => ({
      write: (request: Parameters<Records["write"]>[0]) => records.write({ ...request, guards: [] }),
    });
    expect(await keyMeanwhile(withoutGuards)).toBe("removed");
  });
});
