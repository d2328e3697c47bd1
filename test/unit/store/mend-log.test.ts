import { DatabaseSync } from "@photostructure/sqlite";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { findLogDamage } from "../../../src/store/sqlite/check-log.ts";
import { mendLog } from "../../../src/store/sqlite/mend-log.ts";
import { MEMORY_FOLDER } from "../../support/memory-folder.ts";

const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-mend-log-"));
const [sound, damaged] = [join(folder, "sound.db"), join(folder, "damaged.db")];
let log: Buffer;
let rows: unknown;

beforeAll(() => {
  const live = join(folder, "live.db");
  const db = new DatabaseSync(live);
  db.exec("pragma page_size = 4096; pragma journal_mode = wal; pragma wal_autocheckpoint = 0");
  db.exec("create table notes (id integer primary key, text blob)");
  const random = createSeededRandom(1);
  const insert = db.prepare("insert into notes (text) values (?)");
  for (let n = 0; n < 40; n++) insert.run(Buffer.from(random.bytes(n % 7 === 0 ? 9000 : 300)));
  for (const ending of ["", "-wal"]) copyFileSync(live + ending, sound + ending);
  db.close();
  log = readFileSync(`${sound}-wal`);
  rows = readRows(sound);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads a copy: reading changes the files. SQLite remembers the log of a file by its inode, so each copy is a new file. */
function readRows(file: string): unknown {
  const own = mkdtempSync(join(folder, "copy-"));
  for (const ending of ["", "-wal"]) copyFileSync(file + ending, join(own, `copy.db${ending}`));
  const db = new DatabaseSync(join(own, "copy.db"));
  try {
    return db.prepare("select id, hex(text) as text from notes order by id").all();
  } catch (error) {
    return String(error);
  } finally {
    db.close();
    rmSync(own, { recursive: true });
  }
}

function damage(changes: Readonly<Record<number, number>>): void {
  const bytes = Buffer.from(log);
  for (const [at, by] of Object.entries(changes)) bytes[Number(at)] = (bytes[Number(at)] as number) ^ by;
  copyFileSync(sound, damaged);
  writeFileSync(`${damaged}-wal`, bytes);
}

/** What was mended. The damaged log is kept beside it, or nothing is changed. */
function mend(): string | undefined {
  const file = `${damaged}-wal`;
  const before = readFileSync(file);
  const found = findLogDamage(file);
  const said = found === undefined ? undefined : mendLog(file, found);
  const [, kept = file] = /The damaged file is (\S+)$/.exec(said ?? "") ?? [];
  expect(readFileSync(kept).equals(before)).toBe(true);
  if (kept !== file) rmSync(kept);
  return said;
}

describe("a byte of the write-ahead log that was changed on the disk", () => {
  it("is put right wherever it is, or nothing is changed", () => {
    const random = createSeededRandom(2);
    let mended = 0;
    const tries = 150;
    for (let n = 0; n < tries; n++) {
      // Also each byte of the header and of the first frame's header.
      const at = n < 56 ? n : Math.floor(random.next() * log.length);
      damage({ [at]: 1 + Math.floor(random.next() * 255) });
      if (mend() === undefined) continue;
      mended++;
      expect(readRows(damaged)).toEqual(rows);
    }
    expect(mended / tries).toBeGreaterThan(0.8);
  });

  it("is a test that can fail: without mending, what follows the damage is lost", () => {
    damage({ [32 + 24 + 100]: 0x10 });
    expect(readRows(damaged)).not.toEqual(rows);
    expect(mend()).toMatch(/byte 156 was \d+ and is \d+ again/);
    expect(readRows(damaged)).toEqual(rows);
  });

  it("is put right in several frames", () => {
    damage({ [32 + 24 + 200]: 1, [32 + 9 * 4120 + 24 + 50]: 2, [32 + 20 * 4120 + 24 + 3000]: 4 });
    expect(mend()).toContain(`byte ${32 + 20 * 4120 + 24 + 3000} was`);
    expect(readFileSync(`${damaged}-wal`).equals(log)).toBe(true);
  });

  it("changes nothing where more than one byte of a frame is damaged", () => {
    damage({ [32 + 24 + 200]: 1, [32 + 24 + 300]: 2 });
    expect(mend()).toBeUndefined();
    expect(readdirSync(folder).filter((name) => name.includes(".damaged-"))).toEqual([]);
  });
});

describe("what a crash and then a power cut leave", () => {
  const FRAME = 24 + 4096;

  /** A log that a kill ended in the middle of a transaction, and in which the next run has written one more. */
  function writeAfterKill(): Buffer {
    const file = join(mkdtempSync(join(folder, "killed-")), "killed.db");
    copyFileSync(sound, file);
    writeFileSync(`${file}-wal`, log);
    const first = new DatabaseSync(file);
    first.exec("insert into notes (text) values (zeroblob(60000))");
    const interrupted = readFileSync(`${file}-wal`).subarray(0, -FRAME);
    first.close();
    const next = join(dirname(file), "next.db");
    copyFileSync(sound, next);
    writeFileSync(`${next}-wal`, interrupted);
    const second = new DatabaseSync(next);
    second.exec("pragma wal_autocheckpoint = 0; update notes set text = 'a' where id = 40");
    const whole = readFileSync(`${next}-wal`);
    second.close();
    expect(whole.length).toBe(interrupted.length);
    expect(whole.equals(interrupted)).toBe(false);
    return whole;
  }

  it("is not taken for damage: what was interrupted lies behind the transaction that the power cut hit", () => {
    const bytes = writeAfterKill();
    // Its first sectors reached the disk, the others did not.
    bytes.fill(0, log.length + 1024, log.length + FRAME);
    copyFileSync(sound, damaged);
    writeFileSync(`${damaged}-wal`, bytes);
    expect(findLogDamage(`${damaged}-wal`)).toMatchObject({ isCertain: false });
    expect(mend()).toBeUndefined();
    expect(readRows(damaged)).toEqual(rows);
  });

  it("is damage where another transaction follows (control)", () => {
    damage({ [32 + 24 + 200]: 1, [32 + 24 + 300]: 2, [32 + FRAME + 24 + 5]: 9, [32 + FRAME + 24 + 50]: 3 });
    expect(findLogDamage(`${damaged}-wal`)).toMatchObject({ frame: 1, isCertain: true });
  });
});
