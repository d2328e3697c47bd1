import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDiskWatch } from "../../../src/manage/disk-watch.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime } from "../../support/virtual-clock.ts";

const BALLAST_BYTES = 8 * 1024 * 1024;

describe("the ballast", () => {
  const folder = useFolder();

  function open(ballastBytes = BALLAST_BYTES) {
    const watch = openDiskWatch({
      dataDir: folder.path,
      minFreeBytes: 0,
      ballastBytes,
      clock: createVirtualClock(createVirtualTime(NOON)),
      onChange: () => undefined,
    });
    folder.onEnd(() => watch.close());
    return { watch, file: join(folder.path, "ballast") };
  }

  it("is filled while the start goes on, and is whole when it has settled", async () => {
    const { watch, file } = open();
    expect(statSync(file, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    await watch.settled();
    expect(statSync(file).size).toBe(BALLAST_BYTES);
  });

  it("is given up at once when a write found no room, also while it is being filled", async () => {
    const { watch, file } = open();
    watch.noteFull();
    await watch.settled();
    expect(existsSync(file)).toBe(false);
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
