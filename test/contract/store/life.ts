import { describe, expect, it } from "vitest";
import { NOON, commit } from "../../support/store-fixtures.ts";
import { inFreshPlace, type StoreHarness } from "./harness.ts";

export function configurationContract(harness: StoreHarness): void {
  describe("configuration", () => {
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
        await commit(place.store);
        await commit(place.store);
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
