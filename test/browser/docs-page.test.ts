import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

const PHONE = { width: 360, height: 740 };

let gateway: TestGateway;
let page: Page;
let complaints: string[];
const visits = openVisits();

beforeAll(async () => {
  gateway = await startTestGateway();
  await gateway.subscribe({ name: "orders of all", url: "http://127.0.0.1:9/hook", events: ["never.once"] });
});
afterAll(async () => {
  await gateway.close();
});

beforeEach(async () => {
  ({ page, complaints } = await visits.open(gateway.url));
  await open();
});

async function open(): Promise<void> {
  await page.goto("/docs");
  await page.waitForSelector("article");
}

/** Types into the search field, and gives the titles that are left. */
const search = (text: string) =>
  page.evaluate(`(() => {
    const field = document.getElementById("search");
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll("article:not([hidden]) h3")].map((title) => title.textContent);
  })()`) as Promise<string[]>;
const textOf = (selector: string) =>
  page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent`) as Promise<string | undefined>;
const isShown = (selector: string) =>
  page.evaluate(`document.querySelector(${JSON.stringify(selector)}).checkVisibility()`) as Promise<boolean>;
const click = (selector: string) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);

/** Opens the form of a route, fills it in, sends it, and gives what is shown. */
async function tryOut(id: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const form = `document.querySelector("#${id} form")`;
  if ((await page.evaluate(`${form} === null`)) === true) await click(`#${id} [data-act=try]`);
  await expect.poll(() => page.evaluate(`${form} !== null`)).toBe(true);
  for (const [selector, value] of Object.entries(fields)) {
    await page.evaluate(`(() => {
      const field = ${form}.querySelector(${JSON.stringify(selector)});
      field.value = ${JSON.stringify(value)};
      field.dispatchEvent(new Event("input"));
    })()`);
  }
  await page.evaluate(`${form}.querySelector(".output").replaceChildren()`);
  await page.evaluate(`${form}.requestSubmit()`);
  await expect.poll(() => textOf(`#${id} .output pre`)).toBeDefined();
  return (await textOf(`#${id} .output`)) ?? "";
}

describe("the reference", () => {
  it("has nothing from elsewhere, and is open to everybody", async () => {
    const { status, headers, text } = await gateway.as(undefined).get("/docs");
    expect(status).toBe(200);
    const policy = headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
    expect(policy).toMatch(/form-action 'none'; frame-ancestors 'none'$/);
    expect(policy).not.toContain("unsafe");
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(text).not.toMatch(/<script(?![^>]* src="\/assets\/)|\son[a-z]+=|style="/);
    expect(complaints).toEqual([]);
  });

  it("is small on the way", async () => {
    const { text } = await gateway.as(undefined).get("/docs");
    const parts = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path as string);
    expect(parts).toHaveLength(2);
    const sizes = ["/docs", ...parts, "/openapi.json"].map(async (path) => {
      const packed = await gateway.request("GET", path, { headers: { "accept-encoding": "gzip, br" } });
      expect(packed.headers.get("content-encoding")).toBe("br");
      return Number(packed.headers.get("content-length"));
    });
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
  });

  it("is plain for those who cannot unpack it", async () => {
    const packed = await gateway.request("GET", "/openapi.json", { headers: { "accept-encoding": "gzip" } });
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    for (const encoding of ["identity", "gzip;q=0"]) {
      const plain = await gateway.request("GET", "/openapi.json", { headers: { "accept-encoding": encoding } });
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(plain.text).toBe(packed.text);
    }
  });

  it("shows every route with a command to copy", async () => {
    const { paths } = (await gateway.get("/openapi.json")).json as { paths: Record<string, object> };
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods));
    const commands = await page.locator("pre.copy").allTextContents();
    expect(commands.filter((command) => command.startsWith("curl "))).toHaveLength(operations.length);
    const anchors = new Set(
      await page.evaluate<string[]>("[...document.querySelectorAll('[id]')].map(({ id }) => id)"),
    );
    const links = await page.evaluate<string[]>(
      "[...document.querySelectorAll('a[href^=\"#\"]')].map(({ hash }) => hash.slice(1))",
    );
    expect(links.filter((link) => !anchors.has(link))).toEqual([]);
  });

  it("opens where its address says", async () => {
    await page.goto("/docs#schema-Delivery");
    await page.locator("#schema-Delivery[open]").waitFor();
    expect(await isShown("#schema-Delivery dl")).toBe(true);
  });
});

describe("the search of the reference", () => {
  it("finds titles, paths, and the fields of bodies", async () => {
    const all = await search("");
    expect(await search("rotate secret")).toContain("Rotate the secret of a subscription");
    expect(await search("/api/v1/jobs")).toEqual(["List jobs", "Run a job now"]);
    const titles = await search("rate_limit");
    expect(titles).toContain("Create a subscription");
    expect(titles).not.toContain("List jobs");
    expect(await textOf("#post_subscriptions .why")).toBe("Found in the body: rate_limit");
    expect(await textOf("#found")).toMatch(/^\d+ routes, \d+ schemas$/);
    expect(await isShown("#schema-SubscriptionInput")).toBe(true);
    expect(await isShown("#schema-AuditEntry")).toBe(false);
    expect(await search("xyzzy")).toEqual([]);
    expect(await search("")).toEqual(all);
    expect(complaints).toEqual([]);
  });
});

describe("a request that is tried out", () => {
  it("is answered by the gateway, with the key or without", async () => {
    expect(await tryOut("get_subscriptions", {})).toMatch(/401 Unauthorized.*Give a key/);
    const answer = await tryOut("get_subscriptions", { ".key": ADMIN_KEY, "[name=limit]": "1" });
    expect(answer).toMatch(/^GET \/api\/v1\/subscriptions\?limit=1: 200 OK/);
    expect(answer).toContain('"name": "orders of all"');
    // The key is there for the other routes too.
    expect(await tryOut("get_events_by_id", { "[name=id]": "a/b" })).toMatch(/events\/a%2Fb: 404/);
    expect(await tryOut("get_stream", { "[name=follow]": "false" })).toContain("caught_up");
    const refused = complaints.filter((text) => !/status of 40[14]/.test(text));
    expect(refused).toEqual([]);
  });

  it("leaves no key behind", async () => {
    await tryOut("get_subscriptions", { ".key": ADMIN_KEY });
    expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(0);
    await open();
    await click("#get_subscriptions [data-act=try]");
    await expect.poll(() => page.evaluate('document.querySelector(".key")?.value')).toBe("");
  });

  it("only reads", async () => {
    const others =
      "[...document.querySelectorAll('article')].filter((one) => !one.querySelector('.get')).map((one) => one.querySelectorAll('[data-act=try]').length)";
    expect(new Set(await page.evaluate<number[]>(others))).toEqual(new Set([0]));
  });
});

describe("the reference on a phone", () => {
  it("is as wide as the screen, with its contents behind a button", async () => {
    await page.setViewportSize(PHONE);
    await open();
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
    await tryOut("get_subscriptions", { ".key": ADMIN_KEY });
    await click("#post_subscriptions .fields");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(PHONE.width);
    expect(await isShown("#contents")).toBe(false);
    await click("#menu");
    expect(await isShown("#contents")).toBe(true);
    await click('#contents a[href="#get_jobs"]');
    expect(await isShown("#contents")).toBe(false);
  });
});
