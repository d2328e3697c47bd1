import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFaults, replaceText, signIn } from "../support/browser.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { openVisits } from "../support/visits.ts";

let gateway: TestGateway;
let sink: SinkServer;
const visits = openVisits();

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  await gateway.subscribe({ name: "ERP", url: sink.url, events: ["#"] });
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
});

const visit = (path: string, key?: string) => visits.visit(gateway.url, path, key);

describe("the dashboard", () => {
  it("signs in, sees an event live, opens it, replays it and sends it edited", async () => {
    const { page, complaints } = await visits.open(gateway.url);
    await signIn(page, "/", ADMIN_KEY);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Everything is delivered.").waitFor();

    await page.keyboard.press("g");
    await page.keyboard.press("e");
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await gateway.webhook("shop", '{"order": 12345678901234567890}', { "x-shop": "yes" });
    await page.getByRole("link", { name: /shop/ }).first().click();

    await page.getByRole("heading", { name: "Body" }).waitFor();
    await page.getByText("12345678901234567890").waitFor();
    await page.getByText("#1 200").waitFor();

    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByRole("button", { name: "Replay now" }).click();
    await page.getByText("#2 200").waitFor();

    await page.getByRole("button", { name: "Edit and replay" }).click();
    await replaceText(page.getByRole("textbox", { name: "Payload" }), '{"order": 98765432109876543210}');
    await page.getByRole("button", { name: "Send as a new event" }).click();
    await page.getByText("Edited from").waitFor();
    const bodies = (await sink.received(3)).map(({ body }) => body.toString());
    expect(bodies).toEqual([
      '{"order": 12345678901234567890}',
      '{"order": 12345678901234567890}',
      '{"order": 98765432109876543210}',
    ]);
    expect(complaints).toEqual([]);
  });

  it("goes back to the sign-in when the key is revoked, and on to where one was", async () => {
    const { json } = await gateway.post("/api/v1/keys", { name: "ends soon", scopes: ["read"] });
    const { page } = await visit("/events?source=shop", String(json["key"]));
    await page.getByRole("heading", { name: "Events" }).waitFor();
    expect(await page.getByRole("button", { name: "Replay" }).count()).toBe(0);
    await gateway.request("DELETE", `/api/v1/keys/${String(json["id"])}`);
    // The stream of the page ends with the key, and the page with it.
    await page.getByLabel("API key").fill(ADMIN_KEY);
    expect(new URL(page.url()).pathname).toBe("/events");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    expect(new URL(page.url()).search).toBe("?source=shop");
  });

  it("misses nothing while it is paused, and while the gateway is away", async () => {
    const { page } = await visit("/events?source=later");
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await gateway.webhook("later", '{"n":1}');
    await page.getByText("Paused").waitFor();
    expect(await page.getByRole("link", { name: /later/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(() => page.getByRole("link", { name: /later/ }).count()).toBe(1);
    await page.getByText("Live", { exact: true }).waitFor();

    await gateway.stop();
    await page.getByText("reconnecting").waitFor();
    await gateway.restart();
    await gateway.webhook("later", '{"n":2}');
    await expect.poll(() => page.getByRole("link", { name: /later/ }).count()).toBe(2);
  });

  it("shows a hostile payload as text, and runs nothing of it", async () => {
    const hostile = JSON.stringify({
      script: "<script>globalThis.stolen = 1</script>",
      image: '<img src=x onerror="globalThis.stolen = 1">',
      "<b onmouseover=alert(1)>": "javascript:globalThis.stolen=1",
      rtl: "\u202Egnp.exe\u2066",
      ansi: "\u001b[31mred\u001b[0m",
      long: "x".repeat(900_000),
    });
    await gateway.webhook("hostile", hostile);
    const deep = `${"[".repeat(100)}1${"]".repeat(100)}`;
    await gateway.webhook("hostile", deep);
    const { page, complaints } = await visit("/events?source=hostile");
    await page
      .getByRole("link", { name: /hostile/ })
      .nth(1)
      .click();
    await page.getByText("<script>globalThis.stolen = 1</script>").waitFor();
    expect(await page.evaluate(() => "stolen" in globalThis)).toBe(false);
    expect(await page.locator("main img, main script, main b").count()).toBe(0);
    await page.getByRole("button", { name: "Raw" }).click();
    await page.getByText("in all: copy or download it").waitFor();
    expect(complaints).toEqual([]);
  });

  it("has no barriers on any page, in light and in dark, and nothing that sticks out at 360 px", async () => {
    const { json } = await gateway.webhook("shop", '{"a":[1,{"b":null}]}');
    const event = `/events/${String(json["event_id"])}`;
    const { page: signedOut } = await visits.open(gateway.url);
    await signedOut.goto("/sign-in");
    await signedOut.getByRole("heading").waitFor();
    expect(await findFaults(signedOut)).toEqual([]);
    const { page } = await visit("/overview");
    for (const [path, text] of [
      ["/overview", "Latency of attempts"],
      ["/events", "shop"],
      [event, "#1 200"],
      ["/overview/nothing", "There is no such page"],
    ] as const) {
      await page.goto(path);
      await page.getByText(text).first().waitFor();
      expect([path, await findFaults(page)]).toEqual([path, []]);
    }
  });

  it("would be seen to have barriers in either theme, and to stick out (control)", async () => {
    const { page } = await visits.open(gateway.url);
    await page.goto("/sign-in");
    await page.getByRole("heading").waitFor();
    const addRule = (rule: string) => page.evaluate(`document.styleSheets[0].insertRule(${JSON.stringify(rule)})`);
    await addRule("@media (prefers-color-scheme: dark) { h1 { color: #222 !important } }");
    expect(await findFaults(page)).toEqual([expect.stringMatching(/^in dark: color-contrast: .*<h1/)]);
    await addRule("@media (prefers-color-scheme: light) { h1 { color: #ddd !important; width: 400px } }");
    expect(await findFaults(page)).toEqual([
      expect.stringMatching(/^color-contrast: .*<h1/),
      expect.stringMatching(/^in dark: color-contrast: .*<h1/),
      expect.stringMatching(/^it is \d+ px wide at 360 px$/),
    ]);
  });
});

/** As proxies and clients without brotli get it. */
function packedWithGzip(address: string): Promise<Buffer> {
  return readFile(join(PROJECT_ROOT, "dist/dashboard", `${new URL(address).pathname}.gz`));
}

/** Of each request that the page made so far. */
const LOADED_BYTES = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .map(({ encodedBodySize }) => encodedBodySize)`;

describe("the built files", () => {
  it("are served for ever by their names, packed, under a policy without exceptions", async () => {
    const page = await fetch(`${gateway.url}/events/anything`, { headers: { accept: "text/html" } });
    expect(page.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const script = /src="([^"]+\.js)"/.exec(await page.text())?.[1] ?? "";
    for (const encoding of ["br", "gzip", "identity"]) {
      const file = await fetch(gateway.url + script, { headers: { "accept-encoding": encoding } });
      expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(file.headers.get("content-encoding")).toBe(encoding === "identity" ? null : encoding);
      await file.arrayBuffer();
    }
    for (const path of ["/api/v1/nothing", "/webhook", "/docs/nothing", "/nothing", "/assets/nothing.js"]) {
      const answer = await fetch(gateway.url + path, { headers: { accept: "text/html" } });
      expect([path, answer.headers.get("content-type")]).toEqual([path, "application/problem+json"]);
      await answer.text();
    }
  });

  it("are few and small at the first load, which takes input at once: at the sign-in, and on the overview", async () => {
    const { page } = await visits.open(gateway.url);
    await page.goto("/");
    const field = page.getByLabel("API key");
    await field.waitFor();
    await page.keyboard.type("typed at once");
    expect(await field.inputValue()).toBe("typed at once");
    const { page: overview } = await visit("/overview");
    const loads = [await page.evaluate(LOADED_BYTES), await overview.evaluate(LOADED_BYTES)] as number[][];
    await overview.keyboard.press("g");
    await overview.keyboard.press("k");
    await overview.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    for (const sizes of loads) {
      expect(sizes.length).toBeGreaterThan(3);
      // What no machine changes: more of it makes every load slower.
      expect(sizes.length).toBeLessThanOrEqual(30);
      expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(250_000);
    }
  });

  it("are at most 150 KB of script at the first load, with the overview and its charts", async () => {
    const { page } = await visit("/overview");
    await page.getByText("Latency of attempts").waitFor();
    const loaded = await page.evaluate(() =>
      (performance.getEntriesByType("resource") as unknown as { name: string; encodedBodySize: number }[])
        .filter(({ name }) => name.endsWith(".js"))
        .map(({ name, encodedBodySize: received }) => ({ name, received })),
    );
    expect(loaded.length).toBeGreaterThan(3);
    const sizes = await Promise.all(loaded.map(async ({ name }) => (await packedWithGzip(name)).length));
    // The browser itself gets less: it takes brotli.
    expect(loaded.filter(({ received }, at) => received === 0 || received >= (sizes[at] ?? 0))).toEqual([]);
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(150_000);
  });
});
