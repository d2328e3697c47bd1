import { DatabaseSync } from "@photostructure/sqlite";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemRandom } from "../../src/model/clock.ts";
import { createSecret } from "../../src/model/signature.ts";
import { formatSigningKeys } from "../../src/model/signing-keys.ts";
import { loadOrCreateMasterKey, createSecretBox } from "../../src/resources/secret-box.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { databaseOf, dataDirOf, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../support/load.ts";
import { count, report } from "../support/report.ts";

/** More than two transactions' worth. */
const SUBSCRIPTIONS = 12_000;
/** Some take longer to be killed than the fan-out takes, most of all on a busy machine. */
const MAX_TRIES = 100;
const root = mkdtempSync(join(tmpdir(), "posthorn-fan-out-"));
const template = join(root, "template");
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Paused, so that their deliveries are made and kept, and nothing is sent. */
beforeAll(async () => {
  writeGatewayFolder(template, []);
  const gateway = startGatewayProcess({ folder: template });
  await gateway.ready;
  await gateway.kill("SIGTERM");
  const secretBox = createSecretBox(loadOrCreateMasterKey(dataDirOf(template)));
  const store = await openSqliteStore({
    file: databaseOf(template),
    dedupeHorizonMs: 1000,
    onFatal: () => undefined,
  });
  const at = Date.now();
  const secret = createSecret(createSystemRandom());
  const keys = formatSigningKeys({
    secrets: [{ secret, state: "current", createdAt: at, expiresAt: undefined }],
    ed25519: undefined,
    declared: undefined,
  });
  const key = { kind: "subscription", tenantId: "default" } as const;
  const changes = Array.from({ length: SUBSCRIPTIONS }, (_, i) => {
    const [id, name] = [`sub_many${i}`, `many ${i}`];
    const settings = { name, url: "http://127.0.0.1:9/", events: ["webhook.load"] };
    const by = { managedBy: "api", credentialsBy: "operator" };
    const data = JSON.stringify({ name, status: "inactive", settings, ...by, heldSince: at });
    const blob = secretBox.seal(keys, `subscription/default/${id}`);
    return { ...key, id, act: "put", expected: "absent", format: 1, data, blob } as const;
  });
  await store.records.write({ changes, at });
  await store.close();
});

interface FanOutFacts {
  eventId: string;
  isComplete: boolean;
  deliveries: number;
  /** As the event's own row counts them. */
  counted: number;
}

/** Looks at a copy: who opens a log that a crash left behind changes it. */
async function readEvents(folder: string): Promise<FanOutFacts[]> {
  const copy = join(root, "copy");
  cpSync(dataDirOf(folder), copy, { recursive: true });
  const facts = queryEvents(join(copy, "posthorn.db"));
  await collectGarbage();
  rmSync(copy, { recursive: true });
  return facts;
}

function queryEvents(file: string): FanOutFacts[] {
  const db = new DatabaseSync(file);
  const rows = db
    .prepare(
      `select id as eventId, fan_out_cursor is null as isComplete, delivery_count as counted,
         (select count(*) from deliveries d where d.event_seq = e.seq) as deliveries
       from events e order by seq`,
    )
    .all() as unknown as (Omit<FanOutFacts, "isComplete"> & { isComplete: number })[];
  db.close();
  return rows.map((row) => ({ ...row, isComplete: row.isComplete === 1 }));
}

/** Kills the gateway at the answer to its first event, until that falls into the middle of the fan-out. */
async function interruptFanOut(name: string): Promise<{ folder: string; sent: SentWebhook; found: FanOutFacts }> {
  for (let tries = 1; ; tries++) {
    const folder = join(root, `${name}-${tries}`);
    cpSync(template, folder, { recursive: true });
    const gateway = startGatewayProcess({ folder });
    const ledger: SentWebhook[] = [];
    const onAnswer = () => void gateway.kill("SIGKILL");
    await sendLoad({ url: await gateway.ready, connections: 1, maxEvents: 1, ledger, onAnswer });
    await gateway.ended;
    const [found] = await readEvents(folder);
    const [sent] = ledger;
    if (sent?.answer === "acknowledged" && found?.isComplete === false) return { folder, sent, found };
    if (tries === MAX_TRIES) throw new Error("no kill fell into the middle of a fan-out");
    rmSync(folder, { recursive: true });
  }
}

async function restart(folder: string): Promise<FanOutFacts | undefined> {
  const gateway = startGatewayProcess({ folder });
  await gateway.ready;
  expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });
  return (await readEvents(folder))[0];
}

describe("a fan-out that a crash interrupts", () => {
  it("goes on after the restart: every delivery is there once", async () => {
    const { folder, sent, found } = await interruptFanOut("interrupted");
    expect(sent.deliveries).toBe(SUBSCRIPTIONS);
    expect(found.deliveries).toBeLessThan(SUBSCRIPTIONS);
    const after = await restart(folder);
    report(
      `kill -9 in a fan-out: ${count(found.deliveries)} of ${count(SUBSCRIPTIONS)} deliveries at the kill, ` +
        `${count(after?.deliveries ?? 0)} after the restart`,
    );
    expect(after).toEqual({
      eventId: sent.eventId,
      isComplete: true,
      deliveries: SUBSCRIPTIONS,
      counted: SUBSCRIPTIONS,
    });
  });

  it("is a test that can fail: without its cursor the rest is never made", async () => {
    const { folder } = await interruptFanOut("forgotten");
    const db = new DatabaseSync(databaseOf(folder));
    db.exec("update events set fan_out_cursor = null");
    db.close();
    expect((await restart(folder))?.deliveries).toBeLessThan(SUBSCRIPTIONS);
  });
});
