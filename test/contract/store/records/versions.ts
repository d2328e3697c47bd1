import { describe, expect, it } from "vitest";
import type { RecordChange, RecordKind, WriteRequest, WriteResult } from "../../../../src/store/port/records.ts";
import type { Store } from "../../../../src/store/store.ts";
import { NOON, countOpen, newDelivery, newEvent } from "../../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness } from "../harness.ts";

const KINDS: readonly RecordKind[] = ["event_type", "target"];
type PutRecord = Extract<RecordChange, { act: "put" }>;
type Expected = RecordChange["expected"];

function put(id: string, expected: Expected, data = "{}", change: Partial<PutRecord> = {}): RecordChange {
  return { act: "put", kind: "event_type", tenantId: "", id, expected, format: 1, data, ...change };
}
function remove(id: string, expected: Expected): RecordChange {
  return { act: "delete", kind: "event_type", tenantId: "", id, expected, format: 1 };
}
const write = (store: Store, changes: readonly RecordChange[], rest: Partial<WriteRequest> = {}) =>
  store.records.write({ changes, at: NOON, ...rest });
const versionOf = (result: WriteResult) => (result.kind === "written" ? result.version : Number.NaN);
const mark = (key: string, fingerprint = "f") => ({ scope: "s", key, fingerprint, madeId: "a", madeAt: NOON });

export function versionsContract(harness: StoreHarness): void {
  describe("records", () => {
    it("are kept with data, bytes, times and number, through a restart and a crash", () =>
      inFreshPlace(harness, async (place) => {
        const blob = Uint8Array.of(0, 255);
        const data = JSON.stringify({ text: "\u0000é😀" });
        const made = await write(place.store, [put("a", "absent", data, { blob, format: 3 })]);
        await write(place.store, [put("a", versionOf(made), data, { blob, format: 3 })], { at: NOON + 5 });
        const { version, records } = await place.store.records.load(KINDS);
        expect(records).toEqual([
          {
            seq: expect.any(Number) as number,
            kind: "event_type",
            tenantId: "",
            id: "a",
            version,
            format: 3,
            data,
            blob,
            state: undefined,
            createdAt: NOON,
            updatedAt: NOON + 5,
            deletedAt: undefined,
          },
        ]);
        expect(await (await place.reopen()).records.load(KINDS)).toEqual({ version, records });
        expect(await (await place.kill()).records.load(KINDS)).toEqual({ version, records });
        expect((await place.store.records.load(["target"])).records).toEqual([]);
      }));

    it("have versions that only grow, and changes since any of them are told, deletions too", () =>
      inFreshPlace(harness, async ({ store }) => {
        const start = (await store.records.load(KINDS)).version;
        const first = versionOf(await write(store, [put("a", "absent"), put("b", "absent")]));
        const second = versionOf(await write(store, [put("a", first, "[]")]));
        const third = versionOf(await write(store, [remove("b", first)], { at: NOON + 9 }));
        expect([start < first, first < second, second < third]).toEqual([true, true, true]);
        const since = async (version: number) => {
          const changes = await store.records.changesSince(version, KINDS);
          return [changes.version, ...changes.records.map((one) => [one.id, one.version, one.data])];
        };
        expect(await since(start)).toEqual([third, ["a", second, "[]"], ["b", third, undefined]]);
        expect(await since(second)).toEqual([third, ["b", third, undefined]]);
        expect(await since(third)).toEqual([third]);
        expect((await store.records.changesSince(start, ["target"])).records).toEqual([]);
        expect((await store.records.load(KINDS)).records.map(({ id }) => id)).toEqual(["a"]);
        const tombstone = (await store.records.changesSince(second, KINDS)).records[0];
        expect(tombstone).toMatchObject({ deletedAt: NOON + 9, blob: undefined });
      }));

    it("come back under their number, and no other gets it", () =>
      inFreshPlace(harness, async (place) => {
        const made = await write(place.store, [put("a", "absent"), put("b", "absent")]);
        const [seq] = made.kind === "written" ? made.seqs : [];
        await write(place.store, [remove("a", versionOf(made)), remove("b", versionOf(made))]);
        const store = await place.reopen();
        const others = await write(store, [put("c", "absent")]);
        const back = await write(store, [put("a", "absent")], { at: NOON + 7 });
        expect(back).toMatchObject({ kind: "written", seqs: [seq] });
        expect(others.kind === "written" && (others.seqs[0] ?? 0) > (seq ?? 0) + 1).toBe(true);
        const record = (await store.records.load(KINDS)).records.find(({ id }) => id === "a");
        expect(record).toMatchObject({ createdAt: NOON + 7, deletedAt: undefined });
      }));

    it("are changed by one of two who expect the same version", () =>
      inFreshPlace(harness, async ({ store }) => {
        const first = versionOf(await write(store, [put("a", "absent")]));
        const results = await Promise.all([1, 2].map((n) => write(store, [put("a", first, `[${n}]`)])));
        const version = versionOf(results[0] as WriteResult);
        const key = { kind: "event_type", tenantId: "", id: "a" };
        expect(results[1]).toEqual({ kind: "rejected", why: "changed", key, version });
        expect((await store.records.load(KINDS)).records.map(({ data }) => data)).toEqual(["[1]"]);
        expect(await write(store, [put("a", "absent")])).toMatchObject({ why: "changed", version });
        expect(await write(store, [remove("b", 1)])).toMatchObject({ why: "changed", version: undefined });
        expect(
          await write(store, [], { checks: [{ kind: "event_type", tenantId: "", id: "a", expected: first }] }),
        ).toMatchObject({ why: "changed", version });
      }));

    it("are guarded by kind and tenant against what came since", () =>
      inFreshPlace(harness, async ({ store }) => {
        const target = (id: string, tenantId: string) => put(id, "absent", "{}", { kind: "target", tenantId });
        const since = versionOf(await write(store, [target("t", "acme")]));
        await write(store, [put("a", "absent")]);
        const guarded = (tenantId?: string) =>
          write(store, [], { guards: [{ kind: "target", tenantId, since }] }).then(({ kind }) => kind);
        expect(await guarded()).toBe("written");
        await write(store, [target("u", "other")]);
        expect([await guarded(), await guarded("acme"), await guarded("other")]).toEqual([
          "rejected",
          "written",
          "rejected",
        ]);
        const version = (await store.records.load(KINDS)).records.find(({ id }) => id === "t")?.version ?? 0;
        await write(store, [
          { act: "delete", kind: "target", tenantId: "acme", id: "t", expected: version, format: 1 },
        ]);
        expect(await guarded("acme")).toBe("rejected");
      }));

    it("of a newer format are not overwritten, nor deleted", () =>
      inFreshPlace(harness, async ({ store }) => {
        const version = versionOf(await write(store, [put("a", "absent", "[2]", { format: 2 })]));
        for (const change of [put("a", version), put("a", "absent"), remove("a", version)]) {
          expect(await write(store, [put("b", "absent"), change])).toMatchObject({ why: "newer_format", format: 2 });
        }
        expect((await store.records.load(KINDS)).records.map(({ id, data }) => [id, data])).toEqual([["a", "[2]"]]);
        expect((await write(store, [put("a", version, "[3]", { format: 3 })])).kind).toBe("written");
      }));

    it("are written with their event and their mark, or none of it is there", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store);
        const event = (id: string) => ({ event: newEvent({ id }), deliveries: [newDelivery(lane)] });
        const together = (key: string, changes: readonly RecordChange[], id: string, fingerprint?: string) =>
          write(store, changes, { events: [event(id)], mark: mark(key, fingerprint) });
        const good = await together("k", [put("a", "absent")], "evt_01k0000000000000000000000a");
        expect(good).toMatchObject({ kind: "written", events: [{ kind: "stored", claimed: [false] }] });
        const before = await store.records.load(KINDS);
        const refused = [
          await together("k", [put("b", "absent")], "evt_01k0000000000000000000000b", "other"),
          await together("k2", [put("b", "absent"), put("a", "absent")], "evt_01k0000000000000000000000c"),
        ];
        expect(refused.map((one) => one.kind === "rejected" && one.why)).toEqual(["idempotency_key_used", "changed"]);
        expect(refused[0]).toMatchObject({ mark: mark("k") });
        expect(await store.records.load(KINDS)).toEqual(before);
        expect(await store.records.findMark("s", "k2")).toBeUndefined();
        expect((await store.reads.listEvents({}, { limit: 9, cursor: undefined })).rows).toHaveLength(1);
        expect(await countOpen(store)).toBe(1);
        expect(await store.reads.findImbalance()).toBe(0);
      }));

    describe("whose versions are kept", () => {
      const series = { kind: "validation", tenantId: "", series: "s" } as const;
      const all = { limit: 9, cursor: undefined };
      const blob = Uint8Array.of(0, 255, 39);
      const keep = (id: string, expected: Expected, number: number, change: Partial<PutRecord> = {}): RecordChange =>
        put(id, expected, `[${number}]`, {
          kind: "validation",
          kept: { series: "s", number, data: `[${number}]` },
          blob,
          ...change,
        });
      const end = (id: string, expected: Expected, number: number): RecordChange => ({
        ...remove(id, expected),
        kind: "validation",
        kept: { series: "s", number, data: `["end"]` },
      });

      it("leave every one of them behind, deletions too, through a crash", () =>
        inFreshPlace(harness, async (place) => {
          const first = versionOf(await write(place.store, [keep("a", "absent", 1), keep("b", "absent", 2)]));
          const second = versionOf(await write(place.store, [keep("a", first, 3, { blob: undefined })]));
          await write(place.store, [end("a", second, 4), end("b", first, 5)], { at: NOON + 9 });
          await place.store.records.recordStates([{ series: series, number: 5, state: "[true]" }]);
          const store = await place.kill();
          expect((await store.records.load(["validation"])).records).toEqual([]);
          const { rows } = await store.records.listVersions(series, all);
          expect(
            rows.map(({ number, id, isDeleted, data, size, state }) => [number, id, isDeleted, data, size, state]),
          ).toEqual([
            [5, "b", true, '["end"]', 0, "[true]"],
            [4, "a", true, '["end"]', 0, undefined],
            [3, "a", false, "[3]", 0, undefined],
            [2, "b", false, "[2]", 3, undefined],
            [1, "a", false, "[1]", 3, undefined],
          ]);
          expect(rows.every((row) => row.blob === undefined)).toBe(true);
          expect(await store.records.findVersion(series, 2)).toEqual({ ...rows[3], blob });
          expect(rows.map(({ createdAt }) => createdAt)).toEqual([NOON + 9, NOON + 9, NOON, NOON, NOON]);
          expect(await store.records.findVersion(series, 6)).toBeUndefined();
          expect(await store.records.findVersion({ ...series, tenantId: "acme" }, 1)).toBeUndefined();
          const page = await store.records.listVersions(series, { limit: 4, cursor: undefined });
          const next = await store.records.listVersions(series, { limit: 4, cursor: page.nextCursor });
          expect([page.rows.length, next.rows.map(({ number }) => number), next.nextCursor]).toEqual([
            4,
            [1],
            undefined,
          ]);
        }));

      it("are refused where the number is not the next, and nothing is written", () =>
        inFreshPlace(harness, async ({ store }) => {
          const made = versionOf(await write(store, [keep("a", "absent", 1)]));
          await write(store, [end("a", made, 2)]);
          // The record looks as it did before it was ever made.
          for (const changes of [
            [keep("a", "absent", 1)],
            [keep("a", "absent", 4)],
            [keep("a", "absent", 3), keep("b", "absent", 3)],
          ]) {
            expect(await write(store, changes)).toMatchObject({ kind: "rejected", why: "changed" });
          }
          expect((await store.records.listVersions(series, all)).rows).toHaveLength(2);
          expect((await write(store, [keep("a", "absent", 3), keep("b", "absent", 4)])).kind).toBe("written");
          const other = keep("c", "absent", 1, { kept: { series: "t", number: 1, data: "[]" } });
          expect((await write(store, [other])).kind).toBe("written");
        }));
    });

    it("carry a state that moves no version and goes with them", () =>
      inFreshPlace(harness, async (place) => {
        const made = await write(place.store, [put("a", "absent")]);
        const seq = (made.kind === "written" && made.seqs[0]) || 0;
        await place.store.records.recordStates([{ seq, state: "[1]" }]);
        await place.store.records.recordStates([
          { seq, state: "[2]" },
          { seq: seq + 1, state: "nobody's" },
        ]);
        const store = await place.reopen();
        const loaded = await store.records.load(KINDS);
        expect([loaded.version, loaded.records[0]?.state]).toEqual([versionOf(made), "[2]"]);
        const changed = versionOf(await write(store, [put("a", versionOf(made))]));
        expect((await store.records.changesSince(versionOf(made), KINDS)).records[0]?.state).toBe("[2]");
        await write(store, [remove("a", changed)]);
        await store.records.recordStates([{ seq, state: "[3]" }]);
        await write(store, [put("a", "absent")]);
        expect((await store.records.load(KINDS)).records[0]).toMatchObject({ seq, state: undefined });
      }));
  });
}
