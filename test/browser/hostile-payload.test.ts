import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { visitWithKey, type OpenPage } from "../support/browser.ts";
import {
  deepJson,
  HOSTILE_HEADER,
  HOSTILE_NAME,
  HOSTILE_TEXTS,
  hostileJson,
  LARGE_NUMBER,
} from "../support/hostile-texts.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

const DEPTH = 5000;
const ANSWER = HOSTILE_TEXTS.join("\n");

let gateway: TestGateway;
let sink: SinkServer;
let eventId: string;
let deepId: string;
let subscriptionId: string;
let requestId: string;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([
    startTestGateway({ yaml: "limits: { max_depth: 10000 }" }),
    openSinkServer({
      answer: { status: 400, headers: { "content-type": "text/html", "x-answer": HOSTILE_HEADER }, body: ANSWER },
    }),
  ]);
  const { id } = await gateway.subscribe({ name: HOSTILE_NAME, description: ANSWER, url: sink.url, events: ["#"] });
  subscriptionId = id;
  const headers = { "x-hostile": HOSTILE_HEADER };
  const { json } = await gateway.webhook("hostile", hostileJson(), headers);
  eventId = String(json["event_id"]);
  deepId = String((await gateway.webhook("deep", deepJson(DEPTH))).json["event_id"]);
  await gateway.post("/api/v1/sources", { name: "picky", event_type: "a.b", only: ["c.d"] });
  await gateway.webhook("picky", hostileJson(), headers);
  await until(async () => (await gateway.rejected("picky")).length === 1);
  requestId = String((await gateway.rejected("picky"))[0]?.id);
  const versions = [{ version: "1.0", schema: { title: ANSWER }, example: { text: ANSWER } }];
  await gateway.post("/api/v1/event-types", { name: "hostile.type", description: ANSWER, versions });
  await gateway.post("/api/v1/tenants", { id: "hostile", name: HOSTILE_NAME.slice(0, 100) });
  await until(async () => (await gateway.deadLetters()).length === 2);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

/** A page that notes when something of a payload was run. */
async function openWatched(): Promise<OpenPage & { stolen: () => number }> {
  const opened = await visits.open(gateway.url);
  let stolen = 0;
  await opened.context.exposeFunction("steal", () => void (stolen += 1));
  return { ...opened, stolen: () => stolen };
}

/** As a careless page would show it. */
const showCarelessly = (page: Page) =>
  page.evaluate(
    `document.body.append(Object.assign(document.createElement("div"), { innerHTML: ${JSON.stringify(ANSWER)} }))`,
  );

/** By its beginning: long texts are cut. */
const sees = (page: Page, text: string): Promise<void> => page.getByText(text.slice(0, 24)).first().waitFor();

type Look = (page: Page) => Promise<void>;

/** Where it stands, and what is to be seen there. */
const PLACES: readonly (readonly [where: string, path: () => string, look: Look])[] = [
  ["in the list of events", () => "/events?source=hostile", (page) => sees(page, "webhook.hostile")],
  ["as an event", () => `/events/${eventId}`, seeEvent],
  ["of great depth", () => `/events/${deepId}`, seeDeepEvent],
  ["in requests", () => "/requests", (page) => page.getByRole("link", { name: "not among" }).waitFor()],
  ["as a request", () => `/requests/${requestId}`, seeRequest],
  ["among dead letters", () => `/dead-letters?subscription_id=${subscriptionId}`, seeDeadLetters],
  ["in the name of a subscription", () => "/subscriptions", (page) => sees(page, HOSTILE_NAME)],
  ["in a subscription", () => `/subscriptions/${subscriptionId}`, seeSubscription],
  ["in a form", () => `/subscriptions/${subscriptionId}/edit`, seeForm],
  ["in the name of a target", () => "/targets", (page) => sees(page, HOSTILE_NAME)],
  ["in an event type", () => "/event-types/hostile.type", (page) => sees(page, HOSTILE_TEXTS[0] ?? "")],
  ["in the name of a tenant", () => "/tenants/hostile", (page) => sees(page, HOSTILE_NAME)],
  ["in the audit log", () => "/audit?kind=subscription", seeAudit],
  ["in the overview", () => "/overview", (page) => sees(page, HOSTILE_NAME)],
];

describe("a hostile payload", () => {
  it.each(PLACES)("is text %s, and nothing of it runs", async (_, path, look) => {
    const { page, complaints, stolen } = await openWatched();
    await visitWithKey(page, path(), ADMIN_KEY);
    await look(page);
    expect(await page.locator("main :is(img, script, iframe, svg[onload], a[href^='javascript'])").count()).toBe(0);
    expect(await page.locator("[onerror], [onload], [onfocus]").count()).toBe(0);
    expect(stolen()).toBe(0);
    // Its policy would have complained of what it kept from running.
    expect(complaints).toEqual([]);
  });

  it("would run where it is not taken for text, so that the tests above would see it (control)", async () => {
    const unguarded = await openWatched();
    await unguarded.page.goto("about:blank");
    await showCarelessly(unguarded.page);
    await expect.poll(unguarded.stolen).toBeGreaterThan(0);

    // In the page itself, its policy is the second wall.
    const { page, complaints, stolen } = await openWatched();
    await visitWithKey(page, "/events", ADMIN_KEY);
    await showCarelessly(page);
    await expect.poll(() => complaints.join()).toContain("Content Security Policy");
    expect(stolen()).toBe(0);
  });
});

async function seeEvent(page: Page): Promise<void> {
  const body = page.getByRole("region", { name: "Body" });
  await body.getByText(LARGE_NUMBER).waitFor();
  for (const text of HOSTILE_TEXTS) await body.getByText(JSON.stringify(text), { exact: true }).first().waitFor();
  await body.getByText("in all: copy or download it").waitFor();
  await page.getByRole("button", { name: "Raw" }).click();
  await body.getByText(/^\{"text 0"/).waitFor();
  await page.getByText("#1 400").click();
  const answer = page.getByRole("region", { name: "Deliveries" });
  await answer.getByText(HOSTILE_HEADER).first().waitFor();
  expect(await answer.locator("pre").textContent()).toBe(ANSWER);
  await page.getByRole("region", { name: "Request headers" }).getByText(HOSTILE_HEADER).waitFor();
}

async function seeDeepEvent(page: Page): Promise<void> {
  const body = page.getByRole("region", { name: "Body" });
  await body.getByRole("button", { name: "items, 1" }).first().waitFor();
  await page.getByRole("button", { name: "Raw" }).click();
  expect(await body.locator("pre").textContent()).toBe(deepJson(DEPTH));
  await page.getByRole("button", { name: "Edit and replay" }).click();
  await page.getByRole("textbox", { name: "Payload" }).getByText("[").first().waitFor();
  expect(await page.getByRole("button", { name: "Send as a new event" }).isEnabled()).toBe(true);
}

async function seeRequest(page: Page): Promise<void> {
  await page.getByText(LARGE_NUMBER).waitFor();
  for (const text of HOSTILE_TEXTS) await page.getByText(JSON.stringify(text), { exact: true }).first().waitFor();
  await page.getByRole("region", { name: "Headers" }).getByText(HOSTILE_HEADER).waitFor();
}

async function seeDeadLetters(page: Page): Promise<void> {
  await page.getByRole("link", { name: HOSTILE_NAME }).waitFor();
  await page.getByRole("link", { name: "webhook.hostile" }).waitFor();
  await page.getByRole("button", { name: /^Replay <script>/ }).click();
  await page.getByText("2 dead letters will be sent again").waitFor();
}

async function seeSubscription(page: Page): Promise<void> {
  await page.getByRole("heading", { name: HOSTILE_NAME }).waitFor();
  await page.getByText("webhook.hostile").first().click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByText(HOSTILE_NAME).waitFor();
}

async function seeForm(page: Page): Promise<void> {
  expect(await page.getByLabel("Name (required)").inputValue()).toBe(HOSTILE_NAME);
  await page.getByText(/of the latest \d match/).waitFor();
}

async function seeAudit(page: Page): Promise<void> {
  await page.getByText("subscription.create").click();
  await page.getByRole("group", { name: "Before and after" }).getByText("steal()").first().waitFor();
}
