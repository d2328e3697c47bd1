import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDiskWatch } from "../../../src/jobs/disk-watch.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const BALLAST_BYTES = 8 * 1024 * 1024;

describe("the ballast", () => {
  const folder = useFolder();

  function open(ballastBytes = BALLAST_BYTES, dataDir = folder.path) {
    const time = createVirtualTime(NOON);
    const faults: unknown[] = [];
    const watch = openDiskWatch({
      dataDir,
      minFreeBytes: 0,
      ballastBytes,
      clock: createVirtualClock(time),
      measure: () => 100 * BALLAST_BYTES,
      loadReusableBytes: () => Promise.resolve(0),
      onChange: () => undefined,
      onBallastFault: (error) => faults.push(error),
    });
    folder.onEnd(() => watch.close());
    return { watch, faults, time, file: join(folder.path, "ballast") };
  }

  it("is filled while the start goes on, and is whole when it has settled", async () => {
    const { watch, file } = open();
    expect(statSync(file, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    await watch.settled();
    expect(statSync(file).size).toBe(BALLAST_BYTES);
  });

  it("is given up at once when a write found no room, also while it is being filled", async () => {
    const { watch, file, faults } = open();
    watch.recordFull();
    await watch.settled();
    expect(existsSync(file)).toBe(false);
    expect(faults).toEqual([]);
  });

  it("tells once why it cannot be written, and tries again", async () => {
    const { watch, faults, time } = open(BALLAST_BYTES, join(folder.path, "later"));
    await watch.settled();
    time.step();
    await watch.settled();
    expect(faults).toMatchObject([{ code: "ENOENT" }]);
    mkdirSync(join(folder.path, "later"));
    time.step();
    await watch.settled();
    expect(statSync(join(folder.path, "later", "ballast")).size).toBe(BALLAST_BYTES);
  });

  it("leaves nothing open when the gateway stops while it is being filled", async () => {
    const { watch, file } = open();
    await watch.close();
    expect(existsSync(file)).toBe(false);
  });

  it("is not made where none is asked for", async () => {
    const { watch, file } = open(0);
    await watch.settled();
    expect(existsSync(file)).toBe(false);
  });
});

describe("the mark of a disk that is nearly full", () => {
  const folder = useFolder();

  it("counts room inside of the database, as long as half of it is free on the disk itself", async () => {
    const time = createVirtualTime(NOON);
    const disk = { free: 1000, reusable: 0 };
    const changes: boolean[] = [];
    const watch = openDiskWatch({
      dataDir: folder.path,
      minFreeBytes: 1000,
      ballastBytes: 0,
      clock: createVirtualClock(time),
      loadReusableBytes: () => Promise.resolve(disk.reusable),
      measure: () => disk.free,
      onChange: (isLow) => changes.push(isLow),
      onBallastFault: () => undefined,
    });
    folder.onEnd(() => watch.close());
    const look = async () => {
      // The first look asks, the second has the answer.
      for (let turn = 0; turn < 2; turn++) {
        time.step();
        await new Promise(setImmediate);
      }
      return watch.isLow;
    };
    expect(await look()).toBe(false);
    disk.free = 600;
    expect(await look()).toBe(true);
    disk.reusable = 300;
    expect(await look()).toBe(true);
    disk.reusable = 400;
    expect(await look()).toBe(false);
    disk.free = 499;
    disk.reusable = 1_000_000;
    expect(await look()).toBe(true);
    disk.free = 1000;
    expect(await look()).toBe(false);
    expect(changes).toEqual([true, false, true, false]);
  });
});
