import { describe, expect, it } from "vitest";
import type { TargetRow } from "../../../src/store/port/targets.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, type StoreHarness } from "./harness.ts";

function row(name: string, change: Partial<TargetRow> = {}): TargetRow {
  return {
    tenantId: "default",
    name,
    settings: "{}",
    managedBy: "config",
    mode: undefined,
    updatedAt: NOON,
    ...change,
  };
}

export function targetsContract(harness: StoreHarness): void {
  describe("targets", () => {
    it("are kept by tenant and name, the later in place of the earlier", () =>
      inFreshPlace(harness, async (place) => {
        await place.store.saveTarget(row("n8n-home"));
        await place.store.saveTarget(row("n8n-home", { tenantId: "acme", settings: '{"é":"😀"}' }));
        await place.store.saveTarget(row("n8n-home", { managedBy: "former_config", updatedAt: NOON + 1 }));
        const kept = [
          row("n8n-home", { tenantId: "acme", settings: '{"é":"😀"}' }),
          row("n8n-home", { managedBy: "former_config", updatedAt: NOON + 1 }),
        ];
        expect(await place.store.loadTargets()).toEqual(kept);
        expect(await (await place.kill()).loadTargets()).toEqual(kept);
      }));

    it("keep their mode when only what is declared of them changes", () =>
      inFreshPlace(harness, async ({ store }) => {
        await store.saveTarget(row("home", { mode: '{"isOpen":true}' }));
        await store.saveTarget(row("home", { settings: '{"batch_size":4}' }));
        expect(await store.loadTargets()).toEqual([
          row("home", { mode: '{"isOpen":true}', settings: '{"batch_size":4}' }),
        ]);
        await store.saveTarget(row("home", { mode: '{"isOpen":false}' }));
        expect((await store.loadTargets())[0]?.mode).toBe('{"isOpen":false}');
      }));
  });
}
