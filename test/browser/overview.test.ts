import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults, visitWithKey } from "../support/browser.ts";
import { openN8nServer } from "../support/n8n-server.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, ALERTING, startTestGateway, STEADY_ALERT, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([
    startTestGateway({ env: ALERTING, yaml: STEADY_ALERT }),
    openSinkServer({ answer: { status: 400 } }),
  ]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

/** Nothing is asked for now and then: what changes was told by the stream. */
const NO_POLLING = "globalThis.setInterval = () => 0";

async function force(id: string, mode: "QUEUE" | "auto"): Promise<void> {
  expect((await gateway.post(`/api/v1/targets/${id}/mode`, { mode })).status).toBe(200);
}

describe("the overview", () => {
  it("shows alerts and modes at once, through the stream", async () => {
    const { id } = await gateway.subscribe({ name: "Refuses", url: sink.url, events: ["live.refused"] });
    const { page, complaints } = await visits.open(gateway.url);
    await page.addInitScript(NO_POLLING);
    const isStreaming = page.waitForResponse(/\/api\/v1\/stream/);
    await visitWithKey(page, "/overview", ADMIN_KEY);
    await isStreaming;
    await page.getByText("Everything is delivered.").waitFor();
    await page.getByText("None.", { exact: true }).waitFor();
    await gateway.publish({ event_type: "live.refused", payload: {} });
    await page.locator(".alert-title", { hasText: "Refuses" }).waitFor();
    // What the alert is about has changed with it.
    await page.getByRole("row", { name: /Refuses/ }).waitFor();
    await force(id, "QUEUE");
    await page.getByText("One target is down. Its deliveries wait").waitFor();
    await force(id, "auto");
    await page.getByText("Everything is delivered.").waitFor();
    expect(complaints).toEqual([]);
  });

  it("names the targets that are down, leads to each of them, and says how many more there are", async () => {
    const ids: string[] = [];
    for (let n = 1; n <= 7; n++) {
      const { id } = await gateway.subscribe({ name: `Down ${n}`, url: sink.url, events: [`down.${n}`] });
      ids.push(id);
    }
    for (const id of ids.slice(0, 2)) await force(id, "QUEUE");
    const { page } = await visits.visit(gateway.url, "/overview");
    await page.getByText("2 targets are down. Their deliveries wait, and are sent when they are back.").waitFor();
    expect(await page.getByText(/^and \d+ more$/).count()).toBe(0);
    const link = page.getByRole("region", { name: "Mode" }).getByRole("link", { name: "Down 2" });
    await expect.poll(() => link.getAttribute("href")).toBe(`/targets/${String(ids[1])}`);
    await link.click();
    await page.getByRole("heading", { name: "Down 2" }).waitFor();

    for (const id of ids.slice(2)) await force(id, "QUEUE");
    await page.goto("/overview");
    await page.getByText("7 targets are down.").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("link", { name: "and 2 more" }).click();
    await page.getByRole("heading", { name: "Targets" }).waitFor();
  });
});

describe("deliveries that wait", () => {
  it("of a source that n8n does not know are shown as such, and as healthy once it does", async () => {
    const [own, n8n] = await Promise.all([startTestGateway(), openN8nServer({ webhooks: [] })]);
    try {
      await n8n.enter("ready");
      await own.subscribe({ name: "Flows", url: `${n8n.url}/webhook/{source}`, mode: "forward", target: "n8n" });
      expect((await own.webhook("orders", "{}")).status).toBe(202);
      const { page } = await visits.visit(own.url, "/overview");
      const panel = page.getByRole("region", { name: "Mode" });
      await panel.getByText("One source is unknown to its target. Its deliveries wait, and are tried again.").waitFor();
      const line = panel.getByRole("listitem").filter({ hasText: "is unknown to the target of Flows" });
      await line.getByText(/since .*, next try (in|now)/).waitFor();
      expect(await line.textContent()).toMatch(/orders.*404/);
      expect(await panel.getByText("Everything is delivered.").count()).toBe(0);
      expect(await findFaults(page)).toEqual([]);

      n8n.setActive("orders", true);
      expect((await own.webhook("orders", "{}")).json).toMatchObject({ status: "forwarded" });
      await own.settled();
      await page.goto("/overview");
      await panel.getByText("Everything is delivered.").waitFor();
    } finally {
      await Promise.all([own.close(), n8n.close()]);
    }
  });

  it("are counted when nothing fails", async () => {
    const own = await startTestGateway();
    try {
      const { id } = await own.subscribe({ name: "Paused", url: sink.url, events: ["held.#"] });
      await own.post(`/api/v1/subscriptions/${id}/pause`);
      expect((await own.publish({ event_type: "held.one", payload: {} })).status).toBe(202);
      const { page } = await visits.visit(own.url, "/overview");
      await page.getByText("Nothing fails; 1 delivery waits.").waitFor();
      await own.publish({ event_type: "held.two", payload: {} });
      await page.goto("/overview");
      await page.getByText("Nothing fails; 2 deliveries wait.").waitFor();
    } finally {
      await own.close();
    }
  });
});

describe("more subscriptions than one page of the API has", () => {
  it("can all be chosen, and the worst of them is found wherever it is", async () => {
    const create = (n: number) => gateway.subscribe({ name: `Many ${n}`, url: sink.url, events: ["of.many"] });
    for (let n = 0; n < 500; n += 25) await Promise.all(Array.from({ length: 25 }, (_, more) => create(n + more)));
    const { id } = await gateway.subscribe({ name: "The last one", url: sink.url, events: ["last.one"] });
    const { json } = await gateway.get("/api/v1/subscriptions?limit=500");
    expect((json["data"] as { id: string }[]).map((one) => one.id)).not.toContain(id);
    await gateway.publish({ event_type: "last.one", payload: {} });
    await gateway.settled();

    const { page } = await visits.visit(gateway.url, "/overview");
    await page.getByRole("row", { name: /The last one/ }).waitFor();
    await page.goto(`/dead-letters?subscription_id=${id}`);
    const chosen = page.getByRole("combobox", { name: "Subscription" }).locator("option:checked");
    await expect.poll(() => chosen.textContent()).toBe("The last one");
    // One that is in no list is named all the same: the list is narrowed by it.
    await page.goto("/dead-letters?subscription_id=sub_gone");
    await expect.poll(() => chosen.textContent()).toBe("sub_gone");
  });
});
