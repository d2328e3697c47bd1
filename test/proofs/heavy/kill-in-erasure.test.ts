import { DatabaseSync } from "@photostructure/sqlite";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/store/sqlite/connection.ts";
import { createApiClient, until, type ApiClient } from "../../support/api-client.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import {
  ADMIN_KEY,
  databaseOf,
  drained,
  startGatewayProcess,
  writeGatewayFolder,
} from "../../support/gateway-process.ts";
import { sizedHeavy } from "../../support/proof-size.ts";
import { openRecordingSink, type RecordingSink } from "../../../src/cli/trial/sink.ts";
import { openCliFolder, type CliFolder } from "../../support/run-cli.ts";

const TENANT = "acme";
const KILLS = sizedHeavy({ middle: 8, long: 100 });
const EVENTS = sizedHeavy({ middle: 3000, long: 20_000 });
const OTHERS = 200;
const PUBLISHED_AT_ONCE = 100;
/** An erasure rests six times as long as it works, and a busy machine makes both longer. */
const PATIENT_MS = 900_000;

let folder: CliFolder;
let sink: RecordingSink;
beforeEach(async () => {
  folder = await openCliFolder();
  sink = await openRecordingSink();
  writeGatewayFolder(folder.path, [{ name: "of others", url: sink.urlOf("others") }]);
});
afterEach(async () => {
  await sink.close();
  await folder.remove();
});

async function start(path: string) {
  const gateway = startGatewayProcess({ folder: path });
  const url = await gateway.ready;
  return { gateway, url, api: createApiClient({ url: () => url }, ADMIN_KEY) };
}

async function publish(api: ApiClient, tenantId: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += PUBLISHED_AT_ONCE) {
    const events = Array.from({ length: Math.min(PUBLISHED_AT_ONCE, count - from) }, (_, i) => ({
      event_type: "webhook.load",
      event_id: `${tenantId}-${from + i}`,
      tenant_id: tenantId,
      payload: { of: tenantId, text: "x".repeat(1000) },
    }));
    const { status, text } = await api.post("/api/v1/events", events);
    if (status >= 300) throw new Error(text);
  }
}

/** A tenant with much of its own, and one beside it. */
async function fill(path: string): Promise<void> {
  const { gateway, url, api } = await start(path);
  const made = { tenant_id: TENANT, url: sink.urlOf(TENANT), events: ["*"] };
  for (const name of ["one", "two"]) {
    expect((await api.post("/api/v1/subscriptions", { ...made, name })).status).toBe(201);
  }
  await publish(api, "default", OTHERS / 2);
  await publish(api, TENANT, EVENTS);
  await publish(api, "default", OTHERS);
  await drained(url);
  await gateway.kill("SIGTERM");
}

/** Runs on the database with SQL, and not with the code under test. */
async function onDatabase<Result>(path: string, run: (db: Database) => Result): Promise<Result> {
  const db = new DatabaseSync(databaseOf(path));
  try {
    return run(db);
  } finally {
    db.close();
    await collectGarbage();
  }
}

const numberOf = (db: Database, sql: string) => (db.prepare(sql).get() as { n: number }).n;
const OF_TENANT = `(select seq from events where tenant_id = '${TENANT}')`;

const countEvents = (path: string) =>
  onDatabase(path, (db) => numberOf(db, `select count(*) as n from events where tenant_id = '${TENANT}'`));

/** What is still there of the tenant, by table. */
function findLeft(db: Database): Record<string, number> {
  const queries = {
    events: `select count(*) as n from events where tenant_id = '${TENANT}'`,
    bodies: `select count(*) as n from bodies where event_seq in ${OF_TENANT}`,
    deliveries: `select count(*) as n from deliveries where subscription_seq in (
      select subscription_seq from counters where tenant_id = '${TENANT}' and subscription_seq > 0)`,
    records: `select count(*) as n from records where tenant_id = '${TENANT}' and (deleted_at is null or id not like 'erased-%')`,
    requests: `select count(*) as n from requests where tenant_id = '${TENANT}'`,
    "data in the audit log": `select count(*) as n from audit
      where entry ->> '$.tenant_id' = '${TENANT}' and data is not null and entry ->> '$.act' <> 'tenant.erase'`,
  };
  const found = Object.entries(queries).map(([what, sql]) => [what, numberOf(db, sql)] as const);
  return Object.fromEntries(found.filter(([, count]) => count > 0));
}

/** What is not as it must be, at every moment. */
function findFaults(db: Database): string[] {
  const queries = {
    "deliveries without an event":
      "select count(*) as n from deliveries where event_seq not in (select seq from events)",
    "attempts without a delivery": `select count(*) as n from attempts
      where (event_seq, subscription_seq) not in (select event_seq, subscription_seq from deliveries)`,
    "deliveries that counters do not know": `
      select abs(sum(created - pruned_delivered - pruned_dead - pruned_cancelled) - (select count(*) from deliveries)) as n
      from counters`,
    "bytes that counters do not know": `
      select abs(sum(stored_bytes) - (select coalesce(sum(size), 0) from events)) as n from counters`,
    "events of others that are gone": `
      select ${OTHERS} - count(*) as n from events e join deliveries d on d.event_seq = e.seq
      where e.id like 'default-%' and instr(e.body, '"of":"default"') > 0`,
  };
  return Object.entries(queries).flatMap(([what, sql]) => {
    const n = numberOf(db, sql);
    return n === 0 ? [] : [`${n} ${what}`];
  });
}

const judge = (path: string) => onDatabase(path, (db) => ({ left: findLeft(db), faults: findFaults(db) }));

/** Begins the erasure, kills the gateway again and again, and returns what was there after each kill. */
async function killInErasure(path: string, kills: number) {
  const states = [];
  for (let kill = 0; kill < kills; kill++) {
    const before = await countEvents(path);
    const { gateway, api } = await start(path);
    if (kill === 0) {
      const { status, text } = await api.post(`/api/v1/tenants/${TENANT}/erase`, { confirm: TENANT });
      if (status !== 202) throw new Error(text);
    }
    // The gateway goes on by itself: from another place each time.
    await until(async () => (await countEvents(path)) < before || before === 0, PATIENT_MS);
    await gateway.kill("SIGKILL");
    states.push(await judge(path));
  }
  return states;
}

async function goOn(path: string): Promise<void> {
  const { gateway, api } = await start(path);
  const hasEnded = async () => (await api.get(`/api/v1/tenants/${TENANT}/erase`)).json["status"] === "completed";
  await until(hasEnded, PATIENT_MS, "the end of the erasure");
  expect((await api.get("/api/v1/audit/verify")).json).toMatchObject({ valid: true });
  expect((await api.get(`/api/v1/tenants/${TENANT}`)).json).toMatchObject({ status: "inactive", name: TENANT });
  await gateway.kill("SIGTERM");
}

describe("a kill while a tenant is erased", () => {
  it("leaves nothing by halves, and the next start goes on until nothing of the tenant is left", async () => {
    await fill(folder.path);
    const states = await killInErasure(folder.path, KILLS);
    await goOn(folder.path);
    expect(states.flatMap(({ faults }) => faults)).toEqual([]);
    expect(await judge(folder.path)).toEqual({ left: {}, faults: [] });
    // Else nothing was shown.
    expect(states.some(({ left }) => (left["events"] ?? 0) > 0)).toBe(true);

    // The control: an event of another that is gone is found.
    const faults = await onDatabase(folder.path, (db) => {
      db.exec("delete from events where id = 'default-7'");
      return findFaults(db);
    });
    expect(faults).toEqual(
      expect.arrayContaining(["1 deliveries without an event", "1 events of others that are gone"]),
    );
  });

  it("is over in a restored backup too, which goes on with it, with the events or without", async () => {
    await fill(folder.path);
    await killInErasure(folder.path, 1);
    for (const flags of [[], ["--with-events"]]) {
      const there = await openCliFolder();
      try {
        const file = join(folder.path, `backup${flags.length}.tar.gz`);
        const made = await folder.run(["backup", file, "--with-master-key", ...flags]);
        expect(made).toMatchObject({ exitCode: 0 });
        expect(await there.run(["restore", file])).toMatchObject({ exitCode: 0 });
        const unfinished = await onDatabase(there.path, (db) =>
          numberOf(db, "select count(*) as n from tenant_erasures where stage <> 'done'"),
        );
        expect(unfinished).toBe(1);
        await goOn(there.path);
        expect(await onDatabase(there.path, findLeft)).toEqual({});
      } finally {
        await there.remove();
      }
    }
  });
});
