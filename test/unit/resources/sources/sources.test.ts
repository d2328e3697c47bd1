import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SourceInput } from "../../../../src/model/source.ts";
import { createSecretBox } from "../../../../src/resources/secret-box.ts";
import { createRegistry } from "../../../../src/resources/registry.ts";
import { readState } from "../../../../src/resources/sources/source-record.ts";
import { openSources, type Sources } from "../../../../src/resources/sources/sources.ts";
import { createSystemRandom } from "../../../../src/model/clock.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/open.ts";
import { SAMPLE_KIND } from "../../../support/sample-kind.ts";
import { newEvent, NOON } from "../../../support/store-fixtures.ts";
import { useFolder } from "../../../support/store-folder.ts";
import { createVirtualClock, createVirtualTime, moveClock } from "../../../support/virtual-clock.ts";
import { settleCalls, watchCalls } from "../../../support/watched-store.ts";

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
    createClock: () => createVirtualClock(time),
    dedupeHorizonMs: HOUR_MS,
    thread: false,
    synchronous: "OFF",
    onFatal: (error) => faults.push(error),
  });
  folder.onEnd(() => opened.close());
  const store = watchCalls(opened, { state: "alive", calls, tell: (run) => run() });
  const { clock } = store;
  const kinds = new Map([SAMPLE_KIND, { name: "generic", needsSecret: false }].map((kind) => [kind.name, kind]));
  const openRegistry = () => createRegistry({ records: store.records, clock });
  const open = (change: Partial<Parameters<typeof openSources>[0]> = {}): Promise<Sources> =>
    openSources({
      registry: openRegistry(),
      records: store.records,
      clock,
      random: createSystemRandom(),
      secretBox,
      kinds,
      anySource: true,
      maxBytes: 1000,
      onFault: (error) => faults.push(error),
      ...change,
    });
  const settle = () => settleCalls(() => calls);
  return { clock, store, calls, faults, openRegistry, open, move: (byMs: number) => moveClock(time, byMs, settle) };
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
    const [record] = (await bench.store.records.load(["source"])).records;
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
    const recordNow = async () => (await bench.store.records.load(["source"])).records[0];
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

  it("keep credentials sealed in the store", async () => {
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
    expect(JSON.stringify(await bench.store.records.load(["source"]))).not.toContain("canary");
    await sources.stop();
    const after = await bench.open();
    expect(after.find("shop")).toMatchObject({
      pathToken: "canary-path-token",
      gate: { auth: { token: "canary-token-0123456789" } },
    });
    expect(after.find("opts")?.settings.options).toEqual({ verify_token: "canary-option" });
    await after.stop();
  });

  it("tell with the change itself that one takes no webhooks any more, once, however often it is checked", async () => {
    const bench = await openBench();
    const told: string[] = [];
    const written: string[] = [];
    const onDisabled: Parameters<typeof openSources>[0]["onDisabled"] = ({ name, status }, reason, draft) => {
      told.push(reason);
      draft.whenWritten(() => written.push(`${name} ${status}`));
      draft.accept(newEvent({ type: "source.disabled" }), [], ({ kind }) => written.push(kind));
    };
    const registry = bench.openRegistry();
    const [one, other] = [await bench.open({ onDisabled }), await bench.open({ onDisabled, registry })];
    await one.create({ name: "shop" });
    await expect(other.setStatus("shop", "paused", { ifMatch: '"0"' })).rejects.toMatchObject({
      code: "precondition_failed",
    });
    await one.change("shop", { max_bytes: 5 });
    // It does not know of the last change, and judges twice.
    await other.setStatus("shop", "paused");
    expect(told).toEqual(["it was set to paused", "it was set to paused"]);
    expect(written).toEqual(["shop paused", "stored"]);
    await other.setStatus("shop", "closed");
    await registry.changeAll((draft) => other.declareIn(draft, []));
    expect(written).toHaveLength(2);
    const { rows } = await bench.store.reads.listEvents({}, { limit: 9, cursor: undefined });
    expect(rows.map(({ type }) => type)).toEqual(["source.disabled"]);
    await Promise.all([one.stop(), other.stop()]);
  });

  it("take over all that is declared, or nothing", async () => {
    const bench = await openBench();
    const registry = bench.openRegistry();
    const sources = await bench.open({ registry });
    const declare = (inputs: readonly SourceInput[]) => registry.changeAll((draft) => sources.declareIn(draft, inputs));
    await sources.create({ name: "mine" });
    await expect(declare([{ name: "new" }, { name: "mine" }])).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("created by API"),
    });
    const wrong = declare([{ name: "new" }, { name: "wrong", kind: "sample" }]);
    await expect(wrong).rejects.toMatchObject({ code: "config_invalid" });
    expect(sources.list(undefined).map(({ source }) => source.name)).toEqual(["mine"]);
    await sources.stop();
  });

  it("are never open to anybody because a newer release wrote them", async () => {
    const bench = await openBench();
    const sources = await bench.open();
    expect(sources.find("shop")?.declared).toBe(false);
    const key = { kind: "source", tenantId: "", id: "shop" } as const;
    await bench.store.records.write({
      changes: [{ act: "put", ...key, expected: "absent", format: 2, data: "{}" }],
      at: NOON,
    });
    // Whoever changes one sees what others have changed.
    await sources.create({ name: "any" });
    expect([sources.find("shop"), sources.find("other")?.declared]).toEqual([undefined, false]);
    await sources.stop();
  });

  it("are not given to who made one of that name before, when it is another tenant's now", async () => {
    const bench = await openBench();
    const sources = await bench.open();
    const input = { name: "shop", tenant_id: "acme", path_token: true };
    const once = { scope: "sources ", key: "k", fingerprint: "f" };
    const made = await sources.create(input, {}, once);
    expect((await sources.create(input, {}, once)).entry).toEqual(made.entry);
    await sources.remove("shop");
    await sources.create({ ...input, tenant_id: "other" });
    await expect(sources.create(input, {}, once)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("created was deleted"),
    });
    await sources.stop();
  });
});
