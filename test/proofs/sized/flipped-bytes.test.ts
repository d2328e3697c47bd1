import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createManifest } from "../../../src/cli/backup/manifest.ts";
import { describePart, type PartSource, readArchive, writeArchive } from "../../../src/cli/backup/archive.ts";
import { isDamage, type PosthornError } from "../../../src/model/errors.ts";
import type { NewEvent } from "../../../src/store/port/event-log.ts";
import type { ClaimedDelivery } from "../../../src/store/port/lanes.ts";
import type { LoadedEvent } from "../../../src/store/port/reads.ts";
import { copyDatabase } from "../../../src/store/sqlite/copy-database.ts";
import { inspectDatabase } from "../../../src/store/sqlite/inspect.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { sumAgain } from "../../support/sum-again.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import {
  NOON,
  claim,
  createStandingClock,
  insertSubscription,
  newDeath,
  newDelivery,
  newEvent,
  newSettlement,
  settle,
  stored,
} from "../../support/store-fixtures.ts";

const FLIPS = sized({
  short: { database: 30, log: 20, archive: 10 },
  middle: { database: 600, log: 250, archive: 150 },
  long: { database: 6000, log: 2500, archive: 1500 },
});
const EVENTS = 40;
const DATABASE = "posthorn.db";

const root = mkdtempSync(join(MEMORY_FOLDER, "posthorn-flips-"));
const [stopped, killed] = [join(root, "stopped"), join(root, "killed")];
const sent = new Map<string, NewEvent>();
let lanes: readonly number[] = [];

function open(folder: string): Promise<Store> {
  return openSqliteStore({
    file: join(folder, DATABASE),
    createClock: () => createStandingClock(),
    dedupeHorizonMs: 1000,
    onFatal: () => undefined,
    thread: false,
  });
}

/** Small and large bodies, with and without the parts that some destinations are sent. */
function makeEvent(n: number): NewEvent {
  const random = createSeededRandom(n);
  return newEvent({
    type: `order.kind-${n}`,
    orderingKey: n % 3 === 0 ? `customer-${n}` : undefined,
    body: Buffer.from(random.bytes(n % 8 === 0 ? 20_000 : 50 + n * 40)),
    request: JSON.stringify({ method: "POST", headers: [`x-shop: ${n}`] }),
    details: n % 2 === 0 ? JSON.stringify({ metadata: { customer: n } }) : undefined,
  });
}

beforeAll(async () => {
  mkdirSync(stopped);
  const store = await open(stopped);
  lanes = [await insertSubscription(store, "one"), await insertSubscription(store, "other")];
  for (let n = 0; n < EVENTS; n++) {
    const event = makeEvent(n);
    await stored(store, event, [newDelivery(lanes[n % 2] as number)]);
    sent.set(event.id, event);
  }
  cpSync(stopped, killed, { recursive: true });
  await store.close();
});
afterAll(async () => {
  await collectGarbage();
  rmSync(root, { recursive: true, force: true });
});

interface Found {
  /** Sent with other bytes or other facts than came in, or where it was not meant to go. */
  wrong: number;
  right: number;
  kept: number;
  /** Neither sent nor waiting nor a dead letter. */
  lost: number;
  named: readonly string[];
}

function isRight({ event, subscriptionSeq }: ClaimedDelivery, loaded: LoadedEvent): boolean {
  const meant = sent.get(event.id);
  if (meant === undefined || subscriptionSeq !== lanes[[...sent.keys()].indexOf(event.id) % 2]) return false;
  const facts = ["type", "version", "source", "tenantId", "priority", "origin", "orderingKey", "contentType"] as const;
  return (
    facts.every((fact) => event[fact] === meant[fact]) &&
    event.occurredAt === meant.occurredAt &&
    event.receivedAt === meant.receivedAt &&
    loaded.request === meant.request &&
    loaded.details === meant.details &&
    Buffer.from(event.body ?? loaded.body ?? []).equals(meant.body)
  );
}

/** Sends all that can be sent, as the gateway does. */
async function deliverAll(folder: string): Promise<Found> {
  const found = { wrong: 0, right: 0, kept: 0, lost: 0 };
  const named: string[] = [];
  const name = (error: unknown) => {
    if (!isDamage(error) && (error as PosthornError).details?.["damage"] === undefined) throw error;
    named.push((error as Error).message);
  };
  let store: Store;
  try {
    store = await open(folder);
  } catch (error) {
    name(error);
    return { ...found, kept: EVENTS, named };
  }
  try {
    for (const lane of lanes) {
      for (let round = 0; round < EVENTS; round++) {
        const { claimed } = await claim(store, lane, { limit: 5 });
        for (const delivery of claimed) {
          const loaded = await store.reads.loadEvent(delivery.eventSeq).catch(name);
          if (loaded === undefined) {
            await settle(store, newDeath(delivery, { deadReason: "damaged" })).catch(name);
            continue;
          }
          if (isRight(delivery, loaded)) found.right++;
          else found.wrong++;
          await settle(store, newSettlement(delivery)).catch(name);
        }
      }
    }
    named.push(...(await store.reads.listDamages()).map(({ description }) => description));
    const { deliveries } = await store.reads.loadCounters();
    const imbalance = await store.reads.findImbalance();
    if (imbalance !== 0) named.push(`the counters differ from the rows by ${imbalance}`);
    const made = deliveries.reduce((sum, one) => sum + one.created, 0);
    found.kept = deliveries.reduce((sum, one) => sum + one.created - one.delivered, 0);
    found.lost = EVENTS - made;
  } catch (error) {
    name(error);
  } finally {
    await store.close().catch(name);
  }
  named.push(...findByDoctor(folder));
  return { ...found, named };
}

function findByDoctor(folder: string): readonly string[] {
  try {
    return inspectDatabase(join(folder, DATABASE), Number.POSITIVE_INFINITY, NOON)?.damages ?? [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/**
 * Bytes that SQLite uses for nothing are hit as well; then all is delivered as it came in. `hide`: called after each flip.
 */
async function flipMany(from: string, file: string, flips: number, seed: number, hide?: (database: string) => void) {
  const random = createSeededRandom(seed);
  const folder = join(root, `flipped-${seed}`);
  const sums = { flips: 0, harmless: 0, named: 0, whole: 0, wrong: 0, silent: [] as string[] };
  for (let n = 0; n < flips; n++) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const name of [DATABASE, `${DATABASE}-wal`]) {
      if (existsSync(join(from, name))) copyFileSync(join(from, name), join(folder, name));
    }
    const at = flip(join(folder, file), random);
    hide?.(join(folder, DATABASE));
    const { wrong, right, kept, lost, named } = await deliverAll(folder);
    sums.flips++;
    sums.wrong += wrong;
    if (right === EVENTS && kept === 0) sums.whole++;
    if (named.length > 0) sums.named++;
    else if (right === EVENTS && kept === 0) sums.harmless++;
    else sums.silent.push(`byte ${at}: ${right} sent, ${kept} kept, ${lost} lost`);
    if (n % 50 === 49) await collectGarbage();
  }
  return sums;
}

function flip(file: string, random: { next(): number }): number {
  const bytes = readFileSync(file);
  const at = Math.floor(random.next() * bytes.length);
  bytes[at] = (bytes[at] as number) ^ (1 + Math.floor(random.next() * 255));
  writeFileSync(file, bytes);
  return at;
}

describe("one flipped byte", () => {
  it("in the database: nothing is sent that is not as it came in, and what is not sent is kept and named", async () => {
    const { flips, harmless, named, wrong, silent } = await flipMany(stopped, DATABASE, FLIPS.database, 1);
    report(`flipped bytes in the database: ${count(flips)}; ${named} named, ${harmless} without effect`);
    expect({ wrong, silent }).toEqual({ wrong: 0, silent: [] });
  });

  it("in the log: it is not taken for the end of the log, and nearly always put right", async () => {
    const { flips, harmless, named, whole, wrong, silent } = await flipMany(killed, `${DATABASE}-wal`, FLIPS.log, 2);
    const mended = `${whole - harmless} put right`;
    report(`flipped bytes in the log: ${count(flips)}; ${named} named, ${mended}, ${harmless} without effect`);
    expect({ wrong, silent }).toEqual({ wrong: 0, silent: [] });
    expect(whole / flips).toBeGreaterThan(0.7);
  });

  it("in a backup: it is rejected, or the database is byte for byte the one that was saved", async () => {
    const copy = join(root, "copy.db");
    const copied = await copyDatabase({ from: join(stopped, DATABASE), to: copy, withLog: true });
    const parts: PartSource[] = [{ name: DATABASE, content: { file: copy } }];
    const manifest = createManifest({
      created_at: new Date(NOON).toISOString(),
      posthorn_version: "0",
      schema_version: copied.schemaVersion,
      with_events: true,
      with_master_key: false,
      master_key_fingerprint: null,
      store_url: "sqlite:",
      variables: [],
      needed_variables: [],
      defaulted_variables: [],
      records: copied.records,
      tables: copied.tables,
      parts: await Promise.all(parts.map(describePart)),
    });
    const archive = join(root, "backup.tar.gz");
    const { signal } = new AbortController();
    await writeArchive({ file: archive, manifest, parts, wallMs: NOON, onProgress: () => undefined, signal });
    const random = createSeededRandom(3);
    const [flipped, folder] = [join(root, "flipped.tar.gz"), join(root, "unpacked")];
    let [rejected, wrong] = [0, 0];
    for (let n = 0; n < FLIPS.archive; n++) {
      copyFileSync(archive, flipped);
      flip(flipped, random);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      const request = { file: flipped, folder, onManifest: () => undefined, onProgress: () => undefined, signal };
      const isRead = await readArchive(request).then(
        () => true,
        () => false,
      );
      if (!isRead) rejected++;
      else if (!readFileSync(join(folder, DATABASE)).equals(readFileSync(copy))) wrong++;
    }
    report(`flipped bytes in a backup: ${count(FLIPS.archive)}; ${rejected} rejected`);
    expect(wrong).toBe(0);
    expect(rejected).toBeGreaterThan(FLIPS.archive * 0.9);
  });

  it("is a test that can fail: with checksums of the flipped bytes, these are sent", async () => {
    const flips = sized({ short: 20, middle: 100, long: 100 });
    const { wrong } = await flipMany(stopped, DATABASE, flips, 1, (database) => {
      try {
        sumAgain(database);
      } catch {
        // SQLite itself cannot read what the flip has hit.
      }
    });
    expect(wrong).toBeGreaterThan(0);
  });
});
