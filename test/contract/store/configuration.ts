import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/domain/errors.ts";
import { newSubscription, NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "./harness.ts";

export function configurationContract(harness: StoreHarness): void {
  describe("configuration", () => {
    const shared = useStore(harness);
    const findRow = async (seq: number) => (await shared.store.loadSubscriptions()).find((row) => row.seq === seq);

    it("keeps subscriptions, and changes only what it is told to", async () => {
      const change = { secrets: Uint8Array.from([0, 255]), settings: '{"url":"x"}', createdBy: "key_1" };
      const row = newSubscription("kept", change);
      const seq = await shared.store.insertSubscription(row);
      const saved = await findRow(seq);
      expect({ ...saved, secrets: [...(saved?.secrets ?? [])] }).toEqual({ ...row, seq, secrets: [0, 255] });
      await shared.store.updateSubscription(seq, { status: "suspended", breaker: '{"open":1}' }, NOON + 1);
      const changed = { status: "suspended", breaker: '{"open":1}', updatedAt: NOON + 1 };
      expect(await findRow(seq)).toMatchObject({ ...saved, ...changed });
    });

    it("refuses a name that the tenant already has, by a code that the caller can read", async () => {
      const seq = await shared.store.insertSubscription(newSubscription("first"));
      await shared.store.insertSubscription(newSubscription("second"));
      const other = await shared.store.insertSubscription(newSubscription("first", { id: "sub_x", tenantId: "other" }));
      const twice = shared.store.insertSubscription(newSubscription("first", { id: "sub_y" }));
      await expect(twice).rejects.toBeInstanceOf(PosthornError);
      await expect(twice).rejects.toMatchObject({ code: "conflict" });
      const renamed = shared.store.updateSubscription(seq, { name: "second" }, NOON);
      await expect(renamed).rejects.toMatchObject({ code: "conflict" });
      await shared.store.updateSubscription(seq, { name: "first" }, NOON);
      await shared.store.updateSubscription(other, { name: "second" }, NOON);
    });

    it("frees the name of a deleted subscription, and leaves that deleted whatever is saved of it later", async () => {
      const seq = await shared.store.insertSubscription(newSubscription("gone"));
      await shared.store.deleteSubscription(seq, NOON + 5);
      await shared.store.updateSubscription(seq, { breaker: "{}" }, NOON + 6);
      expect(await findRow(seq)).toMatchObject({ deletedAt: NOON + 5, status: "inactive" });
      const next = await shared.store.insertSubscription(newSubscription("gone", { id: "sub_gone_2" }));
      expect(next).not.toBe(seq);
    });

    it("takes a deleted subscription back under its id and its number", async () => {
      const seq = await shared.store.insertSubscription(newSubscription("back"));
      await shared.store.deleteSubscription(seq, NOON);
      expect(await shared.store.insertSubscription(newSubscription("back", { settings: "[]" }))).toBe(seq);
      const row = await findRow(seq);
      expect(row).toMatchObject({ settings: "[]", status: "active" });
      expect(row?.deletedAt).toBeUndefined();
    });

    it("keeps the first value of a name for good", () =>
      inFreshPlace(harness, async (place) => {
        const race = ["one", "two"].map((value) => place.store.loadOrSave("secret", value));
        expect(await Promise.all(race)).toEqual(["one", "one"]);
        expect(await (await place.reopen()).loadOrSave("secret", "three")).toBe("one");
      }));
  });

  describe("its life", () => {
    it("remembers the latest scheduling time it was told", () =>
      inFreshPlace(harness, async (place) => {
        expect(place.store.lastKnownNow).toBe(0);
        await place.store.noteNow(NOON);
        await place.store.noteNow(NOON - 1);
        expect((await place.reopen()).lastKnownNow).toBe(NOON);
      }));

    it("says what it is and what one transaction may hold", () =>
      inFreshPlace(harness, async ({ store }) => {
        expect(store.info.driver).not.toBe("");
        expect(store.info.version).toMatch(/^\d+\./);
        expect(store.limits.maxRows).toBeGreaterThan(1);
        expect(store.limits.maxBytes).toBeGreaterThan(1024);
      }));
  });
}
