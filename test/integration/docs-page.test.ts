import { afterAll, beforeAll, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { openChromium, type Chromium } from "../support/chromium.ts";
import { skipWithoutService } from "../support/skip.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

let gateway: TestGateway;
let found: Chromium | undefined;

beforeAll(async () => {
  [gateway, found] = await Promise.all([startTestGateway(), openChromium()]);
  await gateway.subscribe({ name: "orders of all", url: "http://127.0.0.1:9/hook", events: ["never.once"] });
});
afterAll(async () => {
  await found?.close();
  await gateway.close();
});

let browser: Chromium;
beforeEach(async (context: TestContext) => {
  if (found === undefined) skipWithoutService(context, "Chromium");
  browser = found;
  await browser.open(`${gateway.url}/docs`, WIDE);
});

/** Types into the search field, and gives the titles that are left. */
const search = (text: string) =>
  browser.evaluate(`(() => {
    const field = document.getElementById("search");
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll("article:not([hidden]) h3")].map((title) => title.textContent);
  })()`) as Promise<string[]>;
const textOf = (selector: string) =>
  browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent`) as Promise<string | undefined>;
const isShown = (selector: string) =>
  browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).checkVisibility()`) as Promise<boolean>;
const click = (selector: string) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);

/** Opens the form of a route, fills it in, sends it, and gives what is shown. */
async function tryOut(id: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const form = `document.querySelector("#${id} form")`;
  if ((await browser.evaluate(`${form} === null`)) === true) await click(`#${id} [data-act=try]`);
  await expect.poll(() => browser.evaluate(`${form} !== null`)).toBe(true);
  for (const [selector, value] of Object.entries(fields)) {
    await browser.evaluate(`(() => {
      const field = ${form}.querySelector(${JSON.stringify(selector)});
      field.value = ${JSON.stringify(value)};
      field.dispatchEvent(new Event("input"));
    })()`);
  }
  await browser.evaluate(`${form}.querySelector(".output").replaceChildren()`);
  await browser.evaluate(`${form}.requestSubmit()`);
  await expect.poll(() => textOf(`#${id} .output pre`)).toBeDefined();
  return (await textOf(`#${id} .output`)) ?? "";
}

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
    expect(await search("no such words")).toEqual([]);
    expect(await search("")).toEqual(all);
    expect(browser.complaints).toEqual([]);
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
    const refused = browser.complaints.filter((text) => !/status of 40[14]/.test(text));
    expect(refused).toEqual([]);
  });

  it("leaves no key behind", async () => {
    await tryOut("get_subscriptions", { ".key": ADMIN_KEY });
    expect(await browser.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(0);
    await browser.open(`${gateway.url}/docs`, WIDE);
    await click("#get_subscriptions [data-act=try]");
    await expect.poll(() => browser.evaluate('document.querySelector(".key")?.value')).toBe("");
  });

  it("only reads", async () => {
    const others =
      "[...document.querySelectorAll('article')].filter((one) => !one.querySelector('.get')).map((one) => one.querySelectorAll('[data-act=try]').length)";
    expect(new Set((await browser.evaluate(others)) as number[])).toEqual(new Set([0]));
  });
});

describe("the reference on a phone", () => {
  it("is as wide as the screen, with its contents behind a button", async () => {
    await browser.open(`${gateway.url}/docs`, PHONE);
    await browser.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
    await tryOut("get_subscriptions", { ".key": ADMIN_KEY });
    await click("#post_subscriptions .fields");
    expect(await browser.evaluate("document.documentElement.scrollWidth")).toBe(PHONE.width);
    expect(await isShown("#contents")).toBe(false);
    await click("#menu");
    expect(await isShown("#contents")).toBe(true);
    await click('#contents a[href="#get_jobs"]');
    expect(await isShown("#contents")).toBe(false);
  });
});
