import { DatabaseSync } from "@photostructure/sqlite";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectGarbage } from "../support/collect-garbage.ts";
import { databaseOf, dataDirOf, startGatewayProcess, writeGatewayFolder } from "../support/gateway-process.ts";
import { sendLoad } from "../support/load.ts";

const PAGE_BYTES = 4096;
const root = mkdtempSync(join(tmpdir(), "posthorn-corrupt-"));
const stopped = join(root, "stopped");
const killed = join(root, "killed");
/** Where the first pages of tables and indexes lie. */
let rootPages: Map<string, number>;

beforeAll(async () => {
  writeGatewayFolder(stopped, []);
  await runGateway(stopped, "SIGTERM");
  // A log whose older part is in the database already.
  cpSync(stopped, killed, { recursive: true });
  // Its first start there notes that the folder is another one.
  await runGateway(killed, "SIGTERM");
  await runGateway(killed, "SIGKILL");
  const copy = join(root, "copy.db");
  cpSync(databaseOf(stopped), copy);
  rootPages = readRootPages(copy);
  await collectGarbage();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function runGateway(folder: string, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const gateway = startGatewayProcess({ folder });
  await sendLoad({ url: await gateway.ready, connections: 2, maxEvents: 20, ledger: [] });
  await gateway.kill(signal);
}

function readRootPages(file: string): Map<string, number> {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("select name, rootpage from sqlite_master where rootpage > 0").all();
  db.close();
  return new Map((rows as unknown as { name: string; rootpage: number }[]).map((row) => [row.name, row.rootpage]));
}

function hashFiles(folder: string): Record<string, string> {
  // The lock is no data, and shared memory is made anew by whoever looks.
  const names = readdirSync(dataDirOf(folder)).filter((name) => !/lock|-shm$/.test(name));
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(dataDirOf(folder), name)))
        .digest("hex"),
    ]),
  );
}

function flip(file: string, from: number, length: number): void {
  const bytes = readFileSync(file);
  for (let at = from; at < Math.min(bytes.length, from + length); at++) bytes[at] = (bytes[at] ?? 0) ^ 0xa5;
  writeFileSync(file, bytes);
}

const flipPageOf = (table: string) => (file: string) =>
  flip(file, ((rootPages.get(table) ?? 1) - 1) * PAGE_BYTES, PAGE_BYTES);

/** With a log beside, only pages that no start writes: what the log holds anew heals the damage. */
const DAMAGES: { name: string; from: string; spoil: (file: string) => void }[] = [
  {
    name: "a file that is no database",
    from: stopped,
    spoil: (file) => writeFileSync(file, "my notes\n".repeat(1000)),
  },
  { name: "the magic words changed", from: stopped, spoil: (file) => flip(file, 0, 16) },
  { name: "the header changed", from: stopped, spoil: (file) => flip(file, 16, 84) },
  { name: "the schema changed", from: stopped, spoil: (file) => flip(file, 100, PAGE_BYTES - 100) },
  { name: "the page of the migrations changed", from: stopped, spoil: flipPageOf("migrations") },
  { name: "the page of the settings changed", from: stopped, spoil: flipPageOf("meta") },
  { name: "the page of what users configure changed", from: stopped, spoil: flipPageOf("records") },
  { name: "the pages of the events changed", from: stopped, spoil: flipPageOf("events") },
  {
    name: "the end cut off",
    from: stopped,
    spoil: (file) => writeFileSync(file, readFileSync(file).subarray(0, 3 * PAGE_BYTES)),
  },
  { name: "what users configure changed, with a log beside", from: killed, spoil: flipPageOf("records") },
];

describe("a damaged database", () => {
  it.for(DAMAGES)("ends the start with a clear message and stays as it is: $name", async ({ name, from, spoil }) => {
    const folder = join(root, name.replaceAll(" ", "-"));
    cpSync(from, folder, { recursive: true });
    spoil(databaseOf(folder));
    const before = hashFiles(folder);
    const gateway = startGatewayProcess({ folder });
    await gateway.ready.catch(() => undefined);
    const { code, output } = await gateway.kill("SIGKILL");
    expect({ code, output }).toMatchObject({ code: 1 });
    expect(output).toMatch(/^posthorn: The database .*is damaged \(.*\)\..* restore a backup/);
    expect(output.trim().split("\n")).toHaveLength(1);
    expect(hashFiles(folder)).toMatchObject(before);
  });

  it("is a test that can fail: the same files undamaged start, and change", async () => {
    expect(existsSync(`${databaseOf(killed)}-wal`)).toBe(true);
    const folder = join(root, "well");
    cpSync(killed, folder, { recursive: true });
    const before = hashFiles(folder);
    const gateway = startGatewayProcess({ folder });
    await gateway.ready;
    expect(await gateway.kill("SIGTERM")).toMatchObject({ code: 0 });
    expect(hashFiles(folder)).not.toMatchObject(before);
  });
});
