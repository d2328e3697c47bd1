import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import { accept, createStandingClock, newEvent } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";

const HOUR_MS = 3_600_000;

describe("a store that is opened by its URL", () => {
  const folder = useFolder();
  const options = { dedupeHorizonMs: 1, thread: false, onFatal: () => undefined };

  it("is of the driver that the scheme names", async () => {
    const store = await openStore(`sqlite:${join(folder.path, "posthorn.db")}`, options);
    folder.onEnd(() => store.close());
    expect(store.info.driver).toBe("sqlite");
    expect(await accept(store, newEvent())).toMatchObject({ kind: "stored" });
  });

  it.each(["mysql://localhost/posthorn", "posthorn.db", ""])("is rejected where that is %j", async (url) => {
    const refused = { code: "config_invalid", message: expect.stringContaining(`"${url}"`) };
    await expect(openStore(url, options)).rejects.toMatchObject(refused);
    await expect(openStore(url, options)).rejects.toThrow("sqlite:");
  });

  it("has the system's time, and none before what it wrote while the clock was ahead", async () => {
    const url = `sqlite:${join(folder.path, "ahead.db")}`;
    const ahead = Date.now() + HOUR_MS;
    const first = await openStore(url, { ...options, createClock: () => createStandingClock(ahead) });
    await accept(first, newEvent());
    await first.close();
    const again = await openStore(url, options);
    folder.onEnd(() => again.close());
    expect(again.clock.now()).toBeGreaterThanOrEqual(ahead);
    expect(again.clock.wall()).toBeLessThan(ahead);
  });
});
