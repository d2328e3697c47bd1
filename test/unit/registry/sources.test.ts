import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSecretBox } from "../../../src/registry/secret-box.ts";
import { createRegistry } from "../../../src/registry/registry.ts";
import { readState } from "../../../src/registry/source-settings.ts";
import { openSources, type Sources } from "../../../src/registry/sources.ts";
import { createSystemRandom } from "../../../src/domain/system-clock.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { SAMPLE_KIND } from "../../support/sample-kind.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { useFolder } from "../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../support/virtual-clock.ts";
import { settleCalls, watchCalls } from "../../support/watched-store.ts";

const HOUR_MS = 3_600_000;
const OLD = "the-old-secret-0123";
const NEW = "the-new-secret-4567";
const folder = useFolder();
const secretBox = createSecretBox("a master key of at least 32 characters");

/** Sources on a store, in virtual time. */
async function openBench() {
  const time = createVirtualTime(NOON);
  const calls = { made: 0, open: 0 };
  const faults: unknown[] = [];
  const opened = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    wall: time.wall,
    dedupeHorizonMs: HOUR_MS,
    thread: false,
    synchronous: "OFF",
    onFatal: (error) => faults.push(error),
  });
  folder.onEnd(() => opened.close());
  const store = watchCalls(opened, { state: "alive", calls, tell: (run) => run() });
  const clock = createVirtualClock(time);
  const kinds = new Map([SAMPLE_KIND, { name: "generic", needsSecret: false }].map((kind) => [kind.name, kind]));
  const open = (): Promise<Sources> =>
    openSources({
      registry: createRegistry({ records: store, clock }),
      records: store,
      clock,
      random: createSystemRandom(),
      secretBox,
      kinds,
      anySource: true,
      maxBytes: 1000,
      onFault: (error) => faults.push(error),
    });
  const settle = () => settleCalls(() => calls);
  return { clock, store, calls, faults, open, move: (byMs: number) => moveClock(time, byMs, settle) };
}

describe("sources", () => {
  it("let a replaced secret count for as long as the overlap lasts, and not a second longer", async () => {
    const bench = await openBench();
    const sources = await bench.open();
    await sources.create({ name: "shop", kind: "sample", secrets: [OLD] });
    await sources.rotateSecret("shop", { secret: NEW, overlapMs: HOUR_MS });
    const live = () => sources.find("shop")?.settings.secrets;
    await bench.move(HOUR_MS - 1000);
    expect(live()).toEqual([NEW, OLD]);
    await bench.move(1000);
    expect(live()).toEqual([NEW]);
    const [record] = (await bench.store.loadRecords(["source"])).records;
    const { state } = readState("shop", record?.data ?? "", secretBox);
    expect(state.secrets.map(({ secret }) => secret)).toEqual([NEW]);
    expect(bench.faults).toEqual([]);
    await sources.stop();
  });

  it("end what ran out while the gateway was down", async () => {
    const bench = await openBench();
    const before = await bench.open();
    await before.create({ name: "shop", kind: "sample", secrets: [OLD] });
    await before.rotateSecret("shop", { secret: NEW, overlapMs: HOUR_MS });
    await before.stop();
    await bench.move(2 * HOUR_MS);
    const after = await bench.open();
    expect(after.find("shop")?.settings.secrets).toEqual([NEW]);
    await after.stop();
  });

  it("write down when the last request came now and then, not with each", async () => {
    const bench = await openBench();
    const sources = await bench.open();
    await sources.create({ name: "shop" });
    const recordNow = async () => (await bench.store.loadRecords(["source"])).records[0];
    const lastOf = async () =>
      (JSON.parse((await recordNow())?.state ?? "{}") as { lastRequestAt?: number }).lastRequestAt;
    const madeBefore = bench.calls.made;
    for (let i = 1; i <= 100; i++) (sources.find("shop") as { lastRequestAt: number }).lastRequestAt = NOON + i;
    expect(bench.calls.made).toBe(madeBefore);
    await bench.move(30_000);
    expect(await lastOf()).toBe(NOON + 100);
    (sources.find("shop") as { lastRequestAt: number }).lastRequestAt = NOON + 200;
    await sources.change("shop", { max_bytes: 5 });
    await sources.stop();
    expect(await lastOf()).toBe(NOON + 200);
    const after = await bench.open();
    expect(after.find("shop")).toMatchObject({ lastRequestAt: NOON + 200, maxBytes: 5 });
    await after.stop();
  });

  it("keep what opens a door sealed in the store", async () => {
    const bench = await openBench();
    const sources = await bench.open();
    const auth = { header: "X-Token", token: "canary-token-0123456789" };
    await sources.create({
      name: "shop",
      kind: "sample",
      secrets: ["canary-secret-0123456789"],
      auth,
      path_token: "canary-path-token",
    });
    await sources.create({ name: "opts", kind: "sample", secrets: [OLD], options: { verify_token: "canary-option" } });
    expect(JSON.stringify(await bench.store.loadRecords(["source"]))).not.toContain("canary");
    await sources.stop();
    const after = await bench.open();
    expect(after.find("shop")).toMatchObject({
      pathToken: "canary-path-token",
      gate: { auth: { token: "canary-token-0123456789" } },
    });
    expect(after.find("opts")?.settings.options).toEqual({ verify_token: "canary-option" });
    await after.stop();
  });
});
