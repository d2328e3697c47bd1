import { describe, expect, it } from "vitest";
import type { IdempotencyMark } from "../../../../src/store/port/records.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "../harness.ts";

const mark = (change: Partial<IdempotencyMark>): IdempotencyMark => ({
  scope: "tenants",
  key: "once",
  fingerprint: "f",
  madeId: "acme",
  madeAt: NOON,
  ...change,
});

const put = (id: string) =>
  ({ act: "put", kind: "target", tenantId: "", id, expected: "absent", format: 1, data: "{}" }) as const;

export function idempotencyMarksContract(harness: StoreHarness): void {
  describe("idempotency keys", () => {
    const shared = useStore(harness);

    it("are kept with what they made, or neither is", async () => {
      const { store } = shared;
      const make = (id: string, change: Partial<IdempotencyMark>) =>
        store.records.write({ changes: [put(id)], mark: mark({ madeId: id, ...change }), at: NOON });
      expect(await make("acme", {})).toMatchObject({ kind: "written" });
      expect(await store.records.findMark("tenants", "once")).toEqual(mark({}));
      expect(await store.records.findMark("keys/", "once")).toBeUndefined();
      // The thing is refused: its mark is not there either.
      expect(await make("acme", { key: "again" })).toMatchObject({ kind: "rejected" });
      expect(await store.records.findMark("tenants", "again")).toBeUndefined();
      // The mark is refused: nothing is made.
      expect(await make("other", {})).toMatchObject({ kind: "rejected" });
      expect(await store.records.find(put("other"))).toBeUndefined();
    });

    it("let one of many make its thing, when all come at once", async () => {
      const { store } = shared;
      const ids = [1, 2, 3, 4].map((n) => `race_${n}`);
      const tries = ids.map((id) =>
        store.records.write({ changes: [put(id)], mark: mark({ scope: "keys/", madeId: id }), at: NOON }),
      );
      const ended = await Promise.all(tries);
      expect(ended.map(({ kind }) => kind)).toEqual(["written", "rejected", "rejected", "rejected"]);
      const { records } = await store.records.load(["target"]);
      const madeId = (await store.records.findMark("keys/", "once"))?.madeId;
      expect(records.map(({ id }) => id).filter((id) => id.startsWith("race"))).toEqual([madeId]);
    });

    it("are forgotten by age, in steps", () =>
      inFreshPlace(harness, async ({ store }) => {
        const marks = Array.from({ length: 600 }, (_, n) => mark({ key: `k${n}`, madeAt: NOON + (n < 550 ? 0 : 10) }));
        await Promise.all(marks.map((one) => store.records.write({ changes: [], mark: one, at: NOON })));
        const prune = () => store.jobs.prune({ of: "idempotency_keys", before: NOON + 5 });
        const [first, second, third] = [await prune(), await prune(), await prune()];
        expect(first.removed).toBeLessThan(550);
        expect(first.removed + second.removed).toBe(550);
        expect([first, second, third]).toMatchObject([{ isEnd: false }, { isEnd: true }, { isEnd: true, removed: 0 }]);
        expect(await store.records.findMark("tenants", "k0")).toBeUndefined();
        expect(await store.records.findMark("tenants", "k599")).toBeDefined();
      }));
  });
}
