import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { SMARTSHEET_EXAMPLE } from "../../plugins/smartsheet/routes.docs.ts";
import { findFaults } from "../support/browser.ts";
import { refillQueue, startExampleQueue, type ExampleQueue } from "../support/example-queue.ts";
import { startExampleSmartsheet, type ExampleSmartsheet } from "../support/example-smartsheet.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

const SECRET = "a-secret-of-github-0123456789";
const OTHER = "another-secret-9876543210";
const QUEUE = `/sources/${EXAMPLE.queueSource}`;
const SHEETS = `/sources/${SMARTSHEET_EXAMPLE.source}`;

let gateway: TestGateway;
let queue: ExampleQueue;
let smartsheet: ExampleSmartsheet;
const visits = openVisits();

beforeAll(async () => {
  [queue, smartsheet] = await Promise.all([startExampleQueue(), startExampleSmartsheet()]);
  const sources = `sources: [${queue.source}, ${smartsheet.source}]`;
  gateway = await startTestGateway({ yaml: `${sources}\n${queue.settings}\n${smartsheet.settings}` });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([queue.close(), smartsheet.close()]);
});

const visit = (path: string, key = ADMIN_KEY) => visits.visit(gateway.url, path, key);

async function loadSource(name: string): Promise<Readonly<Record<string, unknown>>> {
  return (await gateway.get(`/api/v1/sources/${name}`)).json;
}

const item = (page: Page, name: string) => page.getByRole("listitem").filter({ hasText: name });

describe("a source", () => {
  it("is created by its kind, shows the URL to paste, and never its secret", async () => {
    const { page, complaints } = await visit("/sources");
    await page.getByRole("link", { name: "Create source" }).click();
    await page.getByLabel("Who sends").selectOption({ label: "GitHub" });
    expect(new URL(page.url()).search).toBe("?kind=github");
    await page.getByText("Settings → Webhooks → Add webhook").waitFor();
    await page.getByLabel(/^Name/).fill("code");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel(/^Secrets/).fill(SECRET);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "code", exact: true }).waitFor();
    await page.getByText("http://127.0.0.1:9/webhook/code").waitFor();
    await item(page, "…6789").getByText("current").waitFor();
    expect(await page.content()).not.toContain(SECRET);
    expect(await loadSource("code")).toMatchObject({ kind: "github", status: "active" });
    expect(complaints).toEqual([expect.stringContaining("422")]);
  });

  it("has its secret rotated, and the old one ended after a question", async () => {
    await gateway.post("/api/v1/sources", { name: "rotated", kind: "github", secrets: [SECRET] });
    const { page } = await visit("/sources/rotated");
    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByLabel("New secret").fill(OTHER);
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText("It is not shown again").waitFor();
    await page.getByText(OTHER).waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await item(page, "…3210").getByText("current").waitFor();
    await page.getByRole("button", { name: "End …6789" }).click();
    await page.getByText("are rejected from now on").waitFor();
    expect((await loadSource("rotated"))["secrets"]).toHaveLength(2);
    await page.getByRole("button", { name: "End it now" }).click();
    await expect.poll(async () => (await loadSource("rotated"))["secrets"]).toHaveLength(1);
  });

  it("is paused, resumed and closed, the last after a question", async () => {
    await gateway.post("/api/v1/sources", { name: "moody" });
    const { page } = await visit("/sources/moody");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.getByRole("button", { name: "Close source" }).click();
    await page.getByText("Its senders get 410 from now on").waitFor();
    expect((await loadSource("moody"))["status"]).toBe("active");
    await page.getByRole("button", { name: "Close it" }).click();
    await expect.poll(async () => (await loadSource("moody"))["status"]).toBe("closed");
  });

  it("is paused and resumed also where the configuration declares it, and nothing else of it is changed here", async () => {
    const { page } = await visit(SHEETS);
    await page.getByText("in posthorn.yaml").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await expect.poll(async () => (await loadSource(SMARTSHEET_EXAMPLE.source))["status"]).toBe("paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await expect.poll(async () => (await loadSource(SMARTSHEET_EXAMPLE.source))["status"]).toBe("active");
    expect(await page.getByRole("link", { name: "Edit" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
  });

  it("shows both versions when somebody else changed it meanwhile, and saves over it only when told so", async () => {
    await gateway.post("/api/v1/sources", { name: "shared", event_type: "first.type" });
    const { page } = await visit("/sources/shared/edit");
    await page.getByLabel(/^Event type/).fill("my.type");
    const headers = { "content-type": "application/json" };
    await gateway.request("PATCH", "/api/v1/sources/shared", { body: '{"event_type":"their.type"}', headers });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Somebody else changed this while you edited it.").waitFor();
    await page.getByText("their.type").waitFor();
    expect((await loadSource("shared"))["event_type"]).toBe("their.type");
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "shared", exact: true }).waitFor();
    expect((await loadSource("shared"))["event_type"]).toBe("my.type");
  });

  it("shows no button to a key that may only read", async () => {
    await gateway.post("/api/v1/sources", { name: "looked-at", kind: "github", secrets: [SECRET] });
    const { page } = await visit("/sources/looked-at", await gateway.createKey(["read"]));
    await item(page, "…6789").waitFor();
    expect(await page.getByRole("button", { name: /Pause|Close|Rotate|End/ }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Edit" }).count()).toBe(0);
  });
});

describe("a source that takes from a queue", () => {
  it("is left to the operator: a key of its tenant is offered nothing that the gateway rejects", async () => {
    const key = await gateway.createKey(["admin"], "default");
    const own = { name: "of-api", kind: "azure-service-bus", status: "paused", options: { queue: "orders" } };
    expect((await gateway.post("/api/v1/sources", own)).status).toBe(201);
    const acts = /^(?:Pause|Resume|Close source|Delete)$/;
    const { page } = await visit("/sources/of-api", key);
    await page.getByRole("region", { name: "Facts" }).waitFor();
    expect(await page.getByRole("button", { name: acts }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Edit" }).count()).toBe(0);
    expect((await gateway.as(key).post("/api/v1/sources/of-api/resume")).status).toBe(403);
    // The negative control: the operator is offered all of it, and so is the tenant where it may.
    const operator = await visit("/sources/of-api");
    await operator.page.getByRole("link", { name: "Edit" }).waitFor();
    expect(await operator.page.getByRole("button", { name: acts }).count()).toBe(3);
    await gateway.post("/api/v1/sources", { name: "of-tenant" });
    await page.goto("/sources/of-tenant");
    await page.getByRole("link", { name: "Edit" }).waitFor();
    await gateway.request("DELETE", "/api/v1/sources/of-api");
  });

  it("shows its parked messages, requeues them, and purges them with their number", async () => {
    const { page } = await visit(QUEUE);
    await item(page, "order-1001").getByText("invalid").waitFor();
    await page.getByRole("button", { name: "Show order-1001" }).click();
    await page.getByText('{"id": 1001,').waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByLabel("Reason").fill("other");
    await page.getByText("No message was parked for this reason.").waitFor();
    expect(new URL(page.url()).search).toBe("?reason=other");
    await page.getByLabel("Reason").fill("invalid");
    await page.getByRole("button", { name: "Requeue these" }).click();
    await page.getByText("1 message is in the queue again.").waitFor();
    await page.getByText("No message was parked for this reason.").waitFor();

    refillQueue();
    await page.goto(QUEUE);
    await page.getByRole("button", { name: "Purge all" }).click();
    await page.getByText("1 message will be deleted from the broker for good").waitFor();
    await page.getByRole("button", { name: "Purge 1 message" }).click();
    await page.getByText("1 parked message was deleted.").waitFor();
  });
});

describe("a source of Smartsheet", () => {
  it("shows sheets against webhooks, and cleans up after a question", async () => {
    const { page } = await visit(SHEETS);
    await item(page, "duplicate").waitFor();
    await page.getByRole("button", { name: "Clean up" }).click();
    await page.getByText("will be removed at Smartsheet").waitFor();
    await page.getByRole("button", { name: "Remove 1" }).click();
    await page.getByText("1 removed.").waitFor();
    await expect.poll(() => item(page, "duplicate").count()).toBe(0);
    await page.getByRole("button", { name: "Register all sheets" }).click();
    await page.getByText("is registered").or(page.getByText("failed:")).waitFor();
  });
});

describe("the pages of sources", () => {
  it("have no barriers in light and in dark, and fit on 360 px", async () => {
    const options = { header: "x-s" };
    await gateway.post("/api/v1/sources", { name: "seen", kind: "hmac", secrets: [SECRET], options });
    const { page } = await visit("/sources");
    for (const [path, text] of [
      ["/sources", "seen"],
      ["/sources/-new?kind=hmac", "Settings of this kind"],
      ["/sources/seen", "URL for the sender"],
      ["/sources/seen/edit", "Settings of this kind"],
      [QUEUE, "Parked messages"],
      [SHEETS, "Purchase orders"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
    }
  });
});
