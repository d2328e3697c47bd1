import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/domain/errors.ts";
import type { EventTypeRow } from "../../../src/store/store.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, type StoreHarness } from "./harness.ts";

function row(name: string, change: Partial<EventTypeRow> = {}): EventTypeRow {
  return { name, settings: "{}", managedBy: "api", createdAt: NOON, updatedAt: NOON, ...change };
}

export function eventTypesContract(harness: StoreHarness): void {
  describe("event types", () => {
    it("are kept by name, the later in place of the earlier", () =>
      inFreshPlace(harness, async (place) => {
        const settings = JSON.stringify({ versions: [{ schema: { pattern: "\u0000é😀" } }] });
        await place.store.saveEventTypes([row("order.created"), row("animal.sold", { managedBy: "config" })]);
        await place.store.saveEventTypes([row("order.created", { settings, updatedAt: NOON + 1 })]);
        const kept = [
          row("animal.sold", { managedBy: "config" }),
          row("order.created", { settings, updatedAt: NOON + 1 }),
        ];
        expect(await place.store.loadEventTypes()).toEqual(kept);
        expect(await (await place.reopen()).loadEventTypes()).toEqual(kept);
      }));

    it("are saved all or none", () =>
      inFreshPlace(harness, async (place) => {
        const broken = row("b", { settings: undefined as unknown as string });
        await expect(place.store.saveEventTypes([row("a"), broken, row("c")])).rejects.toBeInstanceOf(PosthornError);
        expect(await place.store.loadEventTypes()).toEqual([]);
        await place.store.saveEventTypes([]);
      }));

    it("are gone when deleted, and one that was never there is no fault", () =>
      inFreshPlace(harness, async (place) => {
        await place.store.saveEventTypes([row("a"), row("b")]);
        await place.store.deleteEventType("a");
        await place.store.deleteEventType("never");
        expect((await (await place.kill()).loadEventTypes()).map(({ name }) => name)).toEqual(["b"]);
      }));
  });
}
