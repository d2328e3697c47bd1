import { spawnSync } from "node:child_process";
import { describe, expect, it, afterEach, beforeEach } from "vitest";
import { lockDataDir, createPrivateFile, tightenDataDir } from "../../../src/store/sqlite/data-dir.ts";
import { useFolder } from "../../support/store-folder.ts";
import { chmodSync, mkdtempSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWriteConnection } from "../../../src/store/sqlite/connection.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { skipBecause } from "../../support/skip.ts";

const LOCK_URL = new URL("../../../src/store/sqlite/data-dir.ts", import.meta.url).href;

describe("the lock on a data directory", () => {
  const folder = useFolder();

  it("rejects a second gateway and lets it in when the first has gone", () => {
    const lock = lockDataDir(folder.path);
    expect(() => lockDataDir(folder.path)).toThrow(expect.objectContaining({ code: "data_dir_in_use" }));
    lock.release();
    lockDataDir(folder.path).release();
  });

  it("holds against another process, and not beyond the life of one that was killed", () => {
    const script = `
      const { lockDataDir } = await import(${JSON.stringify(LOCK_URL)});
      try { lockDataDir(process.argv[1]); console.log("locked"); } catch (error) { console.log(error.code); }
      process.kill(process.pid, "SIGKILL");`;
    const inAnotherProcess = () =>
      spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script, folder.path], {
        encoding: "utf8",
      }).stdout.trim();
    const lock = lockDataDir(folder.path);
    expect(inAnotherProcess()).toBe("data_dir_in_use");
    lock.release();
    expect(inAnotherProcess()).toBe("locked");
    lockDataDir(folder.path).release();
  });
});

let folder: string;
let dataDir: string;
beforeEach((context) => {
  if (process.platform === "win32") skipBecause(context, "there are no rights of this kind");
  folder = mkdtempSync(join(tmpdir(), "posthorn-private-"));
  dataDir = join(folder, "data");
  mkdirSync(dataDir);
});
afterEach(async () => {
  await collectGarbage();
  rmSync(folder, { recursive: true, force: true });
});

const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
const database = () => join(dataDir, "posthorn.db");

function makeOpen(path: string, mode = 0o644): string {
  writeFileSync(path, "");
  chmodSync(path, mode);
  return path;
}

describe("the files of a gateway", () => {
  it("are made for its own user: the database, its log, and the lock", () => {
    const { db } = openWriteConnection({ file: database() });
    db.exec("create table a (b)");
    const lock = lockDataDir(dataDir);
    const names = ["posthorn.db", "posthorn.db-wal", "posthorn.db-shm", "posthorn.lock"];
    expect(names.map((name) => modeOf(join(dataDir, name)))).toEqual(["600", "600", "600", "600"]);
    lock.release();
    db.close();
  });

  it("are closed to others where they were open, and so is the folder", () => {
    chmodSync(dataDir, 0o755);
    const files = ["posthorn.db", "posthorn.db-wal", "posthorn.lock", "master.key", "admin.key", "in-flight"];
    const paths = files.map((name) => makeOpen(join(dataDir, name)));
    const found = tightenDataDir(dataDir, database());
    expect(found.open).toEqual([]);
    expect(found.closed.sort()).toEqual([dataDir, ...paths].sort());
    expect(modeOf(dataDir)).toBe("700");
    for (const path of paths) expect(modeOf(path)).toBe("600");
    // Nothing to tell of a second time.
    expect(tightenDataDir(dataDir, database())).toEqual({ closed: [], open: [] });
  });

  it("are all that is touched: neither other files, nor what a link leads to, nor the folder of a database elsewhere", () => {
    const other = makeOpen(join(dataDir, "notes.txt"));
    const outside = makeOpen(join(folder, "outside"));
    symlinkSync(outside, join(dataDir, "master.key"));
    chmodSync(folder, 0o755);
    const elsewhere = makeOpen(join(folder, "events.db"), 0o666);
    const found = tightenDataDir(dataDir, elsewhere);
    expect(found.closed).toContain(elsewhere);
    expect([elsewhere, other, outside, folder].map(modeOf)).toEqual(["600", "644", "644", "755"]);
  });

  it("are told of where they cannot be closed: a folder for everybody stays one", () => {
    chmodSync(dataDir, 0o1777);
    expect(tightenDataDir(dataDir, database())).toEqual({ closed: [], open: [dataDir] });
    expect(modeOf(dataDir)).toBe("1777");
  });

  it("are not made anew where they are", () => {
    writeFileSync(database(), "kept");
    createPrivateFile(database());
    expect(statSync(database()).size).toBe(4);
  });
});
