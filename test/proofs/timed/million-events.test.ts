import type { Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { startChild } from "../../../bench/children.mjs";
import { visitWithKey } from "../../support/browser.ts";
import { eventsWith, listViews, LOAD_SOURCE, startBusyGateway, type BusyGateway } from "../../support/busy-gateway.ts";
import { createClickTimes, listLinks, median, type ClickTimes } from "../../support/click-times.ts";
import { ADMIN_KEY } from "../../support/gateway-process.ts";
import { PROOF_SIZE } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { RARE } from "../../support/stored-week.ts";
import { openVisits } from "../../support/visits.ts";

const EVENTS = 1_000_000;
const CLICKS = PROOF_SIZE === "long" ? 15 : 5;
/** From the click until rows are shown, the median. */
const MAX_SHOWN_MS = 300;
/** What the control delays an answer by, at least: as long as a page may take in all. */
const DELAY_MS = 300;

const INGEST_PER_S = 300;
const TURN_MS = PROOF_SIZE === "long" ? 20_000 : 10_000;
const TURNS = PROOF_SIZE === "long" ? 7 : 5;
/**
 * Ingest beside somebody who clicks ÷ without: the p99 of the answers, the medians of the turns. The browser works on the
 * same cores, so this is more than what the gateway's reads cost.
 */
const MAX_INGEST_RATIO = 4;
/** What ingest promises at a steady pace; whoever is within it is not held up. */
const MAX_INGEST_MS = 50;
const BETWEEN_CLICKS_MS = 200;

const visits = openVisits();
let gateway: BusyGateway | undefined;

// Not before it is known that there is a browser.
beforeEach(async () => {
  if (gateway !== undefined) return;
  gateway = await startBusyGateway(EVENTS);
  report(`dashboard: ${count(EVENTS)} events of a week stored in ${(gateway.filledMs / 1000).toFixed(0)} s`);
}, 30 * 60_000);
afterAll(async () => {
  await gateway?.close();
});

async function openSignedIn(path: string): Promise<{ page: Page; times: ClickTimes }> {
  const { page } = await visits.open((gateway as BusyGateway).url);
  const times = await createClickTimes(page);
  await visitWithKey(page, path, ADMIN_KEY);
  return { page, times };
}

/** Loaded afresh, so that the page remembers nothing of what it showed before. */
async function loadAfresh(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("main h1").waitFor();
  await expect.poll(() => page.locator("main .skeleton").count()).toBe(0);
}

/** All of them are measured before the first is complained about. */
let slow: string[] = [];
beforeEach(() => {
  slow = [];
});

function judge(what: string, times: readonly number[]): void {
  const all = times.map((ms) => ms.toFixed(0)).join(", ");
  report(`dashboard: ${what}: first content ${median(times).toFixed(0)} ms after the click (${all})`);
  if (median(times) > MAX_SHOWN_MS) slow.push(what);
}

describe(`the dashboard with ${count(EVENTS)} events`, () => {
  it("shows each page of the menu, and the first thing on it, at once", async () => {
    const { page, times } = await openSignedIn("/overview");
    const links = await listLinks(page);
    expect(links.length).toBeGreaterThan(10);
    for (const { label, path } of links) {
      const from = links.findLast((other) => other.path !== path)?.path ?? "/";
      const link = page.locator(`nav[aria-label=Pages] a[href="${path}"]`);
      const ofPage: number[] = [];
      const ofFirst: number[] = [];
      for (let n = 0; n < CLICKS; n++) {
        await loadAfresh(page, from);
        ofPage.push(await times.ofClick(link, path));
        expect([label, await page.locator("main .empty, main [role=alert]").count()]).toEqual([label, 0]);
        const first = page.locator(`main :is(li, tr, section) a[href^="${path}/"]`).first();
        if ((await first.count()) === 0) continue;
        ofFirst.push(await times.ofClick(first, String(await first.getAttribute("href"))));
      }
      judge(label, ofPage);
      if (ofFirst.length > 0) judge(`${label}, the first of them`, ofFirst);
    }
    expect(slow).toEqual([]);
  });

  it("shows what somebody searches for, or how far back it has searched, at once", async () => {
    const { page, times } = await openSignedIn("/events");
    for (const [what, path] of Object.entries(listViews(gateway as BusyGateway))) {
      const all: number[] = [];
      for (let n = 0; n < CLICKS; n++) {
        await loadAfresh(page, "/keys");
        all.push(await times.ofView(path));
        expect([what, await page.locator("main [role=alert]").count()]).toEqual([what, 0]);
      }
      judge(what, all);
    }
    expect(slow).toEqual([]);
  });

  it("finds in the end what is rare, without a click more", async () => {
    const { page } = await openSignedIn("/events");
    await page.goto(eventsWith({ data: JSON.stringify({ coupon: RARE.coupon }) }));
    await page.getByRole("link", { name: RARE.type }).first().waitFor();
    expect(await page.getByRole("button", { name: "Search further back" }).count()).toBe(0);
    await page.goto(`/subscriptions/${(gateway as BusyGateway).quietId}`);
    await page.locator("details.delivery").first().waitFor();
  });

  it("would notice pages that wait for an answer (control)", async () => {
    const { page, times } = await openSignedIn("/keys");
    await page.route("**/api/v1/events?*", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 2 * DELAY_MS));
      await route.continue();
    });
    const waited = await times.ofView("/events");
    expect(waited).toBeGreaterThan(DELAY_MS);
  });

  it("does not hold up ingest while somebody goes through all pages", async () => {
    const { url } = gateway as BusyGateway;
    const { page, times } = await openSignedIn("/overview");
    const links = await listLinks(page);
    const load = await startChild("load", [], { execArgv: [] });
    const pace = () =>
      load.ask<Paced>("pace", {
        port: Number(new URL(url).port),
        path: `/webhook/${LOAD_SOURCE}`,
        connections: 16,
        bodyBytes: 1024,
        ratePerS: INGEST_PER_S,
        durationMs: TURN_MS,
      });
    const [without, beside]: [Paced[], Paced[]] = [[], []];
    let clicks = 0;
    try {
      await pace();
      for (let turn = 0; turn < TURNS; turn++) {
        await page.goto("about:blank");
        without.push(await pace());
        await loadAfresh(page, "/overview");
        const paced = pace();
        const endsAt = performance.now() + TURN_MS;
        for (; performance.now() < endsAt; clicks++) {
          const { path } = links[(clicks + 1) % links.length] ?? { path: "/overview" };
          await times.ofClick(page.locator(`nav[aria-label=Pages] a[href="${path}"]`), path);
          await new Promise((resolve) => setTimeout(resolve, BETWEEN_CLICKS_MS));
        }
        beside.push(await paced);
      }
    } finally {
      await load.stop();
    }
    const p99 = (turns: readonly Paced[]) => median(turns.map(({ p99Ms }) => p99Ms));
    report(
      `dashboard: ingest p99 at ${INGEST_PER_S}/s beside ${clicks} clicks ÷ without: ` +
        `${(p99(beside) / p99(without)).toFixed(2)} (${p99(beside).toFixed(1)} ms ÷ ${p99(without).toFixed(1)} ms)`,
    );
    const accepted = { "202": (INGEST_PER_S * TURN_MS) / 1000 };
    const others = [...without, ...beside].filter(({ statuses }) => statuses["202"] !== accepted["202"]);
    // What the gateway says of them is shown.
    const log = others.length > 0 ? gateway?.readLog() : undefined;
    expect({ others, log }).toEqual({ others: [], log: undefined });
    expect(clicks).toBeGreaterThan(0);
    expect(p99(beside)).toBeLessThan(Math.max(MAX_INGEST_MS, p99(without) * MAX_INGEST_RATIO));
  });
});

/** What a turn of the load has measured. */
interface Paced {
  p99Ms: number;
  /** Answers by status. */
  statuses: Readonly<Record<string, number>>;
}
