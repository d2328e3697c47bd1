import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBarriers, findFaults, replaceText } from "../support/browser.ts";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway, STEADY_ALERT, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
let alertId = "";
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([
    startTestGateway({ env: ALERTING, yaml: STEADY_ALERT }),
    openSinkServer({ answer: { status: 400 } }),
  ]);
  await gateway.subscribe({ name: "Broken ERP", url: sink.url, events: ["order.refused"] });
  for (const name of ["order.created", "order.shipped"]) {
    const versions = [
      { version: "1.0", schema: { type: "object" }, example: { order_id: 1 } },
      { version: "2.0", schema: { type: "object", required: ["order_id"] }, example: { order_id: 2 } },
    ];
    await gateway.post("/api/v1/event-types", { name, description: "Something became of an order", versions });
  }
  await gateway.post("/api/v1/tenants", { id: "acme", name: "Acme", quotas: { subscriptions: 10 } });
  await gateway.publish({ event_type: "order.refused", payload: {} });
  await until(async () => {
    const { json } = await gateway.get("/api/v1/alerts?status=active");
    alertId = (json["data"] as { id: string }[])[0]?.id ?? "";
    return alertId !== "";
  });
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

const visit = (path: string, key?: string) => visits.visit(gateway.url, path, key);

/** By somebody else than who looks at the page. */
async function send(method: string, path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const { status, text } = await gateway.request(method, path, { body: JSON.stringify(body), headers });
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** The scripts of the editor that the page has loaded. */
const loadedEditors = `performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.includes("code-editor"))`;

/** The error stands beside this line and no other of that editor. */
async function markAt(page: Page, name: string, line: number): Promise<void> {
  const editor = page.locator(".editor", { has: page.getByRole("textbox", { name }) });
  const mark = editor.locator(".cm-lint-marker-error");
  await mark.waitFor();
  const [markBox, lineBox] = await Promise.all([
    mark.boundingBox(),
    editor
      .locator(".cm-line")
      .nth(line - 1)
      .boundingBox(),
  ]);
  expect(Math.abs((markBox?.y ?? 0) - (lineBox?.y ?? 1000))).toBeLessThan(10);
}

describe("alerts", () => {
  it("are acknowledged with a note, muted, unmuted, and explained by their rules", async () => {
    const { page, complaints } = await visit("/alerts");
    await page.getByRole("link", { name: /Broken ERP/ }).click();
    await page.getByRole("heading", { name: "Causes" }).waitFor();

    await button(page, "Acknowledge").click();
    await page.getByLabel("Note").fill("The partner knows");
    await page.getByRole("dialog").getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("The partner knows").waitFor();
    expect(await button(page, "Acknowledge").count()).toBe(0);

    await button(page, "Mute Broken ERP").click();
    await page.getByLabel("For how long").selectOption("1 day");
    await page.getByRole("dialog").getByRole("button", { name: "Mute" }).click();
    await button(page, "Unmute").waitFor();
    const { json: muted } = await gateway.get(`/api/v1/alerts/${alertId}`);
    expect(muted["mutes"]).toMatchObject([{ cause: expect.stringContaining("subscription") as string }]);
    await button(page, "Unmute").click();
    await page.getByText("Nothing is muted.").waitFor();

    await page.goto("/alerts?show=rules");
    await page.getByRole("link", { name: /bad$/ }).click();
    await page.getByRole("heading", { name: "Causes" }).waitFor();
    await page.goto("/alerts?show=cleared");
    await page.getByText("No past alerts").waitFor();
    expect(complaints).toEqual([]);
  });

  it("give no buttons to a key that may only read, and no pages that it cannot use", async () => {
    const { page } = await visit(`/alerts/${alertId}`, await gateway.createKey(["read"]));
    await page.getByRole("heading", { name: "Causes" }).waitFor();
    expect(await page.getByRole("button", { name: /Acknowledge|Mute/ }).count()).toBe(0);
    const pages = await page.getByRole("navigation").getByRole("link").allTextContents();
    expect(pages).toContain("Event types");
    expect(pages.filter((name) => ["Keys", "Tenants", "Audit", "Jobs", "Validations"].includes(name))).toEqual([]);
    const client = gateway.as(await gateway.createKey(["read"]));
    expect((await client.post(`/api/v1/alerts/${alertId}/mute`, {})).status).toBe(403);
  });
});

describe("keys", () => {
  it("are created for a tenant, shown once, work, and are revoked after a question", async () => {
    const { page, complaints } = await visit("/keys");
    await button(page, "Create key").click();
    await page.getByLabel("Name").fill("billing");
    await page.getByRole("dialog").getByLabel("Tenant").fill("acme");
    await page.getByLabel("Expires").selectOption("in 30 days");
    await button(page, "Create").click();
    const shown = page.getByRole("group", { name: "The key billing" });
    const key = (await shown.textContent()) ?? "";
    const session = await gateway.as(key).get("/api/v1/session");
    expect(session.json).toMatchObject({ scopes: ["read"], tenant_id: "acme" });
    await button(page, "Done").click();
    expect(await page.getByText(key).count()).toBe(0);

    await page.getByLabel("Search").fill("bill");
    await expect.poll(() => new URL(page.url()).search).toBe("?search=bill");
    await button(page, "Revoke billing").click();
    await button(page, "Cancel").click();
    expect((await gateway.as(key).get("/api/v1/session")).status).toBe(200);
    await button(page, "Revoke billing").click();
    await button(page, "Revoke").click();
    await page
      .getByRole("row", { name: /billing/ })
      .getByText("revoked")
      .waitFor();
    expect((await gateway.as(key).get("/api/v1/session")).status).toBe(401);
    expect(complaints).toEqual([]);
  });

  it("are not created for a misspelt tenant, nor is the tenant, unless somebody asks for it", async () => {
    const listKeys = async () => (await gateway.get("/api/v1/keys")).json["data"] as { name: string }[];
    const isMade = async () => (await listKeys()).some(({ name }) => name === "misspelt");
    const { page } = await visit("/keys");
    await button(page, "Create key").click();
    await page.getByLabel("Name").fill("misspelt");
    await page.getByRole("dialog").getByLabel("Tenant").fill("acmee");
    await button(page, "Create").click();
    await page.locator(".toast").getByText("There is no tenant acmee. Choose another one").waitFor();
    await page.getByText("There is no tenant acmee; did you mean acme?").waitFor();
    expect((await gateway.get("/api/v1/tenants/acmee")).status).toBe(404);
    expect(await isMade()).toBe(false);
    expect(await findFaults(page)).toEqual([]);

    await button(page, "Create tenant acmee").click();
    await expect.poll(async () => (await gateway.get("/api/v1/tenants/acmee")).status).toBe(200);
    await button(page, "Create").click();
    await page.getByRole("group", { name: "The key misspelt" }).waitFor();
    expect(await isMade()).toBe(true);
  });
});

describe("tenants", () => {
  it("are created, edited, given a portal link that works, and deleted after a question", async () => {
    const { page, complaints } = await visit("/tenants");
    await page.getByRole("row", { name: /Acme/ }).getByText("0 / 10").waitFor();
    await button(page, "Create tenant").click();
    await page.getByLabel("Id").fill("globex");
    await page.getByLabel("Name").fill("Globex");
    await button(page, "Create").click();
    await page.getByRole("heading", { name: "Globex" }).waitFor();

    await button(page, "Edit").click();
    await page.getByLabel("Events per minute").fill("600");
    await button(page, "Add contact").click();
    await page.getByLabel("Address").fill("ops@globex.example");
    await button(page, "Save").click();
    await page.getByText("At most 600 events per minute").waitFor();
    await page.getByText("ops@globex.example").waitFor();

    await button(page, "Portal link").click();
    await button(page, "Create link").click();
    const link = (await page.getByRole("group", { name: "Portal link for Globex" }).textContent()) ?? "";
    const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token") ?? "";
    expect((await gateway.as(token).get("/api/v1/session")).json).toMatchObject({ tenant_id: "globex" });
    await button(page, "Done").click();

    await button(page, "Delete").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe("/tenants");
    expect((await gateway.get("/api/v1/tenants/globex")).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  it("that somebody else changed meanwhile are shown in both versions, and nothing is lost", async () => {
    await gateway.post("/api/v1/tenants", { id: "initech", name: "Initech" });
    const { page } = await visit("/tenants/initech");
    await button(page, "Edit").click();
    await page.getByLabel("Subscriptions").fill("5");
    await send("PATCH", "/api/v1/tenants/initech", { name: "Initech Ltd" });
    await button(page, "Save").click();
    const diff = page.getByRole("group", { name: "Stored now, and yours" });
    await diff.getByText("Initech Ltd").waitFor();
    expect((await gateway.get("/api/v1/tenants/initech")).json).toMatchObject({ quotas: { subscriptions: null } });
    await button(page, "Discard mine").click();
    await page.getByLabel("Subscriptions").fill("7");
    await button(page, "Save").click();
    await page.getByText("of 7").waitFor();
    expect((await gateway.get("/api/v1/tenants/initech")).json).toMatchObject({
      name: "Initech Ltd",
      quotas: { subscriptions: 7 },
    });
  });
});

describe("the audit log", () => {
  it("is narrowed by its address, shows what changed as a diff, and can be verified", async () => {
    await gateway.post("/api/v1/tenants", { id: "umbrella", name: "Before" });
    await send("PATCH", "/api/v1/tenants/umbrella", { name: "<b>After</b>" });
    const { page, complaints } = await visit("/audit?kind=tenant&id=umbrella");
    await page.getByText("tenant.update").click();
    const diff = page.getByRole("group", { name: "Before and after" });
    await diff.locator(".diff-removed", { hasText: "Before" }).waitFor();
    await diff.locator(".diff-added", { hasText: "<b>After</b>" }).waitFor();
    expect(await page.locator(".entry").count()).toBe(2);
    await page.getByLabel("Action").fill("tenant.create");
    await expect.poll(() => page.locator(".entry").count()).toBe(1);
    await expect.poll(() => new URL(page.url()).search).toContain("act=tenant.create");
    await button(page, "Verify").click();
    await page.getByText(/entries are as they were written/).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("event types", () => {
  it("are created and edited as JSON, with errors at their lines, and shown by version", async () => {
    const { page, complaints } = await visit("/event-types");
    await page.getByRole("link", { name: "order.created" }).click();
    await page.getByRole("heading", { name: "Schema 2.0" }).waitFor();
    await button(page, "v 1.0").click();
    await page.getByRole("heading", { name: "Schema 1.0" }).waitFor();
    expect(new URL(page.url()).search).toBe("?version=1.0");

    await button(page, "Edit").click();
    const editor = page.getByRole("textbox", { name: "Edit order.created" });
    await replaceText(editor, '{\n  "description": "g e stays text",\n  "versions": oops\n}');
    await page.locator(".cm-lint-marker-error").waitFor();
    expect(await button(page, "Save").isDisabled()).toBe(true);
    await replaceText(editor, '{\n  "description": "g e stays text",\n  "versions": []\n}');
    await button(page, "Save").click();
    await page.getByText("g e stays text").first().waitFor();
    await page.getByText("every payload is accepted").waitFor();

    await page.goto("/event-types");
    await button(page, "Create event type").click();
    await page.getByRole("textbox", { name: "Create event type" }).fill('{"name": "order.paid"}');
    await button(page, "Create").click();
    await page.getByRole("heading", { name: "order.paid" }).waitFor();
    await button(page, "Delete").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe("/event-types");
    expect(complaints).toEqual([]);
  });
});

describe("jobs", () => {
  it("run when they are told to, and say how it went", async () => {
    const { page, complaints } = await visit("/jobs");
    const job = page
      .getByRole("region")
      .filter({ has: page.getByRole("button", { name: /^Run/ }) })
      .last();
    await job.getByRole("button", { name: /^Run/ }).click();
    await page.getByText(/runs now/).waitFor();
    await job.getByText("success").first().waitFor();
    await job.getByText(/Last runs/).click();
    await job.getByText("manual").first().waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("validations", () => {
  it("are edited with errors at their lines, tried, compared and rolled back", async () => {
    const { page, complaints } = await visit("/validation");
    await page.getByText("There are no validations yet").waitFor();
    expect(await page.evaluate(loadedEditors)).toEqual([]);
    await button(page, "Create validation").click();
    await page.getByLabel("Endpoint").fill("orders");
    await button(page, "Continue").click();

    const editor = page.getByRole("textbox", { name: "Document" });
    await replaceText(editor, '{\n  "type": "object",\n  "properties": { "id": { "type": "int" } }\n}');
    expect(await page.evaluate(loadedEditors)).not.toEqual([]);
    await button(page, "Save").click();
    await markAt(page, "Document", 3);
    await replaceText(editor, '{\n  "type": "object",\n  "properties": { "id": { "type": "integer" } }\n}');
    const payload = page.getByRole("textbox", { name: "Payload" });
    await payload.fill('{\n  "a": 1,\n  "id": "x"\n}');
    await button(page, "Check").click();
    await page.getByText("/id must be integer").first().waitFor();
    await markAt(page, "Payload", 3);
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    expect((await gateway.webhook("orders", '{"id":"x"}')).status).toBe(422);

    await button(page, "Edit").first().click();
    await page.getByRole("textbox", { name: "Document" }).fill('{\n  "type": "object"\n}');
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    expect((await gateway.webhook("orders", '{"id":"x"}')).status).toBe(202);

    await button(page, "Versions").click();
    await button(page, "Changes of version 2").click();
    const diff = page.getByRole("group", { name: "Changes of version 2" });
    await diff.locator(".diff-removed", { hasText: "integer" }).waitFor();
    await button(page, "Roll back to version 1").click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Version 1 is in force again, as version 3.").waitFor();
    expect((await gateway.webhook("orders", '{"id":"x"}')).status).toBe(422);
    // The browser names each answer that was no success: no document yet, and one that was rejected.
    expect(complaints.filter((text) => !/status of (?:404|422)/.test(text))).toEqual([]);
  });

  it("in XML have their errors at their lines too, in the document and in a payload", async () => {
    const { page } = await visit("/validation/shipments?format=xsd&show=edit");
    const editor = page.getByRole("textbox", { name: "Document" });
    const lines = (type: string) => [
      '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">',
      "  <!-- its weight -->",
      `  <xs:element name="kg" type="${type}"/>`,
      "</xs:schema>",
    ];
    await replaceText(editor, lines("xs:nope").join("\n"));
    await button(page, "Save").click();
    await markAt(page, "Document", 3);
    await replaceText(editor, lines("xs:int").join("\n"));
    await page.getByRole("textbox", { name: "Payload" }).fill("<!-- heavy -->\n<kg>much</kg>");
    await button(page, "Check").click();
    await page.getByText(/^Line 2:/).waitFor();
    expect(await page.getByText(/^Line \d+:/).count()).toBe(1);
    await markAt(page, "Payload", 2);
  });

  it("that somebody else changed meanwhile are not overwritten unseen", async () => {
    await send("PUT", "/validations/invoices", { title: "first" });
    const { page } = await visit("/validation/invoices?show=edit");
    const editor = page.getByRole("textbox", { name: "Document" });
    await replaceText(editor, '{"title": "mine"}');
    await send("PUT", "/validations/invoices", { title: "theirs" });
    await button(page, "Save").click();
    await page.getByRole("group", { name: "Stored now, and yours" }).getByText("theirs").waitFor();
    expect((await gateway.get("/validations/invoices")).json).toEqual({ title: "theirs" });
    await button(page, "Keep mine").click();
    await button(page, "Save").click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    expect((await gateway.get("/validations/invoices")).json).toEqual({ title: "mine" });
  });
});

describe("these pages", () => {
  it("have no barriers in light and in dark, and nothing that sticks out at 360 px", async () => {
    const { page } = await visit("/alerts");
    for (const [path, text, act] of [
      ["/alerts", "Broken ERP"],
      [`/alerts/${alertId}`, "Causes", "Mute"],
      ["/alerts?show=rules", "Repeated after"],
      ["/keys", "Scopes", "Create key"],
      ["/tenants", "Acme"],
      ["/tenants/acme", "Use and quotas", "Edit"],
      ["/audit", "tenant.create"],
      ["/event-types", "order.created"],
      ["/event-types/order.shipped", "Example", "Edit"],
      ["/jobs", "Every"],
      ["/validation", "Create validation"],
      ["/validation/orders?show=edit", "1001"],
      ["/validation/orders?show=versions&version=1", "The first one."],
    ] as readonly (readonly [path: string, text: string, act?: string])[]) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
      if (act === undefined) continue;
      await button(page, act).click();
      await page.getByRole("dialog").getByRole("textbox").first().waitFor();
      expect([path, act, await findBarriers(page)]).toEqual([path, act, []]);
    }
  });
});
