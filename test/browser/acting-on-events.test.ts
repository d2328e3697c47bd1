import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults, replaceText } from "../support/browser.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

const visit = (path: string, key?: string) => visits.visit(gateway.url, path, key);
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function publish(event: object): Promise<string> {
  const { json } = await gateway.publish({ payload: { n: 1 }, ...event });
  return String(json["event_id"]);
}

describe("an event that nobody wanted", () => {
  it("is replayed to a subscription that is made later", async () => {
    const id = await publish({ event_type: "orphan.found" });
    const { page, complaints } = await visit(`/events/${id}`);
    await page.getByText("No subscription wanted it.").waitFor();
    await button(page, "Replay").click();
    await page.getByText("There is no subscription that could get it.").waitFor();
    expect(await button(page, "Replay now").isDisabled()).toBe(true);

    await gateway.subscribe({ name: "Parents", url: sink.url, events: ["child.*"] });
    await gateway.subscribe({ name: "Home", url: sink.url, events: ["child.*"] });
    await page.reload();
    await button(page, "Replay").click();
    await page.getByLabel("Deliver to").selectOption("Home");
    expect(await findFaults(page)).toEqual([]);
    await button(page, "Replay now").click();
    await page.getByText("It is being sent again.").waitFor();
    const [request] = await sink.received(1);
    expect(request?.headers["webhook-id"]).toBe(id);
    await page.locator(".delivery", { hasText: "Home" }).getByText("delivered").first().waitFor();
    expect(await page.locator(".delivery").count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it("is replayed to those who had it unless another is chosen", async () => {
    await gateway.subscribe({ name: "Had it", url: `${sink.url}/had`, events: ["had.it"] });
    const id = await publish({ event_type: "had.it" });
    await gateway.settled();
    const { page } = await visit(`/events/${id}`);
    await button(page, "Replay").click();
    expect(await page.getByLabel("Deliver to").locator("option:checked").textContent()).toBe("who had it");
    await button(page, "Replay now").click();
    await page.getByText("It is being sent again.").waitFor();
    await expect.poll(() => sink.requests.filter(({ path }) => path.endsWith("/had")).length).toBe(2);
  });
});

describe("an event of a tenant", () => {
  it("is replayed, unchanged or edited, to subscriptions of the operator that are for its tenant", async () => {
    const at = (name: string) => sink.requests.filter(({ path }) => path.endsWith(`/for-${name}`)).length;
    const subscribe = (name: string, more: object) =>
      gateway.subscribe({ name: `For ${name}`, url: `${sink.url}/for-${name}`, events: ["later.*"], ...more });
    await subscribe("all", { tenants: "*" });
    await subscribe("some", { tenants: ["acme", "globex"] });
    await subscribe("others", { tenants: ["globex"] });
    await subscribe("default", {});
    await subscribe("acme", { tenant_id: "acme" });
    const id = await publish({ event_type: "early.one", tenant_id: "acme" });
    const { page } = await visit(`/events/${id}`);
    await button(page, "Replay").click();
    const to = page.getByLabel("Deliver to");
    await to.locator("option", { hasText: "For acme" }).waitFor({ state: "attached" });
    const offered = (await to.locator("option").allTextContents()).filter((name) => name.startsWith("For "));
    expect(offered.toSorted()).toEqual(["For acme", "For all", "For some"]);
    await to.selectOption("For all");
    await button(page, "Replay now").click();
    await page.getByText("It is being sent again.").waitFor();
    await expect.poll(() => at("all")).toBe(1);

    await button(page, "Edit and replay").click();
    await page.getByLabel("Only those chosen here").check();
    await page.getByLabel("Add another subscription").selectOption("For some");
    const others = await page.getByLabel("Add another subscription").locator("option").allTextContents();
    expect(others.filter((name) => name.startsWith("For "))).toEqual(["For acme"]);
    await button(page, "Send as a new event").click();
    await page.getByText("Edited from").waitFor();
    await gateway.settled();
    expect(["all", "some", "others", "default", "acme"].map(at)).toEqual([2, 1, 0, 0, 0]);
  });
});

describe("an event that is no JSON", () => {
  it.each([
    ["xml", "application/xml", "<order><id>1</id></order>", "XML"],
    ["text", "text/plain", "to be or not", "other text"],
  ])("is not edited as if it were: %s", async (source, type, body, word) => {
    await gateway.webhook(source, body, { "content-type": type });
    const { json } = await gateway.get(`/api/v1/events?source=${source}`);
    const [event] = json["data"] as { event_id: string }[];
    const { page } = await visit(`/events/${String(event?.event_id)}`);
    await page.getByText(`Only JSON can be edited here, and this body is ${word}.`).waitFor();
    expect(await button(page, "Replay").count()).toBe(1);
    expect(await button(page, "Edit and replay").count()).toBe(0);
  });

  it("while one that is JSON can be edited, and nothing is explained", async () => {
    const { page } = await visit(`/events/${await publish({ event_type: "plain.json" })}`);
    await button(page, "Edit and replay").waitFor();
    expect(await page.getByText("Only JSON can be edited").count()).toBe(0);
  });
});

describe("an event that is edited", () => {
  it("shows all that its schema rejects at their lines, and goes to those who are chosen", async () => {
    await gateway.post("/api/v1/event-types", {
      name: "edited.order",
      enforce: true,
      versions: [
        {
          version: "1.0",
          schema: { required: ["id"], properties: { id: { type: "integer" }, total: { type: "number" } } },
        },
      ],
    });
    const at = (path: string) => sink.requests.filter((request) => request.path.endsWith(path)).length;
    for (const name of ["erp", "shop", "stranger"]) {
      const events = name === "stranger" ? ["other.*"] : ["edited.*"];
      await gateway.subscribe({ name, url: `${sink.url}/edited-${name}`, events });
    }
    const id = await publish({ event_type: "edited.order", payload: { id: 1, total: 2 } });
    await gateway.settled();
    const { page } = await visit(`/events/${id}`);
    await button(page, "Edit and replay").click();
    const dialog = page.getByRole("dialog");
    await replaceText(page.getByRole("textbox", { name: "Payload" }), '{\n"id": "x",\n"total": "y"\n}');
    await button(page, "Send as a new event").click();
    await dialog.getByText("/id must be integer").first().waitFor();
    await dialog.getByText("/total must be number").first().waitFor();
    await expect.poll(() => dialog.locator(".cm-lint-marker-error").count()).toBe(2);
    expect(await page.locator(".toast").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);

    await replaceText(page.getByRole("textbox", { name: "Payload" }), '{"id": 1, "total": 3}');
    await page.getByLabel("Only those chosen here").check();
    await dialog.getByRole("checkbox", { name: /^erp/ }).uncheck();
    await page.getByLabel("Add another subscription").selectOption("stranger");
    expect(await findFaults(page)).toEqual([]);
    await button(page, "Send as a new event").click();
    await page.getByText("Edited from").waitFor();
    await gateway.settled();
    expect([at("/edited-erp"), at("/edited-shop"), at("/edited-stranger")]).toEqual([1, 2, 1]);
  });

  it("goes to nobody while nobody is chosen", async () => {
    await gateway.subscribe({ name: "Lonely", url: sink.url, events: ["lonely.*"] });
    const id = await publish({ event_type: "lonely.one" });
    const { page } = await visit(`/events/${id}`);
    await button(page, "Edit and replay").click();
    await page.getByLabel("Only those chosen here").check();
    await page.getByRole("checkbox", { name: /^Lonely/ }).uncheck();
    expect(await button(page, "Send as a new event").isDisabled()).toBe(true);
    await page.getByLabel("Every subscription that wants it").check();
    expect(await button(page, "Send as a new event").isDisabled()).toBe(false);
  });
});

describe("all events that match the filters", () => {
  it("are replayed after a count, as a job, and no others are", async () => {
    const url = `${sink.url}/bulk`;
    await gateway.subscribe({ name: "Bulk", url, events: ["bulk.*"] });
    for (let n = 0; n < 3; n++) await publish({ event_type: "bulk.wanted", source: "a" });
    await publish({ event_type: "bulk.other", source: "a" });
    await gateway.settled();
    const before = sink.requests.length;
    const { page, complaints } = await visit("/events?event_type=bulk.wanted");
    await button(page, "Replay these").click();
    await page.getByText("3 deliveries of these events will be made once more").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await button(page, "Cancel").click();
    expect(sink.requests).toHaveLength(before);
    await button(page, "Replay these").click();
    await button(page, "Replay 3 deliveries").click();
    await page.getByRole("heading", { name: "Replay of events" }).waitFor();
    await page.getByRole("status").getByText("completed").waitFor();
    await page.getByText("3 of 3").waitFor();
    await gateway.settled();
    expect(sink.requests).toHaveLength(before + 3);
    expect(complaints).toEqual([]);
  });

  it("are not offered where a job would take others than are shown, nor to a key that may only read", async () => {
    await publish({ event_type: "bulk.shown" });
    const { page } = await visit("/events?event_type=bulk.shown");
    await button(page, "Replay these").waitFor();
    for (const search of [
      "",
      "?event_type=bulk.*",
      "?event_type=bulk.shown&text=n",
      "?event_type=bulk.shown&unmatched=false",
    ]) {
      await page.goto(`/events${search}`);
      await page.getByRole("list", { name: "Events" }).getByRole("listitem").first().waitFor();
      expect([search, await button(page, "Replay these").count()]).toEqual([search, 0]);
    }
    const reader = await visit("/events?event_type=bulk.shown", await gateway.createKey(["read"]));
    await reader.page.getByRole("list", { name: "Events" }).getByRole("listitem").first().waitFor();
    expect(await button(reader.page, "Replay these").count()).toBe(0);
  });
});

describe("the request of an attempt", () => {
  /** Opens the first attempt of the only delivery. */
  async function openAttempt(id: string, key?: string): Promise<Page> {
    const { page } = await visit(`/events/${id}`, key);
    await page.locator(".attempt summary").first().click();
    await page.getByRole("heading", { name: "Request body" }).waitFor();
    return page;
  }

  it("is shown with its method and body, which are rendered from the event", async () => {
    await gateway.subscribe({ name: "Own", url: sink.url, events: ["own.body"] });
    const id = await publish({ event_type: "own.body", payload: { order: "<b>bold</b>" } });
    await gateway.settled();
    const sent = sink.requests.at(-1)?.body.toString() ?? "";
    const page = await openAttempt(id);
    await button(page, "Show method and body").click();
    await page.getByText("Rendered now from the event").waitFor();
    const attempt = page.locator(".attempt");
    await attempt.getByText("POST", { exact: true }).waitFor();
    await attempt.getByText("<b>bold</b>").waitFor();
    expect(sent).toContain("<b>bold</b>");
    await attempt.getByText("with a body that the subscription makes of the event.").waitFor();
    expect(await findFaults(page)).toEqual([]);
  });

  it("is said to be the event's own body where it is", async () => {
    await gateway.subscribe({ name: "Raw", url: sink.url, events: ["webhook.raw"] });
    await gateway.webhook("raw", '{"n": 12345678901234567890}');
    await gateway.settled();
    expect(sink.requests.at(-1)?.body.toString()).toBe('{"n": 12345678901234567890}');
    const { json } = await gateway.get("/api/v1/events?source=raw");
    const page = await openAttempt((json["data"] as [{ event_id: string }])[0].event_id);
    await button(page, "Show method and body").click();
    await page.getByText("with the event’s own body, byte for byte.").waitFor();
    await page.locator(".attempt").getByText("12345678901234567890").waitFor();
  });

  it("is made again only for a key that may: its preview is signed", async () => {
    await gateway.subscribe({ name: "Signed", url: sink.url, events: ["signed.body"] });
    const id = await publish({ event_type: "signed.body" });
    await gateway.settled();
    const page = await openAttempt(id, await gateway.createKey(["read"]));
    await page.getByText("A key with the scope admin can have it made again.").waitFor();
    expect(await button(page, "Show method and body").count()).toBe(0);
  });
});
