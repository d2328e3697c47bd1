import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { lockDataDir } from "../../../src/store/sqlite/data-dir.ts";
import { useFolder } from "../../support/store-folder.ts";

const LOCK_URL = new URL("../../../src/store/sqlite/data-dir.ts", import.meta.url).href;

describe("the lock on a data directory", () => {
  const folder = useFolder();

  it("refuses a second gateway and lets it in when the first has gone", () => {
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
