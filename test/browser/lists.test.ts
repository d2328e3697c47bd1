import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { until } from "../support/api-client.ts";
import { findFaults, replaceText } from "../support/browser.ts";
import { refillQueue, startExampleQueue, type ExampleQueue } from "../support/example-queue.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
let queue: ExampleQueue;
const visits = openVisits();

const yaml = (more = "") => `sources: [${queue.source}${more}]\n${queue.settings}`;

beforeAll(async () => {
  [sink, queue] = await Promise.all([openSinkServer(), startExampleQueue()]);
  gateway = await startTestGateway({ yaml: yaml() });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([sink.close(), queue.close()]);
});

const visit = (path: string, key = ADMIN_KEY) => visits.visit(gateway.url, path, key);

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });
const question = (page: Page) => page.getByRole("alertdialog");

describe("an event type", () => {
  it("is sent as it was typed, with every number", async () => {
    const typed =
      '{"name": "big.number", "versions": [{"version": "1.0", "schema": {"maximum": 12345678901234567890}}]}';
    // What became of it where it was parsed and written again.
    expect(JSON.stringify(JSON.parse(typed))).not.toContain("12345678901234567890");
    const { page } = await visit("/event-types");
    const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("event-types"));
    await button(page, "Create event type").click();
    await page.getByRole("textbox", { name: "Create event type" }).fill(typed);
    await button(page, "Create").click();
    expect((await sent).postData()).toBe(typed);
    await page.getByRole("heading", { name: "big.number" }).waitFor();

    const saved = page.waitForRequest((request) => request.method() === "PUT");
    await button(page, "Edit").click();
    const editor = page.getByRole("textbox", { name: "Edit big.number" });
    expect(await editor.textContent()).toContain('"maximum"');
    await replaceText(editor, '{"versions": [], "description": "1.0 and 1e400"}');
    await button(page, "Save").click();
    expect((await saved).postData()).toBe('{"versions": [], "description": "1.0 and 1e400"}');
  });
});

describe("a validation that two people create", () => {
  const path = (name: string) => `/validations/${name}`;
  async function createElsewhere(name: string): Promise<void> {
    const headers = { "content-type": "application/json" };
    const { status } = await gateway.request("PUT", path(name), { body: '{"title":"theirs"}', headers });
    expect(status).toBe(200);
  }

  it("is not overwritten unseen by the second", async () => {
    const { page } = await visit("/validation/twice?show=edit");
    await page.getByRole("textbox", { name: "Document" }).fill('{"title": "mine"}');
    await createElsewhere("twice");
    await button(page, "Save").click();
    const both = page.getByRole("alert", { name: "Somebody else changed it" });
    await both.getByText("theirs").waitFor();
    await both.getByText('"mine"').waitFor();
    expect((await gateway.get(path("twice"))).json).toEqual({ title: "theirs" });
    await button(page, "Keep mine").click();
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    expect((await gateway.get(path("twice"))).json).toEqual({ title: "mine" });
  });

  it("would be overwritten without the condition that the page sends (control)", async () => {
    const taken: string[] = [];
    const { page } = await visit("/validation/unseen?show=edit");
    await page.route(`**${path("unseen")}`, async (route) => {
      const { "if-none-match": condition, ...headers } = route.request().headers();
      if (condition !== undefined) taken.push(condition);
      await route.continue({ headers });
    });
    await page.getByRole("textbox", { name: "Document" }).fill('{"title": "mine"}');
    await createElsewhere("unseen");
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    expect((await gateway.get(path("unseen"))).json).toEqual({ title: "mine" });
    expect(taken).toEqual(["*"]);
  });
});

describe("a source", () => {
  it("is deleted after a question that says what uses it", async () => {
    await gateway.post("/api/v1/sources", { name: "old-shop" });
    await gateway.subscribe({ name: "Only old ones", url: sink.url, events: ["*"], sources: ["old-shop"] });
    await gateway.subscribe({ name: "From everywhere", url: sink.url, events: ["none.such"] });
    const { page, complaints } = await visit("/sources/old-shop");
    await button(page, "Delete").click();
    await question(page).getByRole("link", { name: "Only old ones" }).waitFor();
    await question(page).getByText("Nothing has come from it yet.").waitFor();
    expect(await question(page).getByText("From everywhere").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await question(page).getByRole("button", { name: "Cancel" }).click();
    expect((await gateway.get("/api/v1/sources/old-shop")).status).toBe(200);

    await button(page, "Delete").click();
    await question(page).getByRole("button", { name: "Delete" }).click();
    await page.getByText("old-shop is deleted.").waitFor();
    expect(new URL(page.url()).pathname).toBe("/sources");
    expect((await gateway.get("/api/v1/sources/old-shop")).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  it("that the configuration file declares meanwhile stays, and the page says what to do", async () => {
    await gateway.post("/api/v1/sources", { name: "declared" });
    const { page } = await visit("/sources/declared");
    await button(page, "Delete").click();
    await question(page).getByText("No subscription names it.").waitFor();
    expect((await gateway.request("DELETE", "/api/v1/sources/declared")).status).toBeLessThan(300);
    await gateway.reload(yaml(", { name: declared }"));
    await question(page).getByRole("button", { name: "Delete" }).click();
    await question(page)
      .getByRole("alert")
      .getByText(/declared in the configuration/)
      .waitFor();
    expect((await gateway.get("/api/v1/sources/declared")).status).toBe(200);
    await page.reload();
    await page.getByText("in posthorn.yaml").waitFor();
    expect(await button(page, "Delete").count()).toBe(0);
  });
});

describe("a parked message", () => {
  it("is purged alone, after a question", async () => {
    refillQueue();
    const { page } = await visit(`/sources/${EXAMPLE.queueSource}`);
    await button(page, "Purge order-1001").click();
    await question(page).getByText("1 message will be deleted from the broker for good").waitFor();
    await question(page).getByRole("button", { name: "Cancel" }).click();
    await button(page, "Show order-1001").waitFor();
    await button(page, "Purge order-1001").click();
    await button(page, "Purge 1 message").click();
    await page.getByText("1 parked message was deleted.").waitFor();
    await expect.poll(() => button(page, "Show order-1001").count()).toBe(0);
  });
});

describe("dead letters", () => {
  it("are purged as they were picked, and no others", async () => {
    sink.answerWith({ status: 400 });
    const { id } = await gateway.subscribe({ name: "ERP", url: sink.url, events: ["webhook.picked"] });
    for (let n = 0; n < 3; n++) await gateway.webhook("picked", JSON.stringify({ n }));
    const idsOfDead = async () => (await gateway.deadLetters(`subscription_id=${id}`)).map((letter) => letter.id);
    await until(async () => (await idsOfDead()).length === 3);
    sink.answerWith({ status: 200 });
    const [first, second, third] = await idsOfDead();

    const { page, complaints } = await visit(`/dead-letters?subscription_id=${id}`);
    for (const one of [first, second]) await page.getByLabel(`Select ${one}`).check();
    await button(page, "Purge 2 selected").click();
    await question(page).getByText("2 dead letters will be deleted for good").waitFor();
    await question(page).getByRole("button", { name: "Cancel" }).click();
    expect(await idsOfDead()).toHaveLength(3);

    await button(page, "Purge 2 selected").click();
    await button(page, "Purge 2 dead letters").click();
    await page.getByText("2 dead letters are purged.").waitFor();
    expect(await idsOfDead()).toEqual([third]);
    expect((await gateway.get(`/api/v1/deliveries/${first}`)).json).toMatchObject({
      status: "cancelled",
      attempts: [],
    });
    expect(complaints).toEqual([]);
  });
});

describe("open deliveries", () => {
  async function holdThree(name: string): Promise<string> {
    const { id } = await gateway.subscribe({ name, url: sink.url, events: [`webhook.${name}`] });
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    for (let n = 0; n < 3; n++) await gateway.webhook(name, JSON.stringify({ n }));
    await until(async () => (await countOf(id, "pending")) === 3);
    return id;
  }
  async function countOf(id: string, status: string): Promise<number> {
    const { json } = await gateway.get(`/api/v1/deliveries?subscription_id=${id}&status=${status}`);
    return (json["data"] as object[]).length;
  }

  it("are cancelled one by one, and all of a subscription as a job that counts first", async () => {
    const id = await holdThree("held");
    const { page, complaints } = await visit(`/subscriptions/${id}`);
    const card = page.getByRole("region", { name: "Recent deliveries" });
    await card.locator("summary").first().click();
    await card.getByRole("button", { name: "Cancel delivery" }).click();
    await question(page).getByText("webhook.held is not sent to held any more").waitFor();
    expect(await countOf(id, "cancelled")).toBe(0);
    await button(page, "Cancel the delivery").click();
    await page.getByText("The delivery is cancelled.").waitFor();
    expect([await countOf(id, "cancelled"), await countOf(id, "pending")]).toEqual([1, 2]);

    await button(page, "Cancel all open").click();
    await question(page).getByText("2 deliveries will not be sent").waitFor();
    expect(await countOf(id, "pending")).toBe(2);
    await button(page, "Cancel 2 deliveries").click();
    await page.getByRole("heading", { name: "Cancellation of open deliveries" }).waitFor();
    await page.getByRole("status").getByText("completed").waitFor();
    expect([await countOf(id, "cancelled"), await countOf(id, "pending")]).toEqual([3, 0]);
    expect(complaints).toEqual([]);
  });

  it("and all else show no act to a key that may only read", async () => {
    const id = await holdThree("looked-at");
    await gateway.post("/api/v1/sources", { name: "looked-at" });
    const { page } = await visit(`/subscriptions/${id}`, await gateway.createKey(["read"]));
    await page.locator(".delivery summary").first().click();
    await page.getByText("Open the event").waitFor();
    expect(await button(page, /^Cancel|Send now/).count()).toBe(0);
    await page.goto("/sources/looked-at");
    await page.getByText("URL for the sender").waitFor();
    expect(await button(page, "Delete").count()).toBe(0);
  });
});
