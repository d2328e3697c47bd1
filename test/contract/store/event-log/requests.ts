import { describe, expect, it } from "vitest";
import { NOON, commit, newRequest } from "../../../support/store-fixtures.ts";
import { useStore, type StoreHarness } from "../harness.ts";

export function requestsContract(harness: StoreHarness): void {
  describe("logged requests", () => {
    const shared = useStore(harness);

    it("give back their body and their parts, and remember that they were taken in again", async () => {
      const parts = '[{"event_id":null,"outcome":"ignored","cause":"noise"}]';
      shared.store.events.logRequest(newRequest("req_whole", { body: Uint8Array.from([0, 255, 1]), parts }));
      shared.store.events.logRequest(newRequest("req_bare", { body: undefined }));
      await commit(shared.store);
      expect([...((await shared.store.reads.loadRequestBody("req_whole")) ?? [])]).toEqual([0, 255, 1]);
      expect(await shared.store.reads.loadRequestBody("req_bare")).toBeUndefined();
      expect(await shared.store.reads.loadRequestBody("req_none")).toBeUndefined();
      expect(await shared.store.reads.findRequest("req_whole")).toMatchObject({ parts, replay: undefined });

      const replay = { at: NOON + 3, by: "key_1", eventIds: ["evt_1", "evt_2"] };
      await shared.store.events.recordRequestReplay("req_whole", replay);
      await shared.store.events.recordRequestReplay("req_none", replay);
      expect((await shared.store.reads.findRequest("req_whole"))?.replay).toEqual(replay);
      expect((await shared.store.reads.findRequest("req_bare"))?.replay).toBeUndefined();
    });

    it("are found by what became of them, and why", async () => {
      const logged = [
        ["req_1", "rejected", "bad_signature"],
        ["req_2", "ignored", "filtered"],
        ["req_3", "ignored", "duplicate"],
      ] as const;
      for (const [id, outcome, cause] of logged) {
        shared.store.events.logRequest(newRequest(id, { source: "found", ring: "found", outcome, cause }));
      }
      await commit(shared.store);
      const list = async (filter: object) => {
        const { rows } = await shared.store.reads.listRequests(
          { source: "found", ...filter },
          { limit: 9, cursor: undefined },
        );
        return rows.map(({ id }) => id);
      };
      expect(await list({ outcome: "ignored" })).toEqual(["req_3", "req_2"]);
      expect(await list({ cause: "bad_signature" })).toEqual(["req_1"]);
      expect(await list({ outcome: "rejected", cause: "filtered" })).toEqual([]);
    });
  });
}
