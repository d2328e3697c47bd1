import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DASHBOARD_PAGES } from "../../src/api/dashboard/pages.ts";
import { asOtherMachine, replaceText, signIn } from "../support/browser.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

/** Pages without an entry in the menu. */
const OUTSIDE_MENU = ["sign-in", "portal"];

let gateway: TestGateway;
let sink: SinkServer;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

const newPage = async (url = gateway.url): Promise<Page> => (await visits.open(url)).page;
const visit = async (path: string): Promise<Page> => (await visits.visit(gateway.url, path)).page;

const pathOf = (page: Page) => new URL(page.url()).pathname;
const search = (page: Page) => page.getByLabel("Search in bodies");
const shortcuts = (page: Page) => page.getByRole("dialog", { name: "Keyboard shortcuts" });

describe("signing in", () => {
  it("is rejected over plain http from another machine, with what to do", async () => {
    const page = await newPage(asOtherMachine(gateway.url));
    await page.goto("/events");
    await page.getByLabel("API key").fill(ADMIN_KEY);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("works only on the gateway's own machine").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.getByRole("navigation").count()).toBe(0);

    // The same gateway, key and page, by the name of this machine.
    const near = await newPage();
    await signIn(near, "/events", ADMIN_KEY);
    await near.getByRole("heading", { name: "Events" }).waitFor();
    expect(await near.context().cookies()).toHaveLength(1);
  });

  it("leads to where one wanted to go, with all that the address says", async () => {
    const { id } = await gateway.subscribe({ name: "Deep", url: sink.url, events: ["deep.*"] });
    const { json } = await gateway.publish({ event_type: "deep.link", payload: { n: 1 } });
    const event = String(json["event_id"]);
    for (const [path, title] of [
      [`/events/${event}`, "deep.link"],
      ["/events?source=api&event_type=deep.*", "Events"],
      [`/subscriptions/${id}/edit`, "Deep"],
      ["/alerts?show=rules", "Alerts"],
      ["/validation/orders?show=edit", "orders"],
    ] as const) {
      const page = await newPage();
      await signIn(page, path, ADMIN_KEY);
      await page.getByRole("heading", { name: title }).first().waitFor();
      expect(page.url()).toBe(gateway.url + path);
    }
  });
});

describe("the keyboard", () => {
  it("leads to every page by the keys that the list of shortcuts names", async () => {
    const page = await visit("/overview");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("?");
    const rows = await shortcuts(page).locator("dl > div").all();
    const listed = await Promise.all(
      rows.map(async (row) => ({
        keys: await row.locator("kbd").allTextContents(),
        what: (await row.locator("dd").textContent()) ?? "",
      })),
    );
    await page.keyboard.press("Escape");
    await shortcuts(page).waitFor({ state: "hidden" });
    const leading = listed.filter(({ keys }) => keys[0] === "g");
    expect(leading).toHaveLength(DASHBOARD_PAGES.length - OUTSIDE_MENU.length);
    for (const { keys, what } of leading) {
      for (const key of keys) await page.keyboard.press(key);
      const link = page.getByRole("navigation").getByRole("link", { name: what.replace("Go to ", ""), exact: true });
      await expect.poll(() => link.getAttribute("aria-current")).toBe("page");
    }
  });

  it("is only a keyboard while somebody types", async () => {
    const page = await visit("/events");
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.keyboard.press("/");
    await search(page).and(page.locator(":focus")).waitFor();
    expect(await search(page).inputValue()).toBe("");
    await page.keyboard.type("g o/?");
    expect(await search(page).inputValue()).toBe("g o/?");
    expect(pathOf(page)).toBe("/events");
    expect(await shortcuts(page).count()).toBe(0);
    // A key of its own means nothing, and a letter that leads nowhere neither.
    await search(page).blur();
    await page.keyboard.press("o");
    await page.keyboard.press("g");
    await page.keyboard.press("q");
    await page.keyboard.press("o");
    await page.keyboard.press("?");
    await shortcuts(page).waitFor();
    expect(pathOf(page)).toBe("/events");
  });
});

describe("the addresses of pages", () => {
  it("are those of the menu, and each answers a browser with the page", async () => {
    const page = await visit("/overview");
    const links = await page.getByRole("navigation").getByRole("link").all();
    const addresses = await Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
    const expected = DASHBOARD_PAGES.filter((name) => !OUTSIDE_MENU.includes(name));
    expect(addresses.map((address) => address.slice(1)).sort()).toEqual([...expected].sort());
    for (const address of addresses) {
      const answer = await page.goto(address);
      expect([address, answer?.status(), answer?.headers()["content-type"]]).toEqual([
        address,
        200,
        "text/html; charset=utf-8",
      ]);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect([address, await page.getByText("There is no such page").count()]).toEqual([address, 0]);
    }
    await page.goto("/overview/nothing");
    await page.getByText("There is no such page").waitFor();
  });

  it("that a key may not see say so, and which scope they need", async () => {
    const reader = await visits.open(gateway.url);
    await reader.page.goto("/tenants");
    await reader.page.getByText("sees all pages but Validations, Tenants, Audit, Jobs, Keys").waitFor();
    const { page } = await visits.visit(gateway.url, "/tenants", await gateway.createKey(["read"]));
    for (const [path, needed] of [
      ["/tenants", "the scope admin and is bound to no tenant."],
      ["/validation/orders", "the scope admin and is bound to no tenant."],
      ["/keys", "the scope admin."],
    ] as const) {
      await page.goto(path);
      await page.getByText("Your key may not see this page").waitFor();
      await page.getByText(`Sign in with a key that has ${needed}`).waitFor();
      expect([path, await page.getByText("There is no such page").count()]).toEqual([path, 0]);
    }
    await page.goto("/overview/nothing");
    await page.getByText("There is no such page").waitFor();
  });

  it("hide no route of the API", async () => {
    const { json } = await gateway.get("/openapi.json");
    const paths = Object.keys(json["paths"] as object);
    expect(paths.length).toBeGreaterThan(50);
    expect(findHidden(paths)).toEqual([]);
    expect(findHidden([...paths, "/events/{id}", "/bulk"])).toEqual(["/events/{id}", "/bulk"]);
    // A browser that asks for one of them gets its answer, not the page.
    const open = paths.filter((path) => path.split("/").length === 2 && !["/", "/docs"].includes(path));
    for (const path of open) {
      const { headers } = await gateway.request("GET", path, { headers: { accept: "text/html" } });
      expect([path, headers.get("content-type")?.includes("html")]).toEqual([path, false]);
    }
  });
});

function findHidden(paths: readonly string[]): string[] {
  const pages: ReadonlySet<string> = new Set(DASHBOARD_PAGES);
  return paths.filter((path) => pages.has(path.split("/")[1] ?? ""));
}

describe("an edited replay", () => {
  it("names the event that it was made from, on its page and in the audit log", async () => {
    await gateway.subscribe({ name: "Edited", url: sink.url, events: ["edit.me"] });
    const { json } = await gateway.publish({ event_type: "edit.me", payload: { n: 1 } });
    const first = String(json["event_id"]);
    const countEvents = async () =>
      ((await gateway.get("/api/v1/events?event_type=edit.me")).json["data"] as []).length;
    const page = await visit(`/events/${first}`);
    // As it was, it stays the same event.
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByRole("button", { name: "Replay now" }).click();
    await page.getByText("#2 200").waitFor();
    expect(await countEvents()).toBe(1);
    const audited = async () => (await gateway.get("/api/v1/audit?act=event.replay_edited")).json["data"] as object[];
    expect(await audited()).toEqual([]);

    await page.getByRole("button", { name: "Edit and replay" }).click();
    const payload = page.getByRole("textbox", { name: "Payload" });
    await replaceText(payload, '{"n": 12345678901234567890');
    await page.getByText("This is not valid JSON").first().waitFor();
    expect(await page.getByRole("button", { name: "Send as a new event" }).isDisabled()).toBe(true);
    await replaceText(payload, '{"n": 12345678901234567890}');
    await page.getByRole("button", { name: "Send as a new event" }).click();
    await page.getByText("Edited from").waitFor();
    const second = decodeURIComponent(pathOf(page).split("/")[2] ?? "");
    expect(second).not.toBe(first);
    expect(await countEvents()).toBe(2);
    expect(await audited()).toMatchObject([{ id: first, actor: "key:config", details: { event_id: second } }]);
    await page.goto(`/audit?act=event.replay_edited`);
    await page.getByText("event.replay_edited").click();
    await page.getByText(second).waitFor();
    await page.getByRole("link", { name: "Open it" }).click();
    await page.getByRole("heading", { name: "edit.me" }).waitFor();
    expect(pathOf(page)).toBe(`/events/${first}`);
  });
});
