import { describe, expect, it } from "vitest";
import {
  createAuditKey,
  createChainCheck,
  type ChainFault,
  type AuditData,
  type AuditEntry,
  type AuditRow,
} from "../../../src/model/audit.ts";
import type { AuditNote } from "../../../src/store/port/audit.ts";
import type { Store } from "../../../src/store/store.ts";
import { newDelivery, newEvent, NOON, stored } from "../../support/store-fixtures.ts";
import { inFreshPlace, insertLane, type StoreHarness } from "./harness.ts";
import { newReplay } from "./jobs/replays.ts";

export const AUDIT_SEED = "5e".repeat(32);

const note = (change: Partial<AuditNote> = {}): AuditNote => ({
  actor: "key:key_1",
  act: "target.create",
  kind: "target",
  id: "erp",
  ...change,
});
const put = (id: string, expected: number | "absent" = "absent") =>
  ({ act: "put", kind: "target", tenantId: "", id, expected, format: 1, data: "{}" }) as const;

async function readAll(store: Store): Promise<AuditEntry[]> {
  return (await store.audit.read(0, 10_000)).rows.map(({ entry }) => JSON.parse(entry) as AuditEntry);
}

async function verify(store: Store): Promise<ChainFault | undefined> {
  const { rows, storeId, checkpoint, head } = await store.audit.read(0, 10_000);
  const check = createChainCheck({ storeId, checkpoint, verify: createAuditKey(AUDIT_SEED).verify });
  for (const row of rows) check.take(row);
  return check.end(head);
}

const actsOf = async (store: Store) => (await readAll(store)).map(({ act }) => act);
const dataOf = ({ data }: AuditRow) => JSON.parse(data ?? "null") as AuditData;

export function auditContract(harness: StoreHarness): void {
  describe("the audit log", () => {
    it("begins once, and says what there was before", () =>
      inFreshPlace(harness, async ({ store }) => {
        await store.records.write({ changes: [put("old")], at: NOON });
        await store.audit.begin(NOON);
        await store.audit.begin(NOON + 1);
        const { rows, head } = await store.audit.read(0, 10);
        expect(rows.map(({ entry }) => JSON.parse(entry) as AuditEntry)).toMatchObject([
          { seq: 1, act: "audit.begin", actor: "gateway", at: NOON },
        ]);
        expect(dataOf(rows[0] as AuditRow).details).toEqual({ records: 1, upgraded: true });
        expect(head).toMatchObject({ seq: 1, hash: rows[0]?.hash });
      }));

    it("has the entry of a change with the change, or neither", () =>
      inFreshPlace(harness, async ({ store }) => {
        expect(await store.records.write({ changes: [put("erp")], audit: [note()], at: NOON })).toMatchObject({
          kind: "written",
        });
        expect(await store.records.write({ changes: [put("erp")], audit: [note()], at: NOON })).toMatchObject({
          kind: "rejected",
        });
        expect(await actsOf(store)).toEqual(["audit.begin", "target.create"]);
        // A fault in the middle of the transaction takes both away, and leaves those beside it.
        const beside = store.records.write({ changes: [put("crm")], audit: [note({ id: "crm" })], at: NOON });
        const events = [{ event: newEvent({ dueAt: NOON + 0.5 }), deliveries: [] }];
        await expect(
          store.records.write({ changes: [put("bad")], events, audit: [note({ id: "bad" })], at: NOON }),
        ).rejects.toThrow(/./);
        expect(await beside).toMatchObject({ kind: "written" });
        expect((await readAll(store)).map(({ id }) => id)).toEqual(["audit", "erp", "crm"]);
        expect(await verify(store)).toBeUndefined();
      }));

    it("has no entry of what an operator was refused, or of what was so already", () =>
      inFreshPlace(harness, async ({ store }) => {
        const lane = await insertLane(store, { name: "one" });
        const eventSeq = await stored(store, newEvent(), [newDelivery(lane)]);
        const key = { eventSeq, subscriptionSeq: lane };
        const cancel = () => store.lanes.change(key, { act: "cancel" }, note({ act: "delivery.cancel" }));
        await cancel();
        expect(await cancel()).toHaveProperty("refused");
        const replay = { ...newReplay({ id: "rpl_1" }), audit: note({ act: "replay.start" }) };
        await store.records.write({ changes: [], replay, at: NOON });
        await store.records.write({ changes: [], replay, at: NOON });
        const pause = () => store.jobs.setReplayStatus("rpl_1", "paused", undefined, note({ act: "replay.pause" }));
        await pause();
        await pause();
        await store.jobs.setReplayStatus("rpl_none", "paused", undefined, note({ act: "replay.pause" }));
        expect(await actsOf(store)).toEqual(["audit.begin", "delivery.cancel", "replay.start", "replay.pause"]);
      }));

    it("is one chain whoever writes at the same time, also over a crash", () =>
      inFreshPlace(harness, async (place) => {
        const writeMany = (store: Store) =>
          Promise.all(
            Array.from({ length: 50 }, (_, n) =>
              store.audit.note([note({ id: `a${n}` }), note({ id: `b${n}` })], NOON),
            ),
          );
        await writeMany(place.store);
        await place.kill();
        await writeMany(place.store);
        await place.reopen();
        await writeMany(place.store);
        const entries = await readAll(place.store);
        expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 301 }, (_, n) => n + 1));
        expect(await verify(place.store)).toBeUndefined();
      }));

    it("is listed the latest first, by all that is asked for", () =>
      inFreshPlace(harness, async ({ store }) => {
        await store.audit.note(
          [
            note({ tenantId: "acme", after: { status: "active" } }),
            note({ tenantId: "acme", act: "target.update", before: { url: "a" }, after: { url: "b" } }),
            note({ id: "crm", actor: "config" }),
          ],
          NOON,
        );
        await store.audit.note([note({ act: "target.delete" })], NOON + 10);
        const list = async (filter: object, limit = 50) =>
          (await store.audit.list(filter, { limit, cursor: undefined })).rows.map(({ seq }) => seq);
        expect(await list({})).toEqual([5, 4, 3, 2, 1]);
        expect(await list({ kind: "target", id: "erp" })).toEqual([5, 3, 2]);
        expect(await list({ tenantId: "acme" })).toEqual([3, 2]);
        expect(await list({ actor: "config" })).toEqual([4]);
        expect(await list({ act: "target.delete" })).toEqual([5]);
        expect(await list({ since: NOON + 1 })).toEqual([5]);
        expect(await list({ until: NOON + 1, kind: "target" })).toEqual([4, 3, 2]);
        expect(await list({ member: "status" })).toEqual([2]);
        const first = await store.audit.list({}, { limit: 3, cursor: undefined });
        const second = await store.audit.list({}, { limit: 3, cursor: first.nextCursor });
        expect([...first.rows, ...second.rows].map(({ seq }) => seq)).toEqual([5, 4, 3, 2, 1]);
      }));

    it("loses its old entries behind a signed checkpoint, and still verifies", () =>
      inFreshPlace(harness, async ({ store }) => {
        for (let n = 0; n < 20; n++) await store.audit.note([note({ id: `t${n}` })], NOON + n);
        const pruned = await store.jobs.prune({ of: "audit", before: NOON + 10 });
        expect(pruned).toMatchObject({ removed: 11, isEnd: true });
        const { rows, checkpoint } = await store.audit.read(0, 100);
        expect([rows[0]?.seq, checkpoint?.seq]).toEqual([12, 11]);
        expect((await actsOf(store)).at(-1)).toBe("audit.prune");
        expect(await verify(store)).toBeUndefined();
        // The last one stays, whatever its age: the head speaks of it.
        await store.jobs.prune({ of: "audit", before: NOON + 1e9 });
        expect((await store.audit.read(0, 100)).rows.length).toBeGreaterThan(0);
        expect(await verify(store)).toBeUndefined();
      }));
  });
}
