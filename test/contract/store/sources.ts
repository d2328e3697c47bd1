import { describe, expect, it } from "vitest";
import { newRequest, NOON } from "../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "./harness.ts";

export function sourcesContract(harness: StoreHarness): void {
  describe("sources", () => {
    const shared = useStore(harness);
    const find = async (name: string) => (await shared.store.loadSources()).find((row) => row.name === name);

    it("keep when they were made and when they were last used, whatever is saved of them later", async () => {
      const row = { name: "shop", settings: "{}", managedBy: "api", createdAt: NOON, updatedAt: NOON } as const;
      await shared.store.saveSource(row);
      await shared.store.noteSourceRequests([
        { name: "shop", at: NOON + 9 },
        { name: "nobody", at: NOON },
      ]);
      await shared.store.noteSourceRequests([{ name: "shop", at: NOON + 5 }]);
      await shared.store.saveSource({ ...row, settings: '{"a":1}', createdAt: NOON + 7, updatedAt: NOON + 8 });
      expect(await find("shop")).toEqual({
        ...row,
        settings: '{"a":1}',
        updatedAt: NOON + 8,
        lastRequestAt: NOON + 9,
      });
      await shared.store.deleteSource("shop");
      await shared.store.deleteSource("shop");
      expect(await find("shop")).toBeUndefined();
    });

    it("are made once for one Idempotency-Key", async () => {
      const mark = { scope: "sources", key: "k", fingerprint: "f", madeId: "once", madeAt: NOON };
      const row = { name: "once", settings: "{}", managedBy: "api", updatedAt: NOON } as const;
      await shared.store.saveSource(row, mark);
      await expect(shared.store.saveSource({ ...row, name: "twice" }, mark)).rejects.toMatchObject({
        code: "conflict",
      });
      expect(await find("twice")).toBeUndefined();
      expect(await shared.store.findIdempotencyKey("sources", "k")).toMatchObject({ madeId: "once" });
    });
  });

  describe("logged requests", () => {
    const shared = useStore(harness);

    it("give back their body and their parts, and remember that they were taken in again", async () => {
      const parts = '[{"event_id":null,"outcome":"ignored","cause":"noise"}]';
      shared.store.logRequest(newRequest("req_whole", { body: Uint8Array.from([0, 255, 1]), parts }));
      shared.store.logRequest(newRequest("req_bare", { body: undefined }));
      await shared.store.noteNow(NOON);
      expect([...((await shared.store.loadRequestBody("req_whole")) ?? [])]).toEqual([0, 255, 1]);
      expect(await shared.store.loadRequestBody("req_bare")).toBeUndefined();
      expect(await shared.store.loadRequestBody("req_none")).toBeUndefined();
      expect(await shared.store.findRequest("req_whole")).toMatchObject({ parts, replay: undefined });

      const replay = { at: NOON + 3, by: "key_1", eventIds: ["evt_1", "evt_2"] };
      await shared.store.noteRequestReplay("req_whole", replay);
      await shared.store.noteRequestReplay("req_none", replay);
      expect((await shared.store.findRequest("req_whole"))?.replay).toEqual(replay);
      expect((await shared.store.findRequest("req_bare"))?.replay).toBeUndefined();
    });

    it("are found by what became of them, and why", async () => {
      const logged = [
        ["req_1", "rejected", "bad_signature"],
        ["req_2", "ignored", "filtered"],
        ["req_3", "ignored", "duplicate"],
      ] as const;
      for (const [id, outcome, cause] of logged) {
        shared.store.logRequest(newRequest(id, { source: "found", ring: "found", outcome, cause }));
      }
      await shared.store.noteNow(NOON);
      const list = async (filter: object) => {
        const { rows } = await shared.store.listRequests("found", { limit: 9, cursor: undefined }, undefined, filter);
        return rows.map(({ id }) => id);
      };
      expect(await list({ outcome: "ignored" })).toEqual(["req_3", "req_2"]);
      expect(await list({ cause: "bad_signature" })).toEqual(["req_1"]);
      expect(await list({ outcome: "rejected", cause: "filtered" })).toEqual([]);
    });
  });
}
