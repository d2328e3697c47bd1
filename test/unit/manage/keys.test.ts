import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createApiKey, openKeys } from "../../../src/manage/keys.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const folder = useFolder();

async function open({ maxKeysPerTenant = 200 } = {}) {
  const time = createVirtualTime(NOON);
  const store = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    wall: time.wall,
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
  const watched: typeof store = {
    ...store,
    loadKeys() {
      loads++;
      return store.loadKeys();
    },
    findKey(by) {
      looks++;
      return store.findKey(by);
    },
  };
  const createId = () => `key_${made++}`;
  const clock = createVirtualClock(time);
  const keys = await openKeys({ store: watched, clock, createId, adminKey: undefined, maxKeysPerTenant });
  async function addBehindItsBack(): Promise<string> {
    const { key, row } = createApiKey({ id: createId(), name: "k", scopes: ["read"], createdAt: NOON });
    await store.insertKey(row);
    return key;
  }
  return { keys, store, time, addBehindItsBack, loads: () => loads, looks: () => looks };
}

describe("keys", () => {
  it("that are made in the database work at their first use, one after the other", async () => {
    const { keys, addBehindItsBack } = await open();
    for (let n = 0; n < 5; n++) {
      expect(await keys.authenticate(await addBehindItsBack())).toMatchObject({ keyId: `key_${n}` });
    }
  });

  it("that nobody knows do not make the gateway look for them all the time", async () => {
    const { keys, time, loads, looks, addBehindItsBack } = await open();
    const before = loads();
    for (let n = 0; n < 1000; n++) expect(await keys.authenticate(`phk_${n}`)).toBeUndefined();
    expect([loads(), looks() <= 5]).toEqual([before, true]);
    const key = await addBehindItsBack();
    expect(keys.authenticate(key)).toBeUndefined();
    time.moveTo(time.elapsedMs + 1000);
    expect(await keys.authenticate(key)).toMatchObject({ scopes: ["read"] });
  });

  it("are not all read again when one is made, used, changed or revoked", async () => {
    const { keys, loads } = await open();
    const before = loads();
    for (let n = 0; n < 20; n++) {
      const { key, row } = await keys.create({ name: "k", scopes: ["read"], tenantId: "acme" });
      expect(await keys.authenticate(key)).toMatchObject({ keyId: row.id, scopes: ["read"] });
      await keys.change(row.id, "acme", { scopes: ["publish"] });
      expect(await keys.authenticate(key)).toMatchObject({ scopes: ["publish"] });
      await keys.revoke(row.id, "acme");
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
    await expect(make()).rejects.toThrow(/bound to no tenant/);
    time.moveTo(time.elapsedMs + 1000);
    const dead: string[] = [];
    for (let n = 0; n < 10; n++) {
      const { row } = await make("acme");
      await keys.revoke(row.id, "acme");
      dead.push(row.id);
      time.moveTo(time.elapsedMs + 1);
    }
    await make("acme");
    const left = (await store.loadKeys()).filter(({ tenantId }) => tenantId === "acme").map(({ id }) => id);
    expect(left).toHaveLength(3 + 3);
    expect(left).toEqual(expect.arrayContaining([live[0]?.row.id, live[1]?.row.id, ...dead.slice(-3)]));
    await expect(keys.get(dead[0] as string, "acme")).rejects.toMatchObject({ code: "not_found" });
  });
});
