import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PosthornError } from "../../../src/model/errors.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { startThreadsEarly } from "../../../src/store/sqlite/thread-starts.ts";
import { accept, commit, newEvent } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

describe("a writer thread that dies", () => {
  const folder = useFolder();

  it("fails what waits and what comes, tells that the process must end, and can still be closed", async () => {
    const fatal: PosthornError[] = [];
    const store = await openSqliteStore({
      file: join(folder.path, "posthorn.db"),
      dedupeHorizonMs: 1,
      onFatal: (error) => fatal.push(error),
    });
    folder.onEnd(() => store.close());
    expect(await accept(store, newEvent())).toMatchObject({ kind: "stored" });
    // No such priority exists: the thread cannot read its message.
    const results = await Promise.all([
      accept(store, newEvent({ priority: "none" as never })),
      accept(store, newEvent()),
      accept(store, newEvent()),
    ]);
    const failed = { kind: "rejected", error: { code: "unavailable", retryAfterS: 5 } };
    expect(results).toMatchObject([failed, failed, failed]);
    expect(fatal).toMatchObject([{ code: "unavailable" }]);
    expect(await accept(store, newEvent())).toMatchObject(failed);
    await expect(commit(store)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("threads that were started early", () => {
  const folder = useFolder();

  it("serve the next store that is opened, and no other", async () => {
    let made = 0;
    const count = () => made++;
    subscribe("worker_threads", count);
    folder.onEnd(() => void unsubscribe("worker_threads", count));
    const open = async (name: string) => {
      const store = await openSqliteStore({
        file: join(folder.path, name),
        dedupeHorizonMs: 1,
        onFatal: (error) => expect.fail(error.message),
      });
      folder.onEnd(() => store.close());
      expect(await accept(store, newEvent())).toMatchObject({ kind: "stored" });
      expect((await store.records.load(["key"])).records).toEqual([]);
    };
    startThreadsEarly();
    expect(made).toBe(2);
    await open("first.db");
    expect(made).toBe(2);
    await open("second.db");
    expect(made).toBe(4);
  });
});
