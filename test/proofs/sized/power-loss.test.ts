import { DatabaseSync } from "@photostructure/sqlite";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { BrokenPromises } from "../../support/broken-promises.mjs";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { createDiskModel, FATES } from "../../support/disk-model.ts";
import { readDiskTrace, traceCommand, type DiskOp } from "../../support/disk-trace.ts";
import {
  databaseOf,
  dataDirOf,
  drained,
  startGatewayProcess,
  writeGatewayFolder,
} from "../../support/gateway-process.ts";
import { sendLoad, type SentWebhook } from "../../support/load.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";
import { sized } from "../../support/proof-size.ts";
import { openRecordingSink } from "../../../src/cli/trial/sink.ts";
import { count, report } from "../../support/report.ts";
import { requireStrace, untilTraced } from "../../support/strace.ts";

const IMAGES = sized({ short: 80, middle: 1000, long: 5000 });
const IMAGES_PER_RECORDING = 2500;
const CONTROL_IMAGES = sized({ short: 30, middle: 60, long: 60 });
const EVENTS = 300;

const root = mkdtempSync(join(tmpdir(), "posthorn-power-"));
/** In memory where that is possible: thousands of databases are written and read there. */
const shelf = mkdtempSync(join(MEMORY_FOLDER, "posthorn-images-"));
afterAll(() => {
  for (const folder of [root, shelf]) rmSync(folder, { recursive: true, force: true });
});

interface Recording {
  folder: string;
  ops: DiskOp[];
  hashes: ReadonlyMap<string, string>;
  masterKey: string;
}

const masterKeyOf = (folder: string) => join(dataDirOf(folder), "master.key");

/** A gateway from its first start through a kill, a recovery and an orderly end, with all that it wrote. */
async function recordGateway(name: string, broken?: BrokenPromises): Promise<Recording> {
  const folder = join(root, name);
  const sink = await openRecordingSink();
  const ledger: SentWebhook[] = [];
  const ops: DiskOp[] = [];
  try {
    writeGatewayFolder(folder, [{ name: "ordered", url: sink.urlOf("ordered"), ordered: true }]);
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const trace = join(folder, `${signal}.trace`);
      const gateway = startGatewayProcess({ folder, broken, tracer: traceCommand(trace) });
      const url = await gateway.ready;
      await sendLoad({ url, connections: 6, maxEvents: EVENTS / 2, ledger, maxBytes: 20_000 });
      if (signal === "SIGTERM") await drained(url);
      await gateway.kill(signal);
      await untilTraced(trace, gateway.pid);
      ops.push(...(await readDiskTrace(trace, folder)));
      rmSync(trace);
    }
  } finally {
    await sink.close();
  }
  const afterFirst = ops.slice(ops.findIndex(({ kind }) => kind === "acknowledge"));
  const hasCheckpoint = afterFirst.some((op) => op.kind === "write" && op.path === databaseOf(folder));
  expect({ hasCheckpoint }).toEqual({ hasCheckpoint: true });
  const acknowledged = ledger.flatMap(({ eventId, hash }) => (eventId === undefined ? [] : [[eventId, hash] as const]));
  expect(acknowledged).toHaveLength(EVENTS);
  return { folder, ops, hashes: new Map(acknowledged), masterKey: readFileSync(masterKeyOf(folder), "utf8") };
}

interface Findings {
  images: number;
  /** Images that lack an acknowledged event, or some of its bytes. */
  losing: number;
  lostEvents: number;
  /** Images that cannot be opened, or whose tables and indexes contradict each other. */
  broken: string[];
}

let written = 0;

async function cutPower(recording: Recording, images: number, seed: number): Promise<Findings> {
  const random = createSeededRandom(seed);
  const model = createDiskModel(recording.folder);
  const acknowledged: string[] = [];
  const findings: Findings = { images: 0, losing: 0, lostEvents: 0, broken: [] };
  const changing = recording.ops.length;
  for (const [index, op] of recording.ops.entries()) {
    model.apply(op);
    if (op.kind === "acknowledge") acknowledged.push(op.eventId);
    // Spread evenly over everything that happened.
    while (findings.images < ((index + 1) / changing) * images) {
      const fate = FATES[findings.images % FATES.length] ?? "dropped";
      // A path of its own for each, so that nothing of one can reach the next.
      const folder = join(shelf, `image-${++written}`);
      writeImage(model.image(fate, random), recording.folder, folder);
      findings.images++;
      const found = await inspect(folder, acknowledged, recording);
      if (found.lost > 0) {
        findings.losing++;
        process.stdout.write(
          `image ${findings.images}, ${fate}, after ${index + 1} of ${changing} steps: ` +
            `${found.lost} of ${acknowledged.length} lost, ${found.missing} of them missing\n`,
        );
      }
      findings.lostEvents += found.lost;
      if (found.fault !== undefined) findings.broken.push(`image ${findings.images}, ${fate}: ${found.fault}`);
      rmSync(folder, { recursive: true, force: true });
      if (findings.images % 50 === 0) await collectGarbage();
    }
  }
  await collectGarbage();
  return findings;
}

function writeImage(files: ReadonlyMap<string, Buffer>, from: string, to: string): void {
  for (const [path, content] of files) {
    // Shared memory is no file of the disk; the first to open the database makes it anew.
    if (path.endsWith("-shm")) continue;
    const file = join(to, path.slice(from.length));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** Starts from an image as the gateway does, then looks with SQL. */
async function inspect(
  folder: string,
  acknowledged: readonly string[],
  { hashes, masterKey }: Recording,
): Promise<{ lost: number; missing: number; fault: string | undefined }> {
  const file = databaseOf(folder);
  try {
    // Without it the subscriptions' secrets, and with them all deliveries, are out of reach.
    if (acknowledged.length > 0) expect(readFileSync(masterKeyOf(folder), "utf8")).toBe(masterKey);
    const store = await openSqliteStore({
      file,
      dedupeHorizonMs: 1000,
      thread: false,
      onFatal: () => undefined,
    });
    await store.lanes.recover([]);
    await store.close();
    const { events, check } = readImage(file);
    const lost = acknowledged.filter((eventId) => events.get(eventId) !== `${hashes.get(eventId)} 1`).length;
    const missing = acknowledged.filter((eventId) => !events.has(eventId)).length;
    return { lost, missing, fault: check === "ok" ? undefined : check };
  } catch (error) {
    return { lost: acknowledged.length, missing: acknowledged.length, fault: String(error) };
  }
}

function readImage(file: string): { events: Map<string, string>; check: string } {
  const db = new DatabaseSync(file);
  try {
    const rows = db
      .prepare(
        `select e.id, coalesce(e.body, b.body) as body,
           (select count(*) from deliveries d where d.event_seq = e.seq) as deliveries
         from events e left join bodies b on b.event_seq = e.seq`,
      )
      .all() as unknown as { id: string; body: Uint8Array; deliveries: number }[];
    const events = rows.map(({ id, body, deliveries }) => {
      const hash = createHash("sha256").update(body).digest("base64url");
      return [id, `${hash} ${deliveries}`] as const;
    });
    const { integrity_check: check } = db.prepare("pragma integrity_check").get() as { integrity_check: string };
    return { events: new Map(events), check };
  } finally {
    db.close();
  }
}

describe("power loss of the live server", () => {
  // shows: B1
  it(
    `loses nothing that was acknowledged in ${IMAGES} images of its disk`,
    async (context) => {
      requireStrace(context);
      const total = { images: 0, losing: 0, lostEvents: 0, broken: [] as string[] };
      for (let recorded = 0; total.images < IMAGES; recorded++) {
        const recording = await recordGateway(`full-${recorded}`);
        const found = await cutPower(recording, Math.min(IMAGES - total.images, IMAGES_PER_RECORDING), recorded + 1);
        total.images += found.images;
        total.losing += found.losing;
        total.lostEvents += found.lostEvents;
        total.broken.push(...found.broken);
      }
      report(
        `R1 power loss: ${total.lostEvents} acknowledged events lost in ${count(total.images)} images, ` +
          `${total.broken.length} images damaged`,
      );
      expect(total).toMatchObject({ losing: 0, lostEvents: 0, broken: [] });
    },
    600_000 + IMAGES * 1000,
  );

  it.for(["NORMAL", "OFF"] as const)(
    "is a test that can fail: synchronous=%s loses events",
    async (synchronous, context) => {
      requireStrace(context);
      const recording = await recordGateway(`control-${synchronous}`, { synchronous });
      const { images, losing, broken } = await cutPower(recording, CONTROL_IMAGES, 1);
      report(
        `R1 control, synchronous=${synchronous}: ${losing} of ${images} images lack acknowledged events, ` +
          `${broken.length} are damaged`,
      );
      expect(losing).toBeGreaterThan(images / 4);
    },
  );
});
