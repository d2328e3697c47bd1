import { DatabaseSync } from "@photostructure/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createApiClient, until } from "../support/api-client.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { ADMIN_KEY, databaseOf, drained, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad } from "../support/load.ts";
import { openRecordingSink } from "../../src/cli/trial/sink.ts";
import { count, report } from "../support/report.ts";

const EVENTS = 2000;
/** After so many of the replayed deliveries have arrived. */
const KILLS = [100, 400, 800, 1300];
const root = mkdtempSync(join(tmpdir(), "posthorn-replay-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Outcome {
  /** How many deliveries were opened how many times. */
  opened: Record<string, number>;
  job: Record<string, unknown>;
  duplicates: number;
  interrupted: number;
}

/**
 * Events that were delivered are replayed, and the gateway is killed in the middle of it again and again. Delivered
 * ones, because nothing but the cursor says of them whether they were reached: a dead letter that was opened is none.
 */
async function runKills(name: string, kills: readonly number[], afterKill?: (file: string) => void): Promise<Outcome> {
  const folder = join(root, name);
  const sink = await openRecordingSink();
  try {
    writeGatewayFolder(folder, [{ name: "loose", url: sink.urlOf("loose") }]);
    let gateway = startGatewayProcess({ folder });
    let url = await gateway.ready;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    await sendLoad({ url, connections: 8, maxEvents: EVENTS, ledger: [] });
    await drained(url);
    const first = sink.arrivals.length;
    const filter = { source: "load" };
    const { json } = await client.post("/api/v1/replays", { kind: "events", filter });
    expect(json).toMatchObject({ status: "running", total: EVENTS });
    for (const arrived of kills) {
      await sink.received(first + arrived);
      await gateway.kill("SIGKILL");
      afterKill?.(databaseOf(folder));
      gateway = startGatewayProcess({ folder });
      url = await gateway.ready;
    }
    const path = `/api/v1/replays/${String(json["id"])}`;
    await until(async () => (await client.get(path)).json["status"] === "completed");
    await drained(url);
    const job = (await client.get(path)).json;
    expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });
    const facts = readFacts(databaseOf(folder));
    await collectGarbage();
    return { ...facts, job, duplicates: sink.arrivals.length - 2 * EVENTS };
  } finally {
    await sink.close();
  }
}

function readFacts(file: string): Pick<Outcome, "opened" | "interrupted"> {
  const db = new DatabaseSync(file);
  const generations = db
    .prepare("select generation - 1 as times, count(*) as n from deliveries group by 1 order by 1")
    .all() as unknown as { times: number; n: number }[];
  const { n } = db.prepare("select count(*) as n from attempts where error = 'gateway stopped'").get() as { n: number };
  db.close();
  return { opened: Object.fromEntries(generations.map((row) => [row.times, row.n])), interrupted: n };
}

describe("kill -9 in the middle of a replay", () => {
  it("opens each delivery exactly once", async () => {
    const { opened, job, duplicates, interrupted } = await runKills("good", KILLS);
    report(
      `kill -9 in a replay: ${count(opened["1"] ?? 0)} of ${count(EVENTS)} deliveries opened once in ${KILLS.length} ` +
        `kills; ${duplicates} duplicates, ${interrupted} attempts were in flight at a kill`,
    );
    expect(opened).toEqual({ "1": EVENTS });
    expect(job).toMatchObject({ done: EVENTS, skipped: 0, failed: 0, total: EVENTS });
    expect(duplicates).toBeLessThanOrEqual(interrupted);
  });

  it("is a test that can fail: a cursor that is left behind opens some twice", async () => {
    const { opened } = await runKills("forgotten", KILLS.slice(0, 2), (file) => {
      const db = new DatabaseSync(file);
      db.exec(`update replays set cursor = '{"at":[0,0],"lanes":{}}'`);
      db.close();
    });
    const often = EVENTS - (opened["1"] ?? 0);
    report(`kill -9 in a replay, control with the cursor set back: ${count(often)} opened more than once`);
    expect(often).toBeGreaterThan(0);
  });
});
