import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Clock } from "../../src/model/clock.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Store } from "../../src/store/store.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { countCommits } from "../support/log-commits.ts";
import { createStandingClock } from "../support/store-fixtures.ts";
import { storeContract } from "./store-contract.ts";
import { AUDIT_SEED } from "./store/audit.ts";
import { DEDUPE_HORIZON_MS, type StoreHarness } from "./store/harness.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";

function createHarness(thread: boolean): StoreHarness {
  function openIn(folder: string, createClock: (lastKnownNow: number) => Clock): Promise<Store> {
    return openSqliteStore({
      file: join(folder, "posthorn.db"),
      createClock,
      dedupeHorizonMs: DEDUPE_HORIZON_MS,
      auditSeedHex: AUDIT_SEED,
      onFatal: (error) => {
        throw error;
      },
      thread,
    });
  }

  return {
    async open() {
      const root = mkdtempSync(join(MEMORY_FOLDER, "posthorn-store-"));
      const clock = createStandingClock();
      let lastKnownNow = 0;
      const continueClock = (known: number) => {
        lastKnownNow = known;
        return clock;
      };
      let folder = join(root, "0");
      let store = await openIn(folder, continueClock);
      const left: Store[] = [];
      return {
        get store() {
          return store;
        },
        get lastKnownNow() {
          return lastKnownNow;
        },
        async reopen() {
          await store.close();
          return (store = await openIn(folder, continueClock));
        },
        /** The files as they are at this moment are what a killed process leaves. */
        async kill() {
          left.push(store);
          const copy = join(root, String(left.length));
          cpSync(folder, copy, { recursive: true });
          folder = copy;
          return (store = await openIn(folder, continueClock));
        },
        async countCommits() {
          return countCommits(join(folder, "posthorn.db"));
        },
        async remove() {
          await Promise.all([...left, store].map((one) => one.close()));
          rmSync(root, { recursive: true });
        },
      };
    },
  };
}

afterAll(collectGarbage);

storeContract("SQLite in its threads", createHarness(true));
storeContract("SQLite in the caller's turn", createHarness(false));
