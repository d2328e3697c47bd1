import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { visitWithKey } from "../support/browser.ts";
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

const CHARTS_SCRIPT = /\/charts-[^/]*\.js$/;

async function signInAgain(page: Page): Promise<void> {
  await page.getByLabel("API key").fill(ADMIN_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").waitFor();
}

describe("a key that ends while its page is open", () => {
  it("because it expired: the next click leads to the sign-in, and that back to the page", async () => {
    const { id } = await gateway.subscribe({ name: "Left open", url: sink.url, events: ["a.b"] });
    const expiresAt = new Date(gateway.now() + 3_600_000).toISOString();
    const made = await gateway.post("/api/v1/keys", { name: "ends", scopes: ["admin"], expires_at: expiresAt });
    const { page } = await visit(`/subscriptions/${id}?status=delivered`, String(made.json["key"]));
    await page.getByRole("heading", { name: "Left open" }).waitFor();
    gateway.moveClock(3_601_000);
    // Nothing was loaded: something was to be changed. On a slow machine the page's stream notices first.
    await page
      .getByRole("button", { name: "Pause" })
      .click({ timeout: 5_000 })
      .catch(() => undefined);
    await page.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/subscriptions/${id}`);
    expect(new URL(page.url()).search).toBe("?status=delivered");
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"]).toBe("active");

    await signInAgain(page);
    await page.getByRole("heading", { name: "Left open" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/subscriptions/${id}`);
    await page.getByRole("button", { name: "Pause" }).click();
    await expect.poll(async () => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"]).toBe("inactive");
  });

  it("because it was revoked: a page that only follows the gateway notices by itself", async () => {
    const { json } = await gateway.post("/api/v1/keys", { name: "revoked", scopes: ["read"] });
    const { page } = await visit("/events?event_type=left.open", String(json["key"]));
    await page.getByText("Live", { exact: true }).waitFor();
    await gateway.request("DELETE", `/api/v1/keys/${String(json["id"])}`);
    await page.getByRole("heading", { name: "Sign in to Posthorn" }).waitFor();
    await gateway.publish({ event_type: "left.open", payload: {} });
    await signInAgain(page);
    expect(new URL(page.url()).search).toBe("?event_type=left.open");
    await page.getByRole("link", { name: /left\.open/ }).waitFor();
  });
});

describe("a gateway that is restarted under an open page", () => {
  it("is missed aloud on a page without a stream, and shown as it is when it is back", async () => {
    const { page } = await visit("/overview");
    // The last that it loads: without it, the page would be loaded anew, which the next test is of.
    await page.getByRole("img", { name: /^Events and attempts/ }).waitFor();
    const notice = page.getByText("The gateway cannot be reached. This page goes on by itself");
    expect(await notice.count()).toBe(0);
    await gateway.stop();
    await notice.waitFor();
    // Waited for from now on: it is shown for a few seconds only.
    const told = page.getByText("The gateway is back.").first().waitFor();
    await gateway.restart();
    await told;
    await notice.waitFor({ state: "detached" });
    await page.getByText("Everything is delivered.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("is waited for by a page whose scripts were not all there, which is then loaded anew", async () => {
    const { page } = await visits.open(gateway.url);
    const scripts: Route[] = [];
    await page.route(CHARTS_SCRIPT, (route) => void scripts.push(route));
    await visitWithKey(page, "/overview", ADMIN_KEY);
    await expect.poll(() => scripts.length).toBe(1);
    await gateway.stop();
    await scripts[0]?.abort("connectionrefused");
    await page.getByText("The gateway cannot be reached.").first().waitFor();
    await gateway.restart();
    await expect.poll(() => scripts.length).toBe(2);
    await scripts[1]?.continue();
    await page.getByRole("img", { name: /^Events and attempts/ }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("is not asked over and over for a script that it does not have", async () => {
    const { page } = await visits.open(gateway.url);
    let loads = 0;
    page.on("load", () => (loads += 1));
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.route(CHARTS_SCRIPT, (route) => route.fulfill({ status: 404 }));
    await visitWithKey(page, "/overview", ADMIN_KEY);
    await expect.poll(() => loads).toBe(2);
    await page.getByText("This page could not be shown").waitFor();
    // Who loads the page anew asks for the gateway first, before it shows anything: once, and not once more.
    expect(asked.filter((path) => path === "/livez")).toHaveLength(1);
    expect(loads).toBe(2);
    await page.getByRole("button", { name: "Load again" }).waitFor();
  });

  it("is waited for on the way to another page, which then shows what was made meanwhile", async () => {
    const { page } = await visit("/overview");
    // The last that it loads, as above.
    await page.getByRole("img", { name: /^Events and attempts/ }).waitFor();
    await gateway.stop();
    await page.getByRole("link", { name: "Subscriptions" }).click();
    await page.getByText("The gateway cannot be reached. This page goes on by itself").waitFor();
    expect(new URL(page.url()).pathname).toBe("/subscriptions");
    await gateway.restart();
    await gateway.subscribe({ name: "Made meanwhile", url: sink.url, events: ["m.n"] });
    await page.getByRole("link", { name: /Made meanwhile/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/subscriptions");
  });

  it("loses none of the events that come before the stream is back, and shows none twice", async () => {
    const { page } = await visit("/events?event_type=restart.*");
    await page.getByText("Live", { exact: true }).waitFor();
    const send = async (n: number) => {
      await gateway.publish({ event_type: `restart.n${n}`, payload: { n } });
    };
    await send(1);
    await page.getByRole("link", { name: /restart\.n1/ }).waitFor();
    for (const round of [2, 4]) {
      await gateway.stop();
      await page.getByText("reconnecting").waitFor();
      await gateway.restart();
      await send(round);
      await send(round + 1);
    }
    await expect
      .poll(async () => {
        const texts = await page.getByRole("link", { name: /restart\.n/ }).allTextContents();
        return texts.map((text) => /restart\.n\d/.exec(text)?.[0]);
      })
      .toEqual([5, 4, 3, 2, 1].map((n) => `restart.n${n}`));
  });
});

describe("a second tab", () => {
  it("that saved the same thing first: the other shows both versions, and nothing is lost", async () => {
    const { id } = await gateway.subscribe({ name: "Two tabs", url: sink.url, events: ["t.*"] });
    const { page: first, context } = await visit(`/subscriptions/${id}/edit`);
    const second = await context.newPage();
    await second.goto(`/subscriptions/${id}/edit`);
    await first.getByLabel("Description").fill("from the first");
    await second.getByLabel("Description").fill("from the second");
    await second.getByRole("button", { name: "Save" }).click();
    await second.getByRole("heading", { name: "Two tabs", exact: true }).waitFor();

    const answered = first.waitForResponse((response) => response.request().method() === "PATCH");
    await first.getByRole("button", { name: "Save" }).click();
    expect((await answered).status()).toBe(412);
    const conflict = first.getByRole("alert", { name: "Somebody else changed it" });
    await conflict.getByText("from the first").waitFor();
    await conflict.getByText("from the second").waitFor();
    const stored = async () => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["description"];
    expect(await stored()).toBe("from the second");
    await conflict.getByRole("button", { name: "Keep mine" }).click();
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByRole("heading", { name: "Two tabs", exact: true }).waitFor();
    expect(await stored()).toBe("from the first");
  });

  it("that changed nothing is no conflict", async () => {
    const { id } = await gateway.subscribe({ name: "One tab", url: sink.url, events: ["t.*"] });
    const { page } = await visit(`/subscriptions/${id}/edit`);
    await page.getByLabel("Description").fill("alone");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "One tab", exact: true }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });
});

describe("a key that may only read", () => {
  const ACTS =
    /^(?:Replay|Edit and replay|Erase body|Test|Pause|Resume|Delete|Edit|Create.*|New.*|Save|Revoke.*|Run.*)$/;

  it("sees no button that changes something, and the API says 403 to a request that is sent anyway", async () => {
    const { id } = await gateway.subscribe({ name: "Only read", url: sink.url, events: ["r.*"] });
    const { json } = await gateway.publish({ event_type: "r.one", payload: {} });
    const event = String(json["event_id"]);
    const key = await gateway.createKey(["read"]);
    const pages = [
      [`/subscriptions/${id}`, "History of its status"],
      ["/subscriptions", "Only read"],
      [`/events/${event}`, "#1 200"],
      ["/targets", "Only read"],
      ["/event-types", "There are no event types yet"],
      ["/sources", "Sources"],
    ] as const;
    const reader = await visit("/overview", key);
    const admin = await visit("/overview");
    for (const [path, text] of pages) {
      const counts: number[] = [];
      for (const { page } of [reader, admin]) {
        await page.goto(path);
        await page.getByText(text).first().waitFor();
        await page.getByRole("heading", { level: 1 }).waitFor();
        const acts = page
          .locator("main")
          .getByRole("button", { name: ACTS })
          .or(page.locator("main").getByRole("link", { name: ACTS }));
        if (page === admin.page) await acts.first().waitFor();
        counts.push(await acts.count());
      }
      // The admin's count is the negative control: the words are those of the buttons.
      expect([path, counts[0], (counts[1] ?? 0) > 0]).toEqual([path, 0, true]);
    }
    // Through the session itself, as a script in the page would.
    const statuses = await reader.page.evaluate(
      (urls) => Promise.all(urls.map(async (url) => (await fetch(url, { method: "POST" })).status)),
      [`/api/v1/subscriptions/${id}/pause`, `/api/v1/events/${event}/replay`, `/api/v1/subscriptions/${id}/test`],
    );
    expect(statuses).toEqual([403, 403, 403]);
    expect((await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"]).toBe("active");
  });
});
