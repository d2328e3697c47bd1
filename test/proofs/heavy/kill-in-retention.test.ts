import { DatabaseSync } from "@photostructure/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/store/sqlite/connection.ts";
import { createApiClient, until } from "../../support/api-client.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import {
  ADMIN_KEY,
  databaseOf,
  drained,
  startGatewayProcess,
  writeGatewayFolder,
} from "../../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../../support/load.ts";
import { sizedHeavy } from "../../support/proof-size.ts";
import { openRecordingSink } from "../../../src/cli/trial/sink.ts";

const KILLS = sizedHeavy({ middle: 20, long: 200 });
const EVENTS_PER_TURN = 600;
const NEW_EVENTS = 20;
/** Deleting rests six times as long as it works, and a busy machine makes both longer. */
const PATIENT_MS = 900_000;
/** Longer than events are kept. */
const TURN_MS = 40 * 86_400_000;

const root = mkdtempSync(join(tmpdir(), "posthorn-retention-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs on the closed database, with SQL and not with the code under test. */
async function onDatabase<Result>(folder: string, run: (db: Database) => Result): Promise<Result> {
  const db = new DatabaseSync(databaseOf(folder));
  try {
    return run(db);
  } finally {
    db.close();
    await collectGarbage();
  }
}

/** What is not as it must be, whatever was deleted. */
function findFaults(db: Database): string[] {
  const { integrity_check: integrity } = db.prepare("pragma integrity_check").get() as { integrity_check: string };
  const queries = {
    "deliveries without an event":
      "select count(*) as n from deliveries where event_seq not in (select seq from events)",
    "bodies without an event": "select count(*) as n from bodies where event_seq not in (select seq from events)",
    "attempts without a delivery": `select count(*) as n from attempts
      where (event_seq, subscription_seq) not in (select event_seq, subscription_seq from deliveries)`,
    "deliveries that counters do not know": `
      select abs(sum(created - pruned_delivered - pruned_dead - pruned_cancelled) - (select count(*) from deliveries)) as n
      from counters`,
    "bytes that counters do not know": `
      select abs(sum(stored_bytes) - (select coalesce(sum(size), 0) from events)) as n from counters`,
  };
  const found = Object.entries(queries).flatMap(([what, sql]) => {
    const { n } = db.prepare(sql).get() as { n: number };
    return n === 0 ? [] : [`${n} ${what}`];
  });
  return integrity === "ok" ? found : [...found, integrity];
}

/** Of those that were received before the turn began. */
function countOld(db: Database, turn: number): number {
  const before = Date.now() + (turn - 1) * TURN_MS + TURN_MS / 2;
  return (db.prepare("select count(*) as n from events where received_at < ?").get(before) as { n: number }).n;
}

describe("a kill while old events are deleted", () => {
  it("leaves nothing by halves, and the next start goes on until all that is old is gone", async () => {
    const folder = join(root, "killed");
    const sink = await openRecordingSink();
    writeGatewayFolder(folder, [{ name: "all", url: sink.urlOf("all") }]);
    let turn = 0;
    const start = async () => {
      const gateway = startGatewayProcess({ folder, clockAheadMs: turn * TURN_MS });
      const url = await gateway.ready;
      return { gateway, url, client: createApiClient({ url: () => url }, ADMIN_KEY) };
    };
    const fill = async (maxEvents: number, ledger: SentWebhook[] = []) => {
      const { gateway, url } = await start();
      await sendLoad({ url, connections: 8, maxEvents, ledger, maxBytes: 30_000 });
      await drained(url);
      await gateway.kill("SIGTERM");
    };
    const count = () => onDatabase(folder, (db) => countOld(db, turn));
    const judge = () => onDatabase(folder, (db) => ({ old: countOld(db, turn), faults: findFaults(db) }));
    const states: { old: number; faults: string[] }[] = [];
    let isCutShort = false;
    try {
      await fill(EVENTS_PER_TURN * 2);
      for (let kill = 0; kill < KILLS; kill++) {
        await fill(EVENTS_PER_TURN);
        turn++;
        const { gateway, client } = await start();
        const before = await count();
        await client.post("/api/v1/jobs/prune-events/run");
        // Somewhere in the middle, another place each time.
        const share = (kill + 1) / (KILLS + 1);
        await until(async () => (await count()) <= before * (1 - share / 2), PATIENT_MS);
        await gateway.kill("SIGKILL");
        const state = await judge();
        isCutShort ||= state.old > 0;
        states.push(state);
      }
      const ledger: SentWebhook[] = [];
      await fill(NEW_EVENTS, ledger);
      const { gateway, client } = await start();
      await client.post("/api/v1/jobs/prune-events/run");
      await until(async () => (await count()) === 0, PATIENT_MS);
      await gateway.kill("SIGTERM");
      states.push(await judge());
      const kept = await onDatabase(
        folder,
        (db) => db.prepare("select id from events where source <> 'posthorn'").all() as { id: string }[],
      );
      expect(new Set(kept.map(({ id }) => id))).toEqual(new Set(ledger.map(({ eventId }) => eventId)));
    } finally {
      await sink.close();
    }
    expect(states.flatMap(({ faults }) => faults)).toEqual([]);
    // Else nothing was shown.
    expect({ isCutShort }).toEqual({ isCutShort: true });
  });

  it("is a test that can fail: what is left by halves is found", async () => {
    const folder = join(root, "halved");
    const sink = await openRecordingSink();
    writeGatewayFolder(folder, [{ name: "all", url: sink.urlOf("all") }]);
    const gateway = startGatewayProcess({ folder });
    const url = await gateway.ready;
    await sendLoad({ url, connections: 2, maxEvents: 20, ledger: [], maxBytes: 30_000 });
    await drained(url);
    await gateway.kill("SIGTERM");
    await sink.close();
    const faults = await onDatabase(folder, (db) => {
      db.exec("delete from events where seq = (select max(seq) from events)");
      return findFaults(db);
    });
    expect(faults.some((fault) => fault.includes("deliveries without an event"))).toBe(true);
    expect(faults.some((fault) => fault.includes("bytes that counters"))).toBe(true);
  });
});
