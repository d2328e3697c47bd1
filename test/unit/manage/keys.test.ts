import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createApiKey, openKeys } from "../../../src/manage/keys.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const folder = useFolder();

async function open() {
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
  const watched = {
    ...store,
    loadKeys() {
      loads++;
      return store.loadKeys();
    },
  };
  const createId = () => `key_${made++}`;
  const keys = await openKeys({ store: watched, clock: createVirtualClock(time), createId, adminKey: undefined });
  async function addBehindItsBack(): Promise<string> {
    const { key, row } = createApiKey({ id: createId(), name: "k", scopes: ["read"], createdAt: NOON });
    await store.insertKey(row);
    return key;
  }
  return { keys, time, addBehindItsBack, loads: () => loads };
}

describe("keys", () => {
  it("that are made in the database work at their first use, one after the other", async () => {
    const { keys, addBehindItsBack } = await open();
    for (let n = 0; n < 5; n++) {
      expect(await keys.authenticate(await addBehindItsBack())).toMatchObject({ keyId: `key_${n}` });
    }
  });

  it("that nobody knows do not make the gateway look for them all the time", async () => {
    const { keys, time, loads, addBehindItsBack } = await open();
    const before = loads();
    for (let n = 0; n < 1000; n++) expect(await keys.authenticate(`phk_${n}`)).toBeUndefined();
    expect(loads() - before).toBeLessThanOrEqual(5);
    const key = await addBehindItsBack();
    expect(keys.authenticate(key)).toBeUndefined();
    time.moveTo(time.elapsedMs + 1000);
    expect(await keys.authenticate(key)).toMatchObject({ scopes: ["read"] });
  });
});
