import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults } from "../support/browser.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
let readKey: string;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  readKey = await gateway.createKey(["read"]);
  for (const total of [50, 150]) await gateway.publish({ event_type: "order.paid", payload: { order: { total } } });
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

const visit = (path: string, key?: string) => visits.visit(gateway.url, path, key);

async function settingsOf(id: string): Promise<Record<string, unknown>> {
  return (await gateway.get(`/api/v1/subscriptions/${id}`)).json;
}

const button = (within: Page | Locator, name: string) => within.getByRole("button", { name, exact: true });
const idIn = (page: Page) => new URL(page.url()).pathname.split("/")[2] ?? "";

describe("subscriptions in the dashboard", () => {
  it("creates one with a filter that shows what it matches, and says at the field what is wrong", async () => {
    const { page, complaints } = await visit("/subscriptions");
    await page.getByText("There are no subscriptions yet").waitFor();
    await page.getByRole("link", { name: "Create subscription" }).click();
    await page.getByLabel("Name (required)").fill("ERP");
    await page.getByLabel("URL (required)").fill("no URL at all");

    await page.getByLabel("Events (required)").fill("order.*");
    await page.getByText("2 of the latest 2 match.").waitFor();
    await page.getByRole("button", { name: "Add a condition" }).click();
    await page.getByLabel("Member of the event").fill("data.order.total");
    await page.getByLabel("Operator").selectOption("$gt");
    await page.getByLabel("Compared with").fill("100");
    await page.getByText("1 of the latest 2 match.").waitFor();
    await page.getByText("data.order.total must be $gt 100; it is 50").waitFor();

    await page.getByRole("button", { name: "Create subscription" }).click();
    const url = page.locator('[data-field="url"]');
    await url.locator(".error-text").getByText("url").waitFor();
    expect(await url.getByRole("textbox").getAttribute("aria-invalid")).toBe("true");
    expect(await page.locator('[data-field="name"]').getByRole("textbox").getAttribute("aria-invalid")).toBe("false");

    await page.getByLabel("URL (required)").fill(sink.url);
    await page.getByRole("button", { name: "Create subscription" }).click();
    await page.getByRole("heading", { name: "ERP" }).waitFor();
    expect(await settingsOf(idIn(page))).toMatchObject({
      name: "ERP",
      url: sink.url,
      events: ["order.*"],
      event_filter: { data: { order: { total: { $gt: 100 } } } },
    });
    // The rejected one is told by the browser too.
    expect(complaints.filter((text) => !text.includes("422"))).toEqual([]);
  });

  it("creates no tenant for a misspelt one, but one that somebody asks for", async () => {
    await gateway.post("/api/v1/tenants", { id: "acme", name: "Acme" });
    const { page } = await visit("/subscriptions?tenant_id=acme");
    await page.getByRole("link", { name: "Create subscription" }).click();
    const tenant = page.getByLabel("Tenant id");
    await expect.poll(() => tenant.inputValue()).toBe("acme");
    await page.getByLabel("Name (required)").fill("Of Acme");
    await page.getByLabel("URL (required)").fill(sink.url);
    await page.getByLabel("Events (required)").fill("order.*");
    await tenant.fill("acmee");
    await page.getByRole("button", { name: "Create subscription" }).click();
    await page.locator('[data-field="tenant_id"] .error-text').getByText("There is no tenant acmee.").waitFor();
    await page.getByText("There is no tenant acmee; did you mean acme?").waitFor();
    expect((await gateway.get("/api/v1/tenants/acmee")).status).toBe(404);
    expect((await gateway.get("/api/v1/subscriptions?tenant_id=acmee")).json["data"]).toEqual([]);
    expect(await findFaults(page)).toEqual([]);

    await page.getByRole("button", { name: "Create tenant acmee" }).click();
    await expect.poll(async () => (await gateway.get("/api/v1/tenants/acmee")).status).toBe(200);
    await page.getByRole("button", { name: "Create subscription" }).click();
    await page.getByRole("heading", { name: "Of Acme" }).waitFor();
    expect(await settingsOf(idIn(page))).toMatchObject({ tenant_id: "acmee" });
  });

  it("names no tenant that there is not among several, neither of a new one nor of a saved one", async () => {
    for (const id of ["farm-1", "farm-2"]) await gateway.post("/api/v1/tenants", { id });
    const { page } = await visit("/subscriptions/new");
    await page.getByLabel("Name (required)").fill("Of farms");
    await page.getByLabel("URL (required)").fill(sink.url);
    await page.getByLabel("Events (required)").fill("order.*");
    const tenants = page.getByLabel("Tenants", { exact: true });
    const fault = page.locator('[data-field="tenants"] .error-text');
    await tenants.fill("farm-1\nfram-2");
    await page.getByRole("button", { name: "Create subscription" }).click();
    await fault.getByText("There is no tenant fram-2.").waitFor();
    expect(await tenants.getAttribute("aria-invalid")).toBe("true");
    const { data } = (await gateway.get("/api/v1/subscriptions?limit=500")).json as { data: { name: string }[] };
    expect(data.map(({ name }) => name)).not.toContain("Of farms");
    expect((await gateway.get("/api/v1/tenants/fram-2")).status).toBe(404);
    await tenants.fill("farm-1\nfarm-2");
    await page.getByRole("button", { name: "Create subscription" }).click();
    await page.getByRole("heading", { name: "Of farms" }).waitFor();
    const id = idIn(page);
    expect(await settingsOf(id)).toMatchObject({ tenants: ["farm-1", "farm-2"] });

    await page.goto(`/subscriptions/${id}/edit`);
    await tenants.fill("farm-1\nfram-2");
    await page.getByRole("button", { name: "Save" }).click();
    await fault.getByText("There is no tenant fram-2.").waitFor();
    expect(await settingsOf(id)).toMatchObject({ tenants: ["farm-1", "farm-2"] });
    await tenants.fill("*");
    await page.getByRole("button", { name: "Save" }).click();
    // The form has a heading with this name in it too.
    await page.getByRole("heading", { name: "Of farms", exact: true }).waitFor();
    expect(await settingsOf(id)).toMatchObject({ tenants: ["*"] });
  });

  it.each([
    ["/sources/-new", "Create source"],
    ["/targets/new", "Create target"],
  ])("creates no tenant for a misspelt one at %s", async (path, act) => {
    const { page } = await visit(path);
    await page.locator('[data-field="name"]').getByRole("textbox").fill("misspelt");
    const more = page.getByText("More settings");
    if (path.startsWith("/sources")) await more.click();
    await page.getByLabel("Tenant id").fill("acmeee");
    await page.getByRole("button", { name: act }).click();
    await page.locator('[data-field="tenant_id"] .error-text').getByText("There is no tenant acmeee.").waitFor();
    expect((await gateway.get("/api/v1/tenants/acmeee")).status).toBe(404);
  });

  it("makes a form for another kind, and shows what a template makes of an event", async () => {
    const { page } = await visit("/subscriptions/new");
    await page.getByLabel("Name (required)").fill("Chat");
    await page.getByLabel("URL (required)").fill(sink.url);
    await page.getByLabel("Events (required)").fill("order.#");
    await page.getByText("More about the destination").click();
    await page.getByRole("checkbox", { name: "Template" }).check();
    await page.getByLabel("Body", { exact: true }).fill('{"text":"{{ data.order.total }} EUR"}');
    await page.getByText('{"text":"150 EUR"}').waitFor();
    await page.getByLabel("Body", { exact: true }).fill("{% oops %}");
    await page.locator("section", { hasText: "What is sent" }).locator(".error-text").first().waitFor();

    await page.getByLabel("Kind of destination").selectOption("email");
    await page.getByLabel("Subject").fill("An order");
    expect(await page.getByLabel("URL (required)").count()).toBe(0);
    expect(await page.getByLabel("Name (required)").inputValue()).toBe("Chat");
  });

  it("tests, pauses and resumes one, reveals and rotates its secret, and deletes it after a question", async () => {
    const { id, secret } = await gateway.subscribe({ name: "Acts", url: sink.url, events: ["acts.*"] });
    const { page } = await visit(`/subscriptions/${id}`);
    sink.answerWith({ status: 418, body: "no coffee" });
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("The destination did not accept it").waitFor();
    await page.getByText("no coffee").waitFor();
    sink.answerWith({ status: 200 });
    await page.getByRole("button", { name: "Test again" }).click();
    await page.getByText("The destination accepted it").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await page.getByText("test.event").first().waitFor();

    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("It is paused. Deliveries wait until").waitFor();
    await gateway.publish({ event_type: "acts.held", payload: {} });
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByLabel("Cancel them").check();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Resume/ })
      .click();
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("active");
    await page.locator("section", { hasText: "History of its status" }).getByText("paused").first().waitFor();

    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByText(secret).waitFor();
    const read = (await gateway.get(`/api/v1/audit?kind=subscription&id=${id}&limit=1`)).json["data"];
    expect(read).toMatchObject([{ act: expect.stringContaining("secret") as unknown }]);
    await page.getByRole("button", { name: "Rotate" }).click();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    await page.getByText("Both secrets sign until").waitFor();
    await page.getByRole("button", { name: "Confirm the new secret" }).click();
    await page.getByText("previous", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Retire the old secret now" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Retire" }).click();
    await expect.poll(() => page.getByText(secret).count()).toBe(0);

    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).status).toBe(200);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Subscriptions", exact: true }).waitFor();
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).status).toBe(404);
  });

  it("tests one that is suspended, and says that it still is", async () => {
    sink.answerWith({ status: 410 });
    const { id } = await gateway.subscribe({ name: "Gone", url: sink.url, events: ["gone.*"] });
    await gateway.publish({ event_type: "gone.one", payload: {} });
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("suspended");
    sink.answerWith({ status: 200 });
    const { page } = await visit(`/subscriptions/${id}`);
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("The destination accepted it").waitFor();
    await page.getByText("It is still suspended").waitFor();
  });

  it("pauses, resumes and rotates one that the configuration declares, and leaves its settings to the file", async () => {
    await gateway.reload(`subscriptions: [{ name: Declared, url: "${sink.url}", events: ["declared.*"] }]`);
    const listed = (await gateway.get("/api/v1/subscriptions")).json["data"] as { id: string; name: string }[];
    const id = listed.find(({ name }) => name === "Declared")?.id ?? "";
    const { page } = await visit(`/subscriptions/${id}`);
    await page.getByText("Its settings are declared in the configuration file.").waitFor();
    await button(page, "Pause").click();
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("inactive");
    await button(page, "Resume").click();
    await button(page.getByRole("dialog"), "Resume").click();
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("active");

    sink.answerWith({ status: 410 });
    await gateway.publish({ event_type: "declared.one", payload: {} });
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("suspended");
    sink.answerWith({ status: 200 });
    await page.reload();
    await page.getByText("Repair the destination, test it, then resume it.").waitFor();
    await button(page, "Test").waitFor();
    await button(page, "Resume").click();
    await button(page.getByRole("dialog"), "Resume").click();
    await expect.poll(async () => (await settingsOf(id))["status"]).toBe("active");

    await button(page, "Rotate").click();
    await button(page.getByRole("dialog"), "Rotate").click();
    await page.getByText("Both secrets sign until").waitFor();
    // What the gateway rejects with 409 is not offered.
    expect(await button(page, "Delete").count()).toBe(0);
    expect(await page.getByRole("link", { name: "Edit" }).count()).toBe(0);
    expect((await gateway.request("DELETE", `/api/v1/subscriptions/${id}`)).status).toBe(409);
  });

  it("recovers what died since a time, after it was counted", async () => {
    sink.answerWith({ status: 400 });
    const { id } = await gateway.subscribe({ name: "Recover", url: sink.url, events: ["lost.*"] });
    await gateway.publish({ event_type: "lost.one", payload: {} });
    await gateway.settled();
    sink.answerWith({ status: 200 });
    const { page } = await visit(`/subscriptions/${id}`);
    await page.getByRole("button", { name: "Recover" }).click();
    await page.getByRole("button", { name: "Count" }).click();
    await page.getByText("1 delivery would be sent again.").waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await gateway.deadLetters(`subscription_id=${id}`)).toHaveLength(1);
    await page.getByRole("button", { name: "Deliver them again" }).click();
    await expect.poll(async () => (await gateway.deadLetters(`subscription_id=${id}`)).length).toBe(0);
  });

  it("shows both versions when somebody else saved first, and saves only its own changes on top of theirs", async () => {
    const { id } = await gateway.subscribe({ name: "Shared", url: sink.url, events: ["a.b"] });
    const { page } = await visit(`/subscriptions/${id}/edit`);
    await page.getByLabel("Description").fill("from the page");
    const body = JSON.stringify({ timeout: 7, description: "from a terminal" });
    const headers = { "content-type": "application/json" };
    const patched = await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, { body, headers });
    expect(patched.status).toBe(200);
    await page.getByRole("button", { name: "Save" }).click();
    const conflict = page.getByRole("alert", { name: "Somebody else changed it" });
    await conflict.getByText("from the page").waitFor();
    await conflict.getByText("from a terminal").waitFor();
    expect(await settingsOf(id)).toMatchObject({ description: "from a terminal" });
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Shared", exact: true }).waitFor();
    expect(await settingsOf(id)).toMatchObject({ description: "from the page", timeout: 7 });
  });

  it("has no button for a key that may only read", async () => {
    const { id } = await gateway.subscribe({ name: "Looked at", url: sink.url, events: ["a.b"] });
    const { page } = await visit(`/subscriptions/${id}`, readKey);
    await page.getByRole("heading", { name: "History of its status" }).waitFor();
    for (const name of ["Test", "Pause", "Recover", "Reveal", "Rotate", "Delete"]) {
      expect([name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([name, 0]);
    }
    expect(await page.getByRole("link", { name: "Edit" }).count()).toBe(0);
    await page.goto("/subscriptions/new");
    await page.getByText("Your key may not change this").waitFor();
  });
});

describe("targets in the dashboard", () => {
  it("shows mode, reason and history, and forces a mode after a question", async () => {
    const { id } = await gateway.subscribe({ name: "Forced", url: sink.url, events: ["x.y"] });
    const { page } = await visit("/targets");
    await page.getByRole("link", { name: "Forced" }).click();
    await page.getByText("It has not changed its mode").waitFor();
    await page.getByRole("button", { name: "Force QUEUE" }).click();
    await page.getByRole("alertdialog").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
    expect((await gateway.get(`/api/v1/targets/${id}`)).json["mode"]).toBe("NORMAL");
    await page.getByRole("button", { name: "Force QUEUE" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Force QUEUE" }).click();
    await page.getByText("An operator set this mode").waitFor();
    expect((await gateway.get(`/api/v1/targets/${id}`)).json["forced"]).toBe("QUEUE");
    await page.getByRole("button", { name: "Automatic again" }).click();
    await expect.poll(async () => (await gateway.get(`/api/v1/targets/${id}`)).json["forced"]).toBe(null);
    await page.locator(".timeline li").first().waitFor();
  });

  it("gives a key of a tenant no button where the gateway would reject it", async () => {
    const key = await gateway.createKey(["admin"], "default");
    const destination = { gateway: "generic-http", to: "+15005550001", text: "Paid.", url: sink.url };
    const sms = await gateway.post("/api/v1/subscriptions", {
      name: "Paid",
      kind: "sms",
      events: ["x.y"],
      destination,
    });
    const { id } = await gateway.subscribe({ name: "Its own", url: sink.url, events: ["x.y"] });
    const { page } = await visit(`/targets/${id}`, key);
    await button(page, "Force QUEUE").waitFor();
    await page.goto(`/targets/${String(sms.json["id"])}`);
    await page.getByRole("link", { name: "Paid", exact: true }).waitFor();
    expect(await button(page, "Force QUEUE").count()).toBe(0);
    const mode = { mode: "QUEUE" };
    expect((await gateway.as(key).post(`/api/v1/targets/${String(sms.json["id"])}/mode`, mode)).status).toBe(403);
  });

  it("creates a shared one and changes it", async () => {
    const { page } = await visit("/targets/new");
    await page.getByLabel("Name (required)").fill("Not Allowed");
    await page.getByRole("button", { name: "Create target" }).click();
    await page.locator('[data-field="name"] .error-text').getByText("name").waitFor();
    await page.getByLabel("Name (required)").fill("erp");
    await page.getByLabel("Failures until QUEUE").fill("5");
    await page.getByRole("button", { name: "Create target" }).click();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Failures until QUEUE").fill("");
    await page.getByLabel("Description").fill("The ERP");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "erp", exact: true }).waitFor();
    const { json } = await gateway.get("/api/v1/targets/erp");
    expect(json).toMatchObject({ failures_to_open: 3, description: "The ERP" });
  });
});

describe("the pages of subscriptions and targets", () => {
  it("have no barriers in light and in dark, and nothing that sticks out at 360 px", async () => {
    const { id } = await gateway.subscribe({
      name: "W".repeat(120),
      url: `${sink.url}/${"x".repeat(300)}`,
      events: ["wide.*"],
    });
    await gateway.publish({ event_type: "wide.one", payload: {} });
    await gateway.post("/api/v1/targets", { name: "wide", description: "W".repeat(300) });
    const { page } = await visit("/subscriptions");
    for (const [path, text] of [
      ["/subscriptions", "WWW"],
      [`/subscriptions/${id}`, "wide.one"],
      [`/subscriptions/${id}/edit`, "1 of the latest 1 match"],
      ["/subscriptions/new", "Enter a pattern"],
      ["/targets", "WWW"],
      [`/targets/${id}`, "When it changes its mode"],
      ["/targets/new", "Failures until QUEUE"],
      ["/targets/wide/edit", "Edit wide"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
    }
  });
});
