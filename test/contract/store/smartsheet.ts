import { describe, expect, it } from "vitest";
import type { SmartsheetWebhookRow } from "../../../src/store/port/smartsheet.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, useStore, type StoreHarness } from "./harness.ts";

const webhook = (change: Partial<SmartsheetWebhookRow> = {}): SmartsheetWebhookRow => ({
  source: "smartsheet",
  // Beyond what a float can hold.
  webhookId: "90071992547409931",
  sheetId: "4509506114742148",
  secrets: Uint8Array.from([0, 1, 2, 255]),
  status: "NEW_NOT_VERIFIED",
  createdAt: NOON,
  updatedAt: NOON,
  ...change,
});

export function smartsheetContract(harness: StoreHarness): void {
  describe("Smartsheet's webhooks", () => {
    const shared = useStore(harness);
    const load = async () =>
      (await shared.store.loadSmartsheetWebhooks()).map((row) => ({ ...row, secrets: Uint8Array.from(row.secrets) }));

    it("are kept by source and id, digits as they are, and change in place", async () => {
      const { store } = shared;
      await store.saveSmartsheetWebhook(webhook());
      await store.saveSmartsheetWebhook(webhook({ source: "other" }));
      await store.saveSmartsheetWebhook(webhook({ status: "ENABLED", createdAt: NOON + 9, updatedAt: NOON + 9 }));
      expect(await load()).toEqual([webhook({ source: "other" }), webhook({ status: "ENABLED", updatedAt: NOON + 9 })]);
    });

    it("go one by one, and those that are not there without a fuss", async () => {
      const { store } = shared;
      await store.saveSmartsheetWebhook(webhook({ webhookId: "1" }));
      await store.deleteSmartsheetWebhook("other", "1");
      await store.deleteSmartsheetWebhook("smartsheet", "1");
      await store.deleteSmartsheetWebhook("smartsheet", "1");
      expect((await load()).some(({ webhookId }) => webhookId === "1")).toBe(false);
    });

    it("are none in a new store", () =>
      inFreshPlace(harness, async ({ store }) => expect(await store.loadSmartsheetWebhooks()).toEqual([])));
  });
}
