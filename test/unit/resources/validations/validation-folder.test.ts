import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openMirroredValidations } from "../../../../src/resources/validations/validation-folder.ts";
import { createRegistry } from "../../../../src/resources/registry.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/open.ts";
import type { Logger } from "../../../../src/telemetry/logger.ts";
import type { Store } from "../../../../src/store/store.ts";
import { collectGarbage } from "../../../support/collect-garbage.ts";
import { until } from "../../../support/api-client.ts";
import { createStandingClock } from "../../../support/store-fixtures.ts";

const FIRST = '{"title":"first"}';
const SECOND = '{"title":"second"}';
const BROKEN = "broken";

afterAll(collectGarbage);

async function openBook(folder: string): Promise<Store> {
  const store = await openSqliteStore({
    file: join(folder, "posthorn.db"),
    createClock: () => createStandingClock(),
    dedupeHorizonMs: 1,
    onFatal: (error) => {
      throw error;
    },
    thread: false,
  });
  onTestFinished(() => store.close());
  return store;
}

/** A registry and a folder; each look happens when the test says so. */
async function openPlace(start: { book?: Store; path?: string } = {}) {
  const root = mkdtempSync(join(tmpdir(), "posthorn-validations-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = start.path ?? join(root, "validations");
  const book = start.book ?? (await openBook(root));
  const told: string[] = [];
  let next: (() => void) | undefined;
  const clock = {
    wall: () => 0,
    now: () => 0,
    setTimer: (_: number, run: () => void) => {
      next = run;
      return { cancel: () => (next = undefined) };
    },
  };
  const warn = (facts: object, what: string) => {
    const { file, reason } = facts as { file?: string; reason?: string };
    told.push(file === undefined ? what : reason === undefined ? `stranger ${file}` : `${file} ${reason}`);
  };
  const validations = await openMirroredValidations({
    registry: createRegistry({ records: book.records, clock }),
    store: book,
    examine: async ({ document }) => (Buffer.from(document).includes(BROKEN) ? "does not compile" : undefined),
    onChange: () => undefined,
    onBrokenChange: () => undefined,
    folder: path,
    clock,
    logger: {
      warn,
      info: (facts: object) => told.push(`${(facts as { file: string }).file} mended`),
    } as unknown as Logger,
  });

  async function look(times = 1): Promise<void> {
    for (let n = 0; n < times; n++) {
      const before = next;
      next = undefined;
      before?.();
      await until(() => next !== undefined);
    }
  }

  return {
    path,
    book,
    told,
    validations,
    look,
    write(name: string, text: string) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, name), text);
    },
    read: (name: string) => readFileSync(join(path, name), "utf8"),
    put: (endpoint: string, text: string) =>
      validations.put({ endpoint, format: "json", document: new Uint8Array(Buffer.from(text)), by: "key_1" }),
    inForce: () =>
      validations
        .list()
        .map(({ endpoint, format, document }) => [`${endpoint}.${format}`, Buffer.from(document).toString()]),
    history: async (endpoint: string) =>
      (await validations.versions(endpoint, { limit: 50, cursor: undefined })).rows.map(
        ({ version, createdBy, isDeleted }) => `${version} ${createdBy}${isDeleted ? " deleted" : ""}`,
      ),
  };
}

describe("the folder of validations", () => {
  it("need not be there, and is made when something is written", async () => {
    const place = await openPlace();
    await place.validations.start();
    await place.look(2);
    expect(() => readdirSync(place.path)).toThrow(/ENOENT/);
    await place.put("orders", FIRST);
    expect(readdirSync(place.path)).toEqual(["orders.json"]);
    expect(place.read("orders.json")).toBe(FIRST);
    await place.look(3);
    expect(await place.history("orders")).toEqual(["1 key_1"]);
    await place.validations.remove("orders", undefined, "key_1");
    expect(readdirSync(place.path)).toEqual([]);
    await place.look(3);
    expect(await place.history("orders")).toEqual(["2 key_1 deleted", "1 key_1"]);
    expect(place.told).toEqual([]);
  });

  it("brings in what is there at the start, and what is edited, once it is no longer being written", async () => {
    const place = await openPlace();
    place.write("orders.json", FIRST);
    place.write("orders.xsd", "<a/>");
    await place.validations.start();
    expect(place.inForce()).toEqual([
      ["orders.json", FIRST],
      ["orders.xsd", "<a/>"],
    ]);
    place.write("orders.json", SECOND);
    await place.look(1);
    place.write("orders.json", `${SECOND}\n`);
    await place.look(1);
    expect(place.inForce()[0]).toEqual(["orders.json", FIRST]);
    await place.look(1);
    expect(place.inForce()[0]).toEqual(["orders.json", `${SECOND}\n`]);
    await place.look(3);
    expect(await place.history("orders")).toEqual(["3 folder", "2 folder", "1 folder"]);
  });

  it("keeps the last good version of a broken file, and tells when it is broken and when it is mended", async () => {
    const place = await openPlace();
    place.write("orders.json", FIRST);
    await place.validations.start();
    place.write("orders.json", BROKEN);
    await place.look(4);
    expect(place.told).toEqual(["orders.json does not compile"]);
    expect(place.inForce()).toEqual([["orders.json", FIRST]]);
    place.write("orders.json", SECOND);
    await place.look(2);
    expect(place.told).toEqual(["orders.json does not compile", "orders.json mended"]);
    expect(place.inForce()).toEqual([["orders.json", SECOND]]);
    place.write("orders.json", "x".repeat(300_000));
    await place.look(2);
    expect(place.told.at(-1)).toBe("orders.json is larger than 256 KB");
    await place.put("orders", FIRST);
    await place.look(2);
    expect(place.told.at(-1)).toBe("orders.json mended");
    expect(place.read("orders.json")).toBe(FIRST);
  });

  it("ends a validation whose file is deleted, as a version, but not while an editor saves it", async () => {
    const place = await openPlace();
    place.write("orders.json", FIRST);
    await place.validations.start();
    renameSync(join(place.path, "orders.json"), join(place.path, ".orders.json.swp"));
    await place.look(1);
    renameSync(join(place.path, ".orders.json.swp"), join(place.path, "orders.json"));
    await place.look(3);
    expect(place.inForce()).toHaveLength(1);
    rmSync(join(place.path, "orders.json"));
    await place.look(2);
    expect(place.inForce()).toEqual([]);
    expect(await place.history("orders")).toEqual(["2 folder deleted", "1 folder"]);
  });

  it("deletes nothing when it is gone, empty after a mount, or cannot be read", async () => {
    const place = await openPlace();
    place.write("orders.json", FIRST);
    await place.validations.start();
    renameSync(place.path, `${place.path}-away`);
    await place.look(3);
    expect(place.inForce()).toHaveLength(1);
    // Another folder at the same place, as before a volume is mounted.
    mkdirSync(place.path);
    await place.look(3);
    expect(place.inForce()).toHaveLength(1);
    expect(place.read("orders.json")).toBe(FIRST);
    // No folder at all.
    renameSync(place.path, `${place.path}-away-too`);
    writeFileSync(place.path, "");
    await place.look(3);
    expect(place.inForce()).toHaveLength(1);
    expect(place.told).toEqual(["the folder of validations cannot be read"]);
  });

  it("takes names with capitals and dots, but no two that a file system may take for one", async () => {
    const place = await openPlace();
    for (const name of ["newOrder.json", "new.order.json"]) place.write(name, FIRST);
    await place.validations.start();
    expect(place.inForce().map(([name]) => name)).toEqual(["new.order.json", "newOrder.json"]);
    place.write("NEWORDER.json", SECOND);
    await place.look(3);
    expect(place.inForce()).toHaveLength(2);
    expect(place.told).toEqual([expect.stringMatching(/^NEWORDER.json differs from that of newOrder only in upper/)]);
  });

  it("passes over what is no validation, and says so where a name was meant as one", async () => {
    const place = await openPlace();
    for (const name of ["README.md", ".orders.json", "new order.json", "orders.json~"]) place.write(name, FIRST);
    mkdirSync(join(place.path, "dir.json"));
    symlinkSync("nowhere", join(place.path, "dangling.json"));
    await place.validations.start();
    await place.look(3);
    expect(place.inForce()).toEqual([]);
    expect(place.told).toEqual(["dir.json cannot be read (EISDIR)", "stranger new order.json"]);
  });
});

describe("a start with a folder", () => {
  it("takes a file that was edited meanwhile, and writes one that is missing", async () => {
    const before = await openPlace();
    await before.validations.start();
    await before.put("orders", FIRST);
    await before.put("users", FIRST);
    rmSync(join(before.path, "users.json"));
    before.write("orders.json", SECOND);
    const after = await openPlace(before);
    await after.validations.start();
    expect(after.inForce()).toEqual([
      ["orders.json", SECOND],
      ["users.json", FIRST],
    ]);
    expect(after.read("users.json")).toBe(FIRST);
  });

  it("keeps what was put while the folder could not be written, unless the file was edited since", async () => {
    const before = await openPlace();
    await before.validations.start();
    await before.put("orders", FIRST);
    await before.put("users", FIRST);
    // In the way of the temporary files.
    for (const name of ["orders", "users"]) mkdirSync(join(before.path, `.${name}.json.${process.pid}.tmp`));
    await before.put("orders", SECOND);
    await before.put("users", SECOND);
    expect(before.told).toEqual(Array(2).fill("a validation is in force, but cannot be written to its folder"));
    expect(before.read("orders.json")).toBe(FIRST);
    await before.look(3);
    expect(before.inForce().map(([, text]) => text)).toEqual([SECOND, SECOND]);

    for (const name of ["orders", "users"])
      rmSync(join(before.path, `.${name}.json.${process.pid}.tmp`), { recursive: true });
    before.write("users.json", '{"title":"edited"}');
    const after = await openPlace(before);
    await after.validations.start();
    expect(after.inForce()).toEqual([
      ["orders.json", SECOND],
      ["users.json", '{"title":"edited"}'],
    ]);
    expect(after.read("orders.json")).toBe(SECOND);
  });

  it("keeps the hash that tells one document from another", async () => {
    const place = await openPlace();
    await place.validations.start();
    await place.put("orders", FIRST);
    expect(place.validations.list()[0]?.hash).toBe(createHash("sha256").update(FIRST).digest("hex"));
  });
});
