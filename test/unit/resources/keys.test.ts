import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createApiKey, toNewKeyChange } from "../../../src/resources/api-key.ts";
import { openKeys, type NewKey } from "../../../src/resources/keys.ts";
import { createRegistry } from "../../../src/resources/registry.ts";
import type { Records } from "../../../src/store/port/records.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const folder = useFolder();

async function open({ maxKeysPerTenant = 200, adminKey = undefined as string | undefined, weaken = noWeakening } = {}) {
  const time = createVirtualTime(NOON);
  const store = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    createClock: () => createVirtualClock(time),
    dedupeHorizonMs: 1000,
    thread: false,
    onFatal: (error) => {
      throw error;
    },
  });
  folder.onEnd(() => store.close());
  let made = 0;
  let loads = 0;
  let looks = 0;
  const records: Records = {
    ...store.records,
    load(kinds) {
      loads++;
      return store.records.load(kinds);
    },
    changesSince(version, kinds) {
      looks++;
      return store.records.changesSince(version, kinds);
    },
    ...weaken(store.records),
  };
  const createId = () => `key_${made++}`;
  const { clock } = store;
  /** As another process on the same store would. */
  const openOther = () =>
    openKeys({ registry: createRegistry({ records, clock }), clock, createId, adminKey, maxKeysPerTenant });
  async function addBehindItsBack(): Promise<string> {
    const { key, made: row } = createApiKey({ id: createId(), name: "k", scopes: ["read"], createdAt: NOON });
    await store.records.write({ changes: [toNewKeyChange(row)], at: NOON });
    return key;
  }
  return { keys: await openOther(), openOther, store, time, addBehindItsBack, loads: () => loads, looks: () => looks };
}

const noWeakening: (records: Records) => Partial<Records> = () => ({});

describe("keys", () => {
  it("that are made in the database work at their first use, one after the other", async () => {
    const { keys, addBehindItsBack } = await open();
    for (let n = 0; n < 5; n++) {
      expect(await keys.authenticate(await addBehindItsBack())).toMatchObject({ keyId: `key_${n}` });
    }
  });

  it("that are made in the database are listed and found", async () => {
    const { keys, addBehindItsBack } = await open();
    await addBehindItsBack();
    expect((await keys.list(undefined)).map(({ id }) => id)).toEqual(["key_0"]);
    await addBehindItsBack();
    expect((await keys.get("key_1", undefined)).thing.name).toBe("k");
    await addBehindItsBack();
    expect((await keys.change("key_2", undefined, { name: "new" })).thing.name).toBe("new");
    await expect(keys.get("key_1", "acme")).rejects.toMatchObject({ code: "not_found" });
  });

  it("that nobody knows do not make the gateway look for them all the time", async () => {
    const { keys, time, loads, looks, addBehindItsBack } = await open();
    const before = loads();
    for (let n = 0; n < 1000; n++) expect(await keys.authenticate(`phk_${n}`)).toBeUndefined();
    expect([loads(), looks() > 0, looks() <= 5]).toEqual([before, true, true]);
    const key = await addBehindItsBack();
    expect(keys.authenticate(key)).toBeUndefined();
    time.moveTo(time.elapsedMs + 1000);
    expect(await keys.authenticate(key)).toMatchObject({ scopes: ["read"] });
  });

  it("are not all read again when one is made, used, changed or revoked", async () => {
    const { keys, loads } = await open();
    const before = loads();
    for (let n = 0; n < 20; n++) {
      const { key = "", entry } = await keys.create({ name: "k", scopes: ["read"], tenantId: "acme" });
      expect(await keys.authenticate(key)).toMatchObject({ keyId: entry.id, scopes: ["read"] });
      await keys.change(entry.id, "acme", { scopes: ["publish"] });
      expect(await keys.authenticate(key)).toMatchObject({ scopes: ["publish"] });
      await keys.revoke(entry.id, "acme");
      expect(await keys.authenticate(key)).toBeUndefined();
    }
    expect(loads()).toBe(before);
  });

  it("of a tenant are so many and no more, and what no longer lives does not pile up", async () => {
    const { keys, store, time } = await open({ maxKeysPerTenant: 3 });
    const make = (tenantId?: string, expiresAt?: number) =>
      keys.create({ name: "k", scopes: ["read"], tenantId, expiresAt });
    const live = [await make("acme"), await make("acme"), await make("acme", time.wall() + 1000)];
    await expect(make("acme")).rejects.toMatchObject({ code: "key_limit", details: { limit: 3, used: 3 } });
    // Others are counted for themselves, and so are those without a tenant.
    for (const tenantId of ["other", undefined]) for (let n = 0; n < 3; n++) await make(tenantId);
    await expect(make()).rejects.toThrow(/not bound to a tenant/);
    time.moveTo(time.elapsedMs + 1000);
    const dead: string[] = [];
    for (let n = 0; n < 10; n++) {
      const { entry } = await make("acme");
      await keys.revoke(entry.id, "acme");
      dead.push(entry.id);
      time.moveTo(time.elapsedMs + 1);
    }
    await make("acme");
    const { records } = await store.records.load(["key"]);
    const left = records.filter(({ tenantId }) => tenantId === "acme").map(({ id }) => id);
    expect(left).toHaveLength(3 + 3);
    expect(left).toEqual(expect.arrayContaining([live[0]?.entry.id, live[1]?.entry.id, ...dead.slice(-3)]));
    await expect(keys.get(dead[0] as string, "acme")).rejects.toMatchObject({ code: "not_found" });
  });

  it("that no tenant has are never bound to one without a name", async () => {
    const { keys } = await open();
    await expect(keys.create({ name: "k", scopes: ["admin"], tenantId: "" })).rejects.toMatchObject({
      code: "invalid_field",
    });
  });

  const operator: NewKey = { name: "k", scopes: ["read", "admin"] };

  it("keep a last one that is bound to no tenant and may do everything", async () => {
    const { keys, time } = await open();
    const refused = { code: "conflict", message: expect.stringContaining("last admin key") };
    const { id } = (await keys.create(operator)).entry;
    const others = [{ expiresAt: NOON + 5 }, { tenantId: "a" }, { scopes: ["read"] as const }];
    const made = await Promise.all(others.map((change) => keys.create({ ...operator, ...change })));
    time.moveTo(time.elapsedMs + 10);
    await expect(keys.revoke(id, undefined)).rejects.toMatchObject(refused);
    await expect(keys.change(id, undefined, { scopes: ["read"] })).rejects.toMatchObject(refused);
    await expect(keys.change(id, undefined, { expiresAt: NOON + 99 })).rejects.toMatchObject(refused);
    for (const { entry } of made) await keys.revoke(entry.id, undefined);
    expect((await keys.change(id, undefined, { scopes: ["admin"], name: "n" })).thing.scopes).toEqual(["admin"]);
    const second = (await keys.create({ ...operator, expiresAt: NOON + 1000 })).entry;
    const revoked = await keys.revoke(id, undefined);
    expect((await keys.revoke(id, undefined)).version).toBe(revoked.version);
    await expect(keys.change(id, undefined, { name: "x" })).rejects.toThrow(/revoked and cannot be used again/);
    await expect(keys.revoke(second.id, undefined)).rejects.toMatchObject(refused);
    await expect(keys.revoke("key_x", undefined)).rejects.toMatchObject({ code: "not_found" });
  });

  it("may all go where the configuration has one", async () => {
    const { keys } = await open({ adminKey: "configured" });
    const { id } = (await keys.create(operator)).entry;
    expect((await keys.revoke(id, undefined)).thing.revokedAt).toBe(NOON);
    expect(keys.hasAny).toBe(true);
  });

  describe("of two processes on one store", () => {
    async function revokeBoth(options: Parameters<typeof open>[0] = {}) {
      const { keys, openOther } = await open(options);
      const [one, two] = [(await keys.create(operator)).entry, (await keys.create(operator)).entry];
      const other = await openOther();
      const results = await Promise.allSettled([keys.revoke(one.id, undefined), other.revoke(two.id, undefined)]);
      return results.map(({ status }) => status).sort();
    }

    it("keep the last operator's, though each revokes another one", async () => {
      expect(await revokeBoth()).toEqual(["fulfilled", "rejected"]);
    });

    it("would lose it without guards (control)", async () => {
      const weaken = (records: Records) => ({
        write: (request: Parameters<Records["write"]>[0]) => records.write({ ...request, guards: [] }),
      });
      expect(await revokeBoth({ weaken })).toEqual(["fulfilled", "fulfilled"]);
    });

    it("are no more than the limit, and none has an id that another has", async () => {
      const { keys, openOther } = await open({ maxKeysPerTenant: 1 });
      const other = await openOther();
      const limited = [keys, other].map((each) => each.create({ ...operator, tenantId: "acme" }));
      const ended = await Promise.allSettled(limited);
      expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const chosen = await Promise.allSettled([
        keys.create({ ...operator, id: "mine", tenantId: "a" }),
        other.create({ ...operator, id: "mine", tenantId: "b" }),
      ]);
      expect(chosen.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    });
  });
});
