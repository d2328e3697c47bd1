import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startChild } from "../../bench/children.mjs";
import { openBrowser, openPage, signIn } from "../support/browser.ts";
import { LOAD_SOURCE, startBusyGateway, type BusyGateway } from "../support/busy-gateway.ts";
import { createClickTimes, median, type ClickTimes } from "../support/click-times.ts";
import { ADMIN_KEY } from "../support/gateway-process.ts";
import { sized, timeLimit } from "../support/proof-size.ts";
import { count, report } from "../support/report.ts";
import { skipWithoutService } from "../support/skip.ts";
import { RARE } from "../support/stored-week.ts";

const EVENTS = sized({ short: 5_000, middle: 1_000_000, long: 1_000_000 });
const CLICKS = sized({ short: 1, middle: 5, long: 15 });
/** From the click until rows are shown, the median. */
const MAX_SHOWN_MS = timeLimit(300);
/** What the control delays an answer by, at least: as long as a page may take in all. */
const DELAY_MS = 300;

const INGEST_PER_S = sized({ short: 50, middle: 300, long: 300 });
const TURN_MS = sized({ short: 1_000, middle: 10_000, long: 20_000 });
const TURNS = sized({ short: 1, middle: 5, long: 7 });
/**
 * Ingest beside somebody who clicks ÷ without: the p99 of the answers, the medians of the turns. The browser works on the
 * same cores, so this is more than what the gateway's reads cost.
 */
const MAX_INGEST_RATIO = timeLimit(4);
/** What ingest promises at a steady pace; whoever is within it is not held up. */
const MAX_INGEST_MS = 50;
const BETWEEN_CLICKS_MS = 200;

let browser: Browser | undefined;
let gateway: BusyGateway | undefined;

beforeAll(async () => {
  browser = await openBrowser();
  if (browser === undefined) return;
  gateway = await startBusyGateway(EVENTS);
  report(`dashboard: ${count(EVENTS)} events of a week stored in ${(gateway.filledMs / 1000).toFixed(0)} s`);
}, 30 * 60_000);
afterAll(async () => {
  await browser?.close();
  await gateway?.close();
});
beforeEach((context) => {
  if (browser === undefined) skipWithoutService(context, "Chromium");
});

interface Opened {
  page: Page;
  times: ClickTimes;
  close(): Promise<void>;
}

async function openSignedIn(path: string): Promise<Opened> {
  const { page, context } = await openPage(browser as Browser, (gateway as BusyGateway).url);
  const times = await createClickTimes(page);
  await signIn(page, path, ADMIN_KEY);
  return { page, times, close: () => context.close() };
}

/** Loaded afresh, so that the page remembers nothing of what it showed before. */
async function loadAfresh(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("main h1").waitFor();
  await expect.poll(() => page.locator("main .skeleton").count()).toBe(0);
}

async function linksOf(page: Page): Promise<{ label: string; path: string }[]> {
  const links = await page.locator("nav[aria-label=Pages] a").all();
  return Promise.all(
    links.map(async (link) => ({ label: await link.innerText(), path: String(await link.getAttribute("href")) })),
  );
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
    const { page, times, close } = await openSignedIn("/overview");
    const links = await linksOf(page);
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
    await close();
  });

  it("shows what somebody searches for, or how far back it has searched, at once", async () => {
    const { page, times, close } = await openSignedIn("/events");
    for (const [what, path] of Object.entries(searches())) {
      const all: number[] = [];
      for (let n = 0; n < CLICKS; n++) {
        await loadAfresh(page, "/keys");
        all.push(await times.ofView(path));
        expect([what, await page.locator("main [role=alert]").count()]).toEqual([what, 0]);
      }
      judge(what, all);
    }
    expect(slow).toEqual([]);
    await close();
  });

  it("finds in the end what is rare, without a click more", async () => {
    const { page, close } = await openSignedIn("/events");
    await page.goto(eventsWith({ data: JSON.stringify({ coupon: RARE.coupon }) }));
    await page.getByRole("link", { name: RARE.type }).first().waitFor();
    expect(await page.getByRole("button", { name: "Search further back" }).count()).toBe(0);
    await page.goto(`/subscriptions/${(gateway as BusyGateway).quietId}`);
    await page.locator("details.delivery").first().waitFor();
    await close();
  });

  it("would notice pages that wait for an answer", async () => {
    const { page, times, close } = await openSignedIn("/keys");
    await page.route("**/api/v1/events?*", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 2 * DELAY_MS));
      await route.continue();
    });
    const waited = await times.ofView("/events");
    expect(waited).toBeGreaterThan(DELAY_MS);
    await close();
  });

  it("does not hold up ingest while somebody goes through all pages", async () => {
    const { url } = gateway as BusyGateway;
    const { page, times, close } = await openSignedIn("/overview");
    const links = await linksOf(page);
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
    expect([...without, ...beside].map(({ refused }) => refused)).toEqual(Array.from({ length: 2 * TURNS }, () => 0));
    expect(clicks).toBeGreaterThan(0);
    expect(p99(beside)).toBeLessThan(Math.max(MAX_INGEST_MS, p99(without) * MAX_INGEST_RATIO));
    await close();
  });
});

/** What a turn of the load has measured. */
interface Paced {
  p99Ms: number;
  refused: number;
}

const eventsWith = (filters: Record<string, string>) => `/events?${new URLSearchParams(filters).toString()}`;

/** Views that people open, by what they look for. */
function searches(): Record<string, string> {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  return {
    "events of a type": eventsWith({ event_type: "order.paid" }),
    "events of a pattern": eventsWith({ event_type: "order.*" }),
    "events of a tenant's source": eventsWith({ tenant_id: "acme", source: "billing" }),
    "failed events": eventsWith({ status: "FAILED" }),
    "pending events": eventsWith({ status: "PENDING" }),
    "events by a field of the payload": eventsWith({ data: '{"order":{"total":{"$gt":500}}}' }),
    "events by a field that few have": eventsWith({ data: JSON.stringify({ coupon: RARE.coupon }) }),
    "events by a field that none has": eventsWith({ data: '{"nowhere":true}' }),
    "events by a text that few have": eventsWith({ text: RARE.coupon }),
    "events of a type that few have": eventsWith({ event_type: RARE.type }),
    "events of two hours of last week": eventsWith({ since: daysAgo(5), until: daysAgo(5 - 2 / 24) }),
    "events by an ordering key": eventsWith({ ordering_key: "customer-4711" }),
    "the last week on the overview": "/overview?window=last_7d",
    "dead letters of a cause": "/dead-letters?reason=refused",
    "dead letters of a type": "/dead-letters?event_type=order.paid",
    "dead letters of a tenant": "/dead-letters?tenant_id=acme",
    "rejected requests of a source": "/requests?source=shop",
    "a subscription that has long got nothing": `/subscriptions/${(gateway as BusyGateway).quietId}`,
  };
}
