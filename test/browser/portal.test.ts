import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBarriers, findCutOff, findFaults, type OpenPage, type PageOptions } from "../support/browser.ts";
import { openHostPage, type HostPage } from "../support/host-page.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
let allowed: HostPage;
let other: HostPage;
/** Where the operator may have batches written. */
let files: string;
const visits = openVisits();

const framedBy = (...hosts: HostPage[]) =>
  `portal: { frame_origins: [${hosts.map(({ origin }) => `'${origin}'`).join(", ")}] }`;

beforeAll(async () => {
  [sink, allowed, other] = await Promise.all([openSinkServer(), openHostPage("localhost"), openHostPage("localhost")]);
  files = mkdtempSync(join(MEMORY_FOLDER, "posthorn-batches-"));
  const env = { SMTP_URL: "smtp://127.0.0.1:9", SMTP_FROM: "gateway@example.com", BATCH_DIR: files };
  gateway = await startTestGateway({ yaml: framedBy(allowed), env });
  for (const id of ["acme", "globex"]) await gateway.post("/api/v1/tenants", { id });
  const versions = [{ version: "1.0", schema: { type: "object" }, example: { order_id: 1 } }];
  await gateway.post("/api/v1/event-types", {
    name: "order.paid",
    description: "An order was paid",
    producer: "shop-backend",
    consumers: ["ledger"],
    versions,
  });
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close(), allowed.close(), other.close()]);
  rmSync(files, { recursive: true });
});

async function makeLink(body: object = {}, client: Pick<TestGateway, "post"> = gateway): Promise<string> {
  const { status, json } = await client.post("/api/v1/tenants/acme/portal-link", body);
  expect(status).toBe(201);
  return String(json["url"]);
}

const tokenOf = (link: string) => link.split("#token=")[1] ?? "";

async function visit(url: string, options: PageOptions = {}): Promise<OpenPage> {
  const opened = await visits.open(gateway.url, options);
  await opened.page.goto(url);
  return opened;
}

const frameIn = (page: Page) => page.frames()[1] as Frame;

/** Where Chromium shows its own page instead of one that refuses to be framed. */
const REFUSED = "chrome-error://chromewebdata/";

describe("the partner portal in a frame of an allowed site", () => {
  it("creates a subscription, tests it, shows the attempt, and replays an event", async () => {
    const { page, context, complaints } = await visit(allowed.showing(await makeLink()));
    const portal = page.frameLocator("iframe");
    await portal.getByRole("link", { name: "Subscriptions" }).click();
    await portal.getByText("There are no subscriptions yet").waitFor();
    await portal.getByRole("link", { name: "Create subscription" }).click();
    await portal.getByLabel("Name (required)").fill("Shop");
    await portal.getByLabel("URL (required)").fill(sink.url);
    await portal.getByLabel("Events (required)").fill("order.*");
    await portal.getByRole("button", { name: "Create subscription" }).click();
    await portal.getByRole("heading", { name: "Shop" }).waitFor();

    await portal.getByRole("button", { name: "Test", exact: true }).click();
    await portal.getByText("The destination accepted it").waitFor();
    await portal.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await portal.getByText("test.event").first().waitFor();
    await portal.getByRole("button", { name: "Reveal" }).click();
    await portal.getByText(/whsec_/).waitFor();

    // A browser may load a frame again at any time: its address must be one that can be framed.
    expect(new URL(frameIn(page).url()).pathname).toMatch(/^\/portal\/subscriptions\/sub_/);
    await frameIn(page).evaluate("location.reload()");
    await portal.getByText("test.event").first().waitFor();
    await portal.getByRole("heading", { name: "Shop" }).waitFor();

    await gateway.publish({ event_type: "order.paid", payload: { n: 1 }, tenant_id: "acme" });
    await portal.getByRole("link", { name: "Events" }).click();
    await portal.getByRole("link", { name: /order\.paid/ }).click();
    await portal.getByText("#1 200").waitFor();
    await portal.getByRole("button", { name: "Replay", exact: true }).click();
    await portal.getByRole("button", { name: "Replay now" }).click();
    await portal.getByText("#2 200").waitFor();
    expect((await sink.received(3)).map(({ headers }) => headers["x-webhook-event"])).toEqual([
      "test.event",
      "order.paid",
      "order.paid",
    ]);

    const { data } = (await gateway.get("/api/v1/subscriptions?tenant_id=acme")).json as { data: object[] };
    expect(data).toMatchObject([{ name: "Shop", tenant_id: "acme" }]);
    // Browsers block cookies in frames of other sites: it needs none.
    expect(await context.cookies()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("shows its own pages only, and nothing to do with what partners may not", async () => {
    const { page } = await visit(allowed.showing(await makeLink()));
    const portal = page.frameLocator("iframe");
    await portal.getByRole("navigation").waitFor();
    expect(await portal.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
      "Events",
      "Subscriptions",
      "Dead letters",
      "Replays",
      "Event types",
    ]);
    await portal.getByRole("link", { name: "Event types" }).click();
    await portal.getByRole("link", { name: "order.paid" }).click();
    await portal.getByRole("heading", { name: "Schema 1.0" }).waitFor();
    expect(await portal.getByText("POSTHORN_API_KEY").count()).toBe(0);
    expect(await portal.getByRole("button", { name: /^(?:Edit|Delete)$/ }).count()).toBe(0);
    expect(await portal.getByRole("link", { name: "History" }).count()).toBe(0);
    expect(await portal.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  });
});

describe("frames of sites that are not allowed", () => {
  it("show nothing of the portal, until the configuration names the site", async () => {
    const link = await makeLink();
    const blocked = await visit(other.showing(link));
    await expect.poll(() => frameIn(blocked.page).url()).toBe(REFUSED);
    await expect.poll(() => blocked.complaints.join()).toContain("frame-ancestors");

    // The negative control: with the site allowed, the same page in the same browser shows it.
    await gateway.restart({ yaml: framedBy(allowed, other) });
    const shown = await visit(other.showing(link));
    await shown.page.frameLocator("iframe").getByRole("heading", { name: "Events" }).waitFor();
    expect(shown.complaints).toEqual([]);
    await gateway.restart({ yaml: framedBy(allowed) });
  });

  it("and those of allowed sites show no page of the operator", async () => {
    for (const path of ["/", "/sign-in", "/overview", "/subscriptions", "/portals", "/docs"]) {
      const { page, complaints } = await visit(allowed.showing(gateway.url + path));
      if (path === "/portals") {
        // No page at all, so nothing that could be clicked.
        await page.frameLocator("iframe").getByText("not_found").waitFor();
        continue;
      }
      await expect.poll(() => [path, frameIn(page).url()]).toEqual([path, REFUSED]);
      await expect.poll(() => complaints.join()).toContain("frame-ancestors");
    }
  });

  it("can be named with all subdomains of a site, for the portal alone", async () => {
    const site = "https://*.example.com:8443";
    const second = await startTestGateway({ yaml: `portal: { frame_origins: ['${site}'] }` });
    try {
      const ancestorsOf = async (path: string) => {
        const answer = await fetch(second.url + path, { headers: { accept: "text/html" } });
        await answer.text();
        return /frame-ancestors (.*)$/.exec(answer.headers.get("content-security-policy") ?? "")?.[1];
      };
      expect(await ancestorsOf("/portal/events")).toBe(site);
      expect(await ancestorsOf("/events")).toBe("'none'");
    } finally {
      await second.close();
    }
  });
});

describe("a portal link", () => {
  const message = (page: Page) => page.getByRole("heading", { name: "This link does not work any more" });

  it("that has expired says so, and no more", async () => {
    const link = await makeLink({ expires_in_s: 60 });
    const { page } = await visit(link);
    await page.getByRole("heading", { name: "Events" }).waitFor();
    expect(page.url()).not.toContain("token");
    gateway.moveClock(61_000);
    await page.getByRole("link", { name: "Subscriptions" }).click();
    await message(page).waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
    expect(await page.getByLabel("API key").count()).toBe(0);

    const late = await visit(link);
    await message(late.page).waitFor();
    expect(await findFaults(late.page)).toEqual([]);
    // A new link in the same tab works.
    await late.page.goto(await makeLink());
    await late.page.getByRole("heading", { name: "Events" }).waitFor();
  });

  it("ends with the key that made it, also while somebody is about to change something", async () => {
    const { json } = await gateway.post("/api/v1/keys", { name: "makes links", scopes: ["admin"] });
    const link = await makeLink({}, gateway.as(String(json["key"])));
    const { page } = await visit(link.replace("/portal#", "/portal/subscriptions/new#"));
    await page.getByLabel("Name (required)").fill("Late");
    await page.getByLabel("URL (required)").fill(sink.url);
    await page.getByLabel("Events (required)").fill("late.*");
    // The last that the page asks for by itself: the next is what somebody sends.
    await page.getByText("No event of these types has come in yet.").waitFor();
    await gateway.request("DELETE", `/api/v1/keys/${String(json["id"])}`);
    await page.getByRole("button", { name: "Create subscription" }).click();
    await message(page).waitFor();
    const { data } = (await gateway.get("/api/v1/subscriptions?tenant_id=acme")).json as { data: { name: string }[] };
    expect(data.map(({ name }) => name)).not.toContain("Late");
  });

  it.each(["/portal", "/portal/events", "/portal#token=", "/portal#token=php_wrong", `/portal#token=${ADMIN_KEY}`])(
    "is needed at %s",
    async (path) => {
      const { page } = await visit(path);
      await message(page).waitFor();
      expect(await page.getByRole("navigation").count()).toBe(0);
    },
  );

  it("does not use the session of an operator in the same browser", async () => {
    const { page } = await visit("/");
    await page.getByLabel("API key").fill(ADMIN_KEY);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.goto("/portal/keys");
    await message(page).waitFor();
    await page.goto(await makeLink());
    await page.getByRole("heading", { name: "Events" }).waitFor();
    expect(await page.getByRole("link", { name: "Keys" }).count()).toBe(0);
    await page.goto("/overview");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("shows nothing of another tenant, and no page of the operator", async () => {
    const { id } = await gateway.subscribe({ name: "Secret", url: sink.url, events: ["x.*"], tenant_id: "globex" });
    const { json } = await gateway.publish({ event_type: "x.y", payload: { of: "globex" }, tenant_id: "globex" });
    const event = String(json["event_id"]);
    const link = await makeLink();
    const partner = gateway.as(tokenOf(link));
    const { page } = await visit(link);
    await page.getByRole("heading", { name: "Events" }).waitFor();
    for (const path of [`/subscriptions/${id}`, `/subscriptions/${id}/edit`, `/events/${event}`]) {
      await page.goto(`/portal${path}`);
      await page.getByText(/There is no (?:subscription|event)/).waitFor();
      expect(await page.getByText(/Secret|globex/).count()).toBe(0);
    }
    expect((await partner.get(`/api/v1/subscriptions/${id}`)).status).toBe(404);
    expect((await partner.post(`/api/v1/subscriptions/${id}/test`, {})).status).toBe(404);
    expect((await partner.post(`/api/v1/events/${event}/replay`)).status).toBe(404);

    for (const path of ["/keys", "/tenants", "/tenants/acme", "/audit", "/overview", "/targets", "/sources", "/jobs"]) {
      await page.goto(`/portal${path}`);
      await page.getByText("There is no such page").waitFor();
    }
    for (const path of ["/api/v1/keys", "/api/v1/tenants/acme", "/api/v1/audit", "/status", "/api/v1/targets"]) {
      expect([path, (await partner.get(path)).status]).toEqual([path, 403]);
    }
  });

  it("that only reads has no button that changes something, and the API says 403", async () => {
    const { id } = await gateway.subscribe({ name: "Looked at", url: sink.url, events: ["y.*"], tenant_id: "acme" });
    const link = await makeLink({ access: "read" });
    const { page } = await visit(link.replace("/portal#", `/portal/subscriptions/${id}#`));
    await page.getByRole("heading", { name: "History of its status" }).waitFor();
    const acts = /^(?:Test|Pause|Recover|Reveal|Rotate|Delete)$/;
    expect(await page.getByRole("button", { name: acts }).count()).toBe(0);
    await page.goto("/portal/subscriptions/new");
    await page.getByText("Your link only lets you see").waitFor();
    expect((await gateway.as(tokenOf(link)).post(`/api/v1/subscriptions/${id}/pause`)).status).toBe(403);
    // The negative control: with the other access the same page has them.
    const able = await visit((await makeLink()).replace("/portal#", `/portal/subscriptions/${id}#`));
    await able.page.getByRole("button", { name: "Pause" }).waitFor();
    expect(await able.page.getByRole("button", { name: acts }).count()).toBeGreaterThan(4);
  });

  it("offers of each subscription what the gateway allows, and no more", async () => {
    const auth = { type: "bearer", token: "of-the-operator" };
    const ofAcme = { tenant_id: "acme", events: ["offered.*"] };
    const { id: own } = await gateway.subscribe({ ...ofAcme, name: "Own", url: sink.url });
    const { id: theirs } = await gateway.subscribe({ ...ofAcme, name: "Theirs", url: sink.url, auth });
    const batch = { ...ofAcme, name: "Files", kind: "batch", destination: { path: join(files, "offered.ndjson") } };
    const { json: made } = await gateway.post("/api/v1/subscriptions", batch);
    await gateway.post("/api/v1/tenants", { id: "mailed", contacts: [{ email: "ops@mailed.example" }] });
    const listMailed = async () => (await gateway.get("/api/v1/subscriptions?tenant_id=mailed")).json["data"];
    await expect.poll(listMailed).toHaveLength(1);
    const [contact] = (await listMailed()) as { id: string }[];

    const link = await makeLink();
    const mailed = (await gateway.post("/api/v1/tenants/mailed/portal-link", {})).json["url"];
    const offered = async (url: string, id = "") => {
      const { page } = await visit(url.replace("/portal#", `/portal/subscriptions/${id}#`));
      await page.getByRole("heading", { name: "History of its status" }).waitFor();
      const all = [page.getByRole("button"), page.getByRole("link", { name: "Edit" })];
      const names = (await Promise.all(all.map((one) => one.allTextContents()))).flat();
      return ["Test", "Pause", "Edit", "Delete", "Reveal", "Rotate"].filter((name) => names.includes(name));
    };
    expect(await offered(link, own)).toEqual(["Test", "Pause", "Edit", "Delete", "Reveal", "Rotate"]);
    // Without the secret, which signs requests with credentials of the operator.
    expect(await offered(link, theirs)).toEqual(["Pause", "Edit", "Delete"]);
    expect(await offered(link, String(made["id"]))).toEqual([]);
    expect(await offered(String(mailed), contact?.id)).toEqual([]);
  });

  it("shows the request of an attempt again only where that takes no credentials of the operator", async () => {
    const auth = { type: "bearer", token: "of-the-operator" };
    await gateway.subscribe({ name: "Plain", url: sink.url, events: ["shown.plain"], tenant_id: "acme" });
    await gateway.subscribe({ name: "Signed in", url: sink.url, events: ["shown.auth"], tenant_id: "acme", auth });
    const link = await makeLink();
    const openAttempt = async (type: string) => {
      const { json } = await gateway.publish({ event_type: type, payload: {}, tenant_id: "acme" });
      await gateway.settled();
      const { page } = await visit(link.replace("/portal#", `/portal/events/${String(json["event_id"])}#`));
      await page.locator(".attempt summary").first().click();
      return page;
    };
    const shown = { name: "Show method and body" };
    const theirs = await openAttempt("shown.auth");
    await theirs.getByText("Only the operator can have it made again").waitFor();
    expect(await theirs.getByRole("button", shown).count()).toBe(0);
    // The negative control: without such credentials the same link gets it.
    const own = await openAttempt("shown.plain");
    await own.getByRole("button", shown).click();
    await own.getByText("Rendered now from the event").waitFor();
  });

  it("offers nothing to do with deliveries of a subscription that is left to the operator", async () => {
    const auth = { type: "bearer", token: "of-the-operator" };
    const ofAcme = { tenant_id: "acme", events: ["kept.*"] };
    const { id: own } = await gateway.subscribe({ ...ofAcme, name: "Kept own", url: sink.url });
    const { id: theirs } = await gateway.subscribe({ ...ofAcme, name: "Kept theirs", url: sink.url, auth });
    const destination = { gateway: "generic-http", to: "+15005550001", text: "Paid.", url: sink.url };
    const sms = { ...ofAcme, name: "Kept SMS", kind: "sms", destination };
    const reserved = String((await gateway.post("/api/v1/subscriptions", sms)).json["id"]);
    const publish = async () => {
      const { json } = await gateway.publish({ event_type: "kept.one", payload: {}, tenant_id: "acme" });
      return String(json["event_id"]);
    };
    sink.answerWith({ status: 400 });
    await publish();
    await gateway.settled();
    sink.answerWith({ status: 200 });
    for (const id of [own, theirs, reserved]) await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    const event = await publish();
    const link = await makeLink();
    const partner = gateway.as(tokenOf(link));

    const { page } = await visit(link.replace("/portal#", `/portal/events/${event}#`));
    const cancel = (name: string) =>
      page.locator(".delivery", { hasText: name }).getByRole("button", { name: "Cancel delivery" });
    await cancel("Kept own").waitFor();
    await cancel("Kept theirs").waitFor();
    expect(await cancel("Kept SMS").count()).toBe(0);
    const [delivery] = await gateway.deliveries(`subscription_id=${reserved}&status=pending`);
    expect((await partner.post(`/api/v1/deliveries/${delivery?.id ?? ""}/cancel`)).status).toBe(403);
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    const options = page.getByLabel("Deliver to").locator("option");
    await options.filter({ hasText: "Kept own" }).waitFor({ state: "attached" });
    expect((await options.allTextContents()).filter((name) => name.startsWith("Kept"))).toEqual(["Kept own"]);

    await page.goto("/portal/dead-letters");
    await page.getByRole("button", { name: /^Replay Kept own/ }).waitFor();
    await page.getByRole("button", { name: /^Purge Kept theirs/ }).waitFor();
    expect(await page.getByRole("button", { name: /^(?:Replay|Purge) Kept SMS/ }).count()).toBe(0);
    await page.goto(`/portal/dead-letters?subscription_id=${reserved}`);
    await page.getByRole("list", { name: "Dead letters", exact: true }).getByText("Kept SMS").waitFor();
    expect(await page.getByRole("button", { name: /these$/ }).count()).toBe(0);
    expect(await page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(0);

    const acts = page.getByRole("button", { name: /^(?:Recover|Cancel all open)$/ });
    await page.goto(`/portal/subscriptions/${reserved}`);
    await page.getByText("kept.one").first().waitFor();
    expect(await acts.count()).toBe(0);
    await page.goto(`/portal/subscriptions/${theirs}`);
    await acts.nth(1).waitFor();
    await page.getByRole("button", { name: "Recover" }).click();
    expect(await page.getByLabel("What").locator("option").allTextContents()).toEqual(["Its dead letters"]);
    await gateway.post("/api/v1/dead-letters/purge", { all: true, confirm: "purge" });
    await expect.poll(() => gateway.deadLetters()).toEqual([]);
  });

  it("is offered only kinds that the gateway allows, and shown nothing of others", async () => {
    const { page } = await visit((await makeLink()).replace("/portal#", "/portal/subscriptions/new#"));
    const kinds = page.getByLabel("Kind of destination").locator("option");
    await kinds.first().waitFor({ state: "attached" });
    expect(await kinds.allTextContents()).toEqual(["HTTP (webhook)", "Batch files"]);
    await page.goto("/portal/event-types/order.paid");
    await page.getByRole("heading", { name: "Schema 1.0" }).waitFor();
    expect(await page.getByText(/Producer|Consumers|shop-backend|ledger/).count()).toBe(0);
  });
});

describe("the look of the portal", () => {
  const look = (page: Page) =>
    page.evaluate(`({
      colorScheme: getComputedStyle(document.documentElement).colorScheme,
      mark: getComputedStyle(document.querySelector(".brand-initial")).backgroundColor,
    })`) as Promise<{ colorScheme: string; mark: string }>;

  it("is what the link says, in a policy without exceptions", async () => {
    const theme = { name: "<b>Acme</b> hooks", accent: "#0a5c3a", appearance: "dark" };
    const { page, complaints } = await visit(await makeLink({ theme }));
    await page.locator(".brand-name", { hasText: "<b>Acme</b> hooks" }).waitFor();
    await expect.poll(() => page.title()).toBe("Events · <b>Acme</b> hooks");
    const { colorScheme, mark } = await look(page);
    expect(colorScheme).toBe("dark");
    // Lighter than it was given: on a dark ground it could not be read.
    expect(mark).not.toBe("rgb(10, 92, 58)");
    expect(await page.getByLabel("Theme").count()).toBe(0);
    const light = await visit(await makeLink({ theme: { ...theme, appearance: "light" } }), { theme: "dark" });
    await light.page.locator(".brand-initial").waitFor();
    expect(await look(light.page)).toMatchObject({ colorScheme: "light", mark: "rgb(10, 92, 58)" });
    expect([...complaints, ...light.complaints]).toEqual([]);
  });

  it.each([
    { accent: "red" },
    { accent: "#fff" },
    { accent: "#0a7d4f;background:url(//x)" },
    { accent: "var(--x)" },
    { appearance: "neon" },
    { name: "" },
    { name: "two\nlines" },
    { css: "body{}" },
  ])("is rejected as %j", async (theme) => {
    const { status, json } = await gateway.post("/api/v1/tenants/acme/portal-link", { theme });
    expect([theme, status]).toEqual([theme, 422]);
    expect(String(json["detail"])).not.toBe("");
  });

  // Each colour on each ground: test/unit/dashboard/accent.test.ts.
  it("has no barriers with a colour of its own, in light and in dark, and fits on 360 px", async () => {
    const { id } = await gateway.subscribe({ name: "Seen by axe", url: sink.url, events: ["z.*"], tenant_id: "acme" });
    const { json } = await gateway.publish({ event_type: "z.one", payload: { a: 1 }, tenant_id: "acme" });
    const { page } = await visit(await makeLink({ theme: { accent: "#ffff00" } }));
    for (const [path, text] of [
      ["/events", "z.one"],
      [`/events/${String(json["event_id"])}`, "#1 200"],
      ["/subscriptions", "Seen by axe"],
      [`/subscriptions/${id}`, "z.one"],
      ["/subscriptions/new", "Enter a pattern"],
      ["/dead-letters", "There are no dead letters"],
      ["/bulk", "Nothing was replayed yet"],
      ["/event-types", "An order was paid"],
      ["/event-types/order.paid", "Schema 1.0"],
      ["/keys", "There is no such page"],
    ] as const) {
      await page.goto(`/portal${path}`);
      await page.getByText(text).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
    }
  });

  it("cuts nothing off where a window is neither wide nor narrow", async () => {
    const name = "Warehouse of the north, second floor";
    const type = "wide.inventory.stock.level_below_threshold_of_the_warehouse";
    const url = `${sink.url}/${"path/".repeat(20)}`;
    for (const other of [name, "Accounting"]) {
      await gateway.subscribe({ name: other, url, events: ["wide.#"], tenant_id: "acme" });
    }
    for (let n = 0; n < 6; n++) {
      await gateway.publish({ event_type: type, payload: { text: "x".repeat(20_000 * n) }, tenant_id: "acme" });
    }
    const { page } = await visit(await makeLink());
    for (const [path, text] of [
      ["/events", type],
      ["/subscriptions", name],
    ] as const) {
      await page.goto(`/portal${path}`);
      await page.locator("main").getByText(text).first().waitFor();
      expect([path, await findCutOff(page, [910, 1000, 1080, 1110])]).toEqual([path, []]);
    }
  });

  it("has no barriers for somebody who reads the page around it either", async () => {
    const { page } = await visit(allowed.showing(await makeLink()));
    await page.frameLocator("iframe").getByRole("heading", { name: "Events" }).waitFor();
    expect(await findBarriers(page)).not.toContainEqual(expect.stringContaining("frame-title"));
    await page.evaluate("document.querySelector('iframe').width = '360'");
    await expect.poll(() => frameIn(page).evaluate("document.documentElement.scrollWidth")).toBe(360);
  });
});
