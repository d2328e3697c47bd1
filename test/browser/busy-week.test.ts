// What a gateway with a week behind it shows. How soon it does with a million events: proofs/timed/million-events.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findCutOff, visitWithKey } from "../support/browser.ts";
import { eventsWith, listViews, startBusyGateway, type BusyGateway } from "../support/busy-gateway.ts";
import { createClickTimes, listLinks, type ClickTimes } from "../support/click-times.ts";
import { ADMIN_KEY } from "../support/gateway-process.ts";
import { RARE } from "../support/stored-week.ts";
import { openVisits } from "../support/visits.ts";

let gateway: BusyGateway;
const visits = openVisits();

beforeAll(async () => {
  gateway = await startBusyGateway(5_000, { POSTHORN_ALERTS_EVERY_S: "1" });
});
afterAll(async () => {
  await gateway.close();
});

/** Clicks resolve when there is something to see. */
async function visit(path: string): Promise<{ page: Page; times: ClickTimes }> {
  const { page } = await visits.open(gateway.url);
  const times = await createClickTimes(page);
  await visitWithKey(page, path, ADMIN_KEY);
  return { page, times };
}

describe("the dashboard of a busy gateway", () => {
  it("shows something on each page of the menu, and the first thing on it", async () => {
    const { page, times } = await visit("/overview");
    const [first, ...others] = await listLinks(page);
    expect(others.length).toBeGreaterThan(10);
    for (const { label, path } of [...others, first as { label: string; path: string }]) {
      await times.ofClick(page.locator(`nav[aria-label=Pages] a[href="${path}"]`), path);
      expect([label, await page.locator("main .empty, main [role=alert]").count()]).toEqual([label, 0]);
      const link = page.locator(`main :is(li, tr, section) a[href^="${path}/"]`).first();
      if ((await link.count()) > 0) await times.ofClick(link, String(await link.getAttribute("href")));
    }
  });

  it("cuts nothing off where a window is neither wide nor narrow", async () => {
    const { page, times } = await visit("/keys");
    const views = [...(await listLinks(page)).map(({ path }) => path), `/subscriptions/${gateway.quietId}`];
    for (const path of views) {
      await times.ofView(path);
      expect([path, await findCutOff(page, [910, 1000, 1080, 1110])]).toEqual([path, []]);
    }
  });

  it("shows what somebody searches for, or how far back it has searched", async () => {
    const { page, times } = await visit("/keys");
    for (const [what, path] of Object.entries(listViews(gateway))) {
      await times.ofView(path);
      expect([what, await page.locator("main [role=alert]").count()]).toEqual([what, 0]);
    }
  });

  it("finds in the end what is rare, without a click more", async () => {
    const { page } = await visit(eventsWith({ data: JSON.stringify({ coupon: RARE.coupon }) }));
    await page.getByRole("link", { name: RARE.type }).first().waitFor();
    expect(await page.getByRole("button", { name: "Search further back" }).count()).toBe(0);
    await page.goto(`/subscriptions/${gateway.quietId}`);
    await page.locator("details.delivery").first().waitFor();
  });
});
