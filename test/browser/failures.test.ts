import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { findFaults } from "../support/browser.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
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

const visit = (path: string, key = ADMIN_KEY) => visits.visit(gateway.url, path, key);

/** A subscription with so many dead letters, all of one type. */
async function kill(name: string, source: string, count: number): Promise<string> {
  sink.answerWith({ status: 400 });
  const { id } = await gateway.subscribe({ name, url: sink.url, events: [`webhook.${source}`] });
  for (let n = 0; n < count; n++) await gateway.webhook(source, JSON.stringify({ n }));
  await until(async () => (await gateway.deadLetters(`subscription_id=${id}`)).length === count);
  sink.answerWith({ status: 200 });
  return id;
}

const item = (page: Page, name: string) => page.getByRole("listitem").filter({ hasText: name });

describe("dead letters", () => {
  it("are grouped by subscription and cause, and replayed as a job that one can come back to", async () => {
    const id = await kill("ERP", "orders", 3);
    const { page, complaints } = await visit("/dead-letters");
    await item(page, "ERP").getByText("refused").waitFor();
    await item(page, "ERP").getByText("answered 400").waitFor();
    await page.getByRole("link", { name: "ERP" }).click();
    expect(new URL(page.url()).search).toBe(`?subscription_id=${id}&reason=refused`);

    await page.getByRole("checkbox").first().check();
    await page.getByRole("button", { name: "Replay 1 selected" }).click();
    await page.getByText("1 delivery is open again.").waitFor();
    await until(async () => (await gateway.deadLetters(`subscription_id=${id}`)).length === 2);

    await page.getByRole("button", { name: "Replay ERP, refused" }).click();
    await page.getByText("2 dead letters will be sent again").waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await gateway.deadLetters(`subscription_id=${id}`)).toHaveLength(2);
    await page.getByRole("button", { name: "Replay 2 dead letters" }).click();
    await page.getByRole("heading", { name: "Replay of dead letters" }).waitFor();
    await page.getByRole("status").getByText("completed").waitFor();
    await page.getByText("2 of 2").waitFor();
    await gateway.settled();
    expect(await gateway.deadLetters(`subscription_id=${id}`)).toEqual([]);

    const address = page.url();
    await page.getByRole("link", { name: "Replays" }).click();
    await page.getByRole("link", { name: "Replay of dead letters" }).first().click();
    await page.getByRole("heading", { name: "Replay of dead letters" }).waitFor();
    expect(page.url()).toBe(address);
    expect(complaints).toEqual([]);
  });

  it("are purged only after a question that says how many, and only those that fit", async () => {
    const kept = await kill("Kept", "kept", 1);
    const purged = await kill("Purged", "purged", 2);
    const { page } = await visit(`/dead-letters?subscription_id=${purged}`);
    await page.getByRole("button", { name: "Purge these" }).click();
    await page.getByText("2 dead letters will be deleted for good").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await gateway.deadLetters(`subscription_id=${purged}`)).toHaveLength(2);
    await page.getByRole("button", { name: "Purge these" }).click();
    await page.getByRole("button", { name: "Purge 2 dead letters" }).click();
    await page.getByRole("heading", { name: "Purge of dead letters" }).waitFor();
    await page.getByRole("status").getByText("completed").waitFor();
    expect(await gateway.deadLetters(`subscription_id=${purged}`)).toEqual([]);
    expect(await gateway.deadLetters(`subscription_id=${kept}`)).toHaveLength(1);
  });

  it("can be paused, resumed and cancelled while they are replayed", async () => {
    const id = await kill("Paused", "paused", 2);
    // What it opens is not sent while its subscription is paused, and the next ones wait for that.
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    const { json } = await gateway.post("/api/v1/replays", {
      kind: "dead_letters",
      filter: { subscription_id: id },
    });
    const { page } = await visit(`/bulk/${String(json["id"])}`);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("status").getByText("paused").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("status").getByText("running").waitFor();
    await page.getByRole("button", { name: "Cancel job" }).click();
    await page.getByText("What it has done stays done").waitFor();
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByRole("status").getByText("cancelled").waitFor();
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
  });

  it("show no button to a key that may only read", async () => {
    await kill("Read only", "read-only", 1);
    const { page } = await visit("/dead-letters", await gateway.createKey(["read"]));
    await item(page, "Read only").waitFor();
    expect(await page.getByRole("button", { name: /Replay|Purge/ }).count()).toBe(0);
  });
});

describe("requests", () => {
  it("say why they made no event, and are replayed after a fix", async () => {
    await gateway.post("/api/v1/sources", { name: "strict", event_type: "strict.order", only: ["wanted.*"] });
    await gateway.webhook("strict", '{"order": 12345678901234567890}', { "x-shop": "<b>bold</b>" });
    await until(async () => (await gateway.rejected("strict")).length === 1);
    const { page, complaints } = await visit("/requests?source=strict");
    await page.getByRole("link", { name: "not among those that the source lets through" }).click();
    await page.getByText("add its type to only of the source. Then replay this request.").waitFor();
    await page.getByText("12345678901234567890").waitFor();
    await page.getByText("<b>bold</b>").waitFor();

    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText("still ignored").waitFor();
    const headers = { "content-type": "application/json" };
    await gateway.request("PATCH", "/api/v1/sources/strict", { body: '{"only":null}', headers });
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText("The request is accepted now.").waitFor();
    await page.getByRole("link", { name: /^evt_/ }).click();
    await page.getByRole("heading", { name: "strict.order" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("lead to the accepted ones of the same source, and to no page that is not there", async () => {
    await gateway.webhook("undeclared", "{");
    await gateway.webhook("undeclared", '{"n":1}');
    await until(async () => (await gateway.rejected("undeclared")).length === 1);
    const { page } = await visit("/requests?source=undeclared");
    await page.getByRole("link", { name: "The body is not well-formed" }).click();
    await page.getByRole("heading", { name: "Request to undeclared" }).waitFor();
    // The same bytes are no better the second time.
    expect(await page.getByRole("button", { name: "Replay" }).count()).toBe(0);
    expect(await page.locator('a[href="/sources/undeclared"]').count()).toBe(0);
    await page.getByRole("link", { name: "its events" }).click();
    await expect.poll(() => page.url()).toBe(`${gateway.url}/events?source=undeclared`);
    await page.goto("/requests?source=undeclared");
    await page.getByRole("main").getByRole("link", { name: "Events", exact: true }).click();
    await expect.poll(() => page.url()).toBe(`${gateway.url}/events?source=undeclared`);
    await page.getByText("webhook.undeclared").waitFor();

    await gateway.post("/api/v1/sources", { name: "declared", event_type: "declared.order" });
    await gateway.webhook("declared", "{");
    await until(async () => (await gateway.rejected("declared")).length === 1);
    const [request] = await gateway.rejected("declared");
    await page.goto(`/requests/${String(request?.id)}`);
    await page.locator('a[href="/sources/declared"]').waitFor();
  });

  it("of all sources are filtered by outcome and cause", async () => {
    await gateway.webhook("broken", "{");
    await until(async () => (await gateway.rejected("broken")).length === 1);
    const { page } = await visit("/requests?outcome=rejected");
    await page.getByRole("link", { name: "The body is not well-formed" }).first().waitFor();
    await page.getByLabel("Cause").selectOption("bad_signature");
    await page.getByText("No request matches").waitFor();
    expect(new URL(page.url()).search).toBe("?outcome=rejected&cause=bad_signature");
  });
});

describe("the pages of failures", () => {
  it("have no barriers in light and in dark, and fit on 360 px", async () => {
    await kill("Seen", "seen", 1);
    await gateway.webhook("seen", "{");
    await until(async () => (await gateway.rejected("seen")).length === 1);
    const [request] = await gateway.rejected("seen");
    const { json } = await gateway.post("/api/v1/replays", { kind: "events", filter: { source: "none" } });
    const { page } = await visit("/dead-letters");
    for (const [path, text] of [
      ["/dead-letters", "By subscription and cause"],
      ["/dead-letters?reason=refused", "Deliveries"],
      ["/bulk", "Replay of events"],
      [`/bulk/${String(json["id"])}`, "What it is about"],
      ["/requests", "The body is not well-formed"],
      [`/requests/${String(request?.id)}`, "Headers"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text, { exact: true }).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
    }
  });
});
