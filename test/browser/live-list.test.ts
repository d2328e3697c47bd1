import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { visitWithKey } from "../support/browser.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

/** More than one page of the API, and more than the page asks for to catch up. */
const MANY = 250;

let gateway: TestGateway;
const visits = openVisits();

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(async () => {
  await gateway.close();
});

/** How often each page has read the list. */
const reads = new WeakMap<Page, number>();

async function newPage(): Promise<Page> {
  const { page } = await visits.open(gateway.url);
  page.on("requestfinished", (request) => {
    if (new URL(request.url()).pathname === "/api/v1/events") reads.set(page, (reads.get(page) ?? 0) + 1);
  });
  return page;
}

/** Events of one type, with ids that say which they are. */
async function publish(type: string, from: number, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({
    event_id: `${type}-${from + n}`,
    event_type: `many.${type}`,
    payload: {},
  }));
  const { status } = await gateway.publish(events);
  expect(status).toBe(202);
}

const idsOf = (type: string, count: number) => Array.from({ length: count }, (_, n) => `${type}-${n}`).sort();
const live = (page: Page) => page.getByRole("status").getByText("Live", { exact: true });

const row = (page: Page, id: string) => page.locator(`a[href="/events/${id}"]`);

/** Without scrolling: who reads further down is not shown at once what is new. */
async function hasRows(page: Page, count: number): Promise<void> {
  const height = "parseInt(document.querySelector('ul[aria-label=\"Events\"]')?.style.height) / 44";
  await expect.poll(() => page.evaluate(height)).toBe(count);
}

/** Rows by their place and event, as they are drawn now. */
const DRAWN = `[...document.querySelectorAll('ul[aria-label="Events"] > li')].map((row) =>
  row.style.transform + " " + decodeURIComponent(row.querySelector("a").pathname.split("/")[2]))`;

/** Everything that the list has, from its head to its end: an event that is there twice is found twice. */
async function readList(page: Page): Promise<string[]> {
  const rows = new Set<string>();
  await page.evaluate("scrollTo(0, 0)");
  let isAtEnd = false;
  while (!isAtEnd) {
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    for (const row of await page.evaluate<string[]>(DRAWN)) rows.add(row);
    isAtEnd = await page.evaluate<boolean>(
      "scrollY + innerHeight >= document.documentElement.scrollHeight - 1 && document.body.innerText.includes('That is all.')",
    );
    await page.evaluate("scrollBy(0, innerHeight / 2)");
  }
  // At the head, what is new is shown at once.
  await page.evaluate("scrollTo(0, 0)");
  return [...rows].map((row) => row.slice(row.lastIndexOf(" ") + 1)).sort();
}

describe("the list of events", () => {
  it("shows each event once, while it is read to its end and new ones arrive", async () => {
    await publish("read", 0, MANY);
    const page = await newPage();
    await visitWithKey(page, "/events?event_type=many.read", ADMIN_KEY);
    await live(page).waitFor();
    await publish("read", MANY, 3);
    await row(page, `read-${MANY + 2}`).waitFor();
    expect(await readList(page)).toEqual(idsOf("read", MANY + 3));

    // Who reads further down is not moved: what is new waits.
    await page.evaluate("scrollTo(0, 1000)");
    await publish("read", MANY + 3, 40);
    await page.getByRole("button", { name: "40 new events" }).click();
    await row(page, `read-${MANY + 42}`).waitFor();
    expect(await readList(page)).toEqual(idsOf("read", MANY + 43));
  });

  it("is read so that an event that is there twice would be found", async () => {
    await publish("twice", 0, 150);
    const page = await newPage();
    await page.route(/\/api\/v1\/events\?.*cursor=/, async (route) => {
      const again = new URL(route.request().url());
      again.searchParams.delete("cursor");
      const response = await route.fetch({ url: again.href });
      await route.fulfill({ response, json: { ...((await response.json()) as object), next_cursor: null } });
    });
    await visitWithKey(page, "/events?event_type=many.twice", ADMIN_KEY);
    await page.getByRole("list", { name: "Events" }).getByRole("listitem").first().waitFor();
    const ids = await readList(page);
    expect(ids.length).toBeGreaterThan(new Set(ids).size);
  });

  it("misses nothing of what came during a pause, however much it was", async () => {
    const page = await newPage();
    await visitWithKey(page, "/events?event_type=many.paused", ADMIN_KEY);
    await pauseDuring(page, "paused");
    await hasRows(page, MANY);
    expect(await readList(page)).toEqual(idsOf("paused", MANY));
    // And it goes on.
    await live(page).waitFor();
    await publish("paused", MANY, 1);
    await row(page, `paused-${MANY}`).waitFor();
    expect(await readList(page)).toEqual(idsOf("paused", MANY + 1));
  });

  it("would miss something if it forgot where it was, so that the test above would see it (control)", async () => {
    const page = await newPage();
    await page.route("**/api/v1/stream?*", async (route) => {
      const { "last-event-id": _, ...headers } = route.request().headers();
      await route.continue({ headers });
    });
    await visitWithKey(page, "/events?event_type=many.forgotten", ADMIN_KEY);
    await pauseDuring(page, "forgotten");
    await live(page).waitFor();
    await publish("forgotten", MANY, 1);
    await row(page, `forgotten-${MANY}`).waitFor();
    expect(await readList(page)).not.toContain("forgotten-0");
  });
});

describe("the status of an event in the list", () => {
  it("changes when the last of its deliveries has ended, and not before", async () => {
    let answer = (): void => undefined;
    const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
    const [quick, slow, dead] = await Promise.all([
      openSinkServer(),
      openSinkServer({ answer: { status: 200, after: mayAnswer } }),
      openSinkServer({ answer: { status: 400 } }),
    ]);
    try {
      await gateway.subscribe({ name: "quick", url: quick.url, events: ["many.two", "many.mixed"] });
      await gateway.subscribe({ name: "slow", url: slow.url, events: ["many.two", "many.mixed"] });
      await gateway.subscribe({ name: "dead", url: dead.url, events: ["many.mixed"] });
      const page = await newPage();
      await visitWithKey(page, "/events?event_type=many.*", ADMIN_KEY);
      await live(page).waitFor();
      await publish("two", 0, 3);
      await publish("mixed", 0, 1);
      await Promise.all([quick.received(4), slow.received(4), dead.received(1)]);
      const status = (id: string) => row(page, id).locator(".badge").textContent();
      const { json } = await gateway.get("/api/v1/events?id=mixed-0");
      expect(json["data"]).toMatchObject([{ status: "PENDING", delivery_count: 3 }]);
      // That one is dead, and one delivered, says nothing yet.
      for (const id of ["two-0", "two-1", "two-2", "mixed-0"]) expect(await status(id)).toBe("pending");
      answer();
      for (const id of ["two-0", "two-1", "two-2"]) await expect.poll(() => status(id)).toBe("completed");
      await expect.poll(() => status("mixed-0")).toBe("failed");
    } finally {
      answer();
      await Promise.all([quick.close(), slow.close(), dead.close()]);
    }
  });

  it("is what it is now when it is shown late, because somebody read further down", async () => {
    const sink = await openSinkServer();
    try {
      await gateway.subscribe({ name: "late", url: sink.url, events: ["many.late"] });
      await publish("late", 0, 60);
      await gateway.settled();
      const page = await newPage();
      await visitWithKey(page, "/events?event_type=many.late", ADMIN_KEY);
      await live(page).waitFor();
      await hasRows(page, 60);
      await page.evaluate("scrollTo(0, 1000)");
      await publish("late", 60, 2);
      await page.getByRole("button", { name: "2 new events" }).waitFor();
      await gateway.settled();
      await page.getByRole("button", { name: "2 new events" }).click();
      await expect.poll(() => row(page, "late-61").locator(".badge").textContent()).toBe("completed");
    } finally {
      await sink.close();
    }
  });
});

async function pauseDuring(page: Page, type: string): Promise<void> {
  await live(page).waitFor();
  // Once it is live, it reads once more what came before: a pause does not stop that.
  await expect.poll(() => reads.get(page)).toBeGreaterThanOrEqual(2);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("status").getByText("Paused").waitFor();
  await publish(type, 0, MANY);
  expect(await page.evaluate(DRAWN)).toEqual([]);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByRole("list", { name: "Events" }).getByRole("listitem").first().waitFor();
}
