import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createOidcBrowser, type OidcBrowser, type Visit } from "../support/oidc-browser.ts";
import { openOidcProvider, type Forgery, type OidcProvider } from "../support/oidc-provider.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

let provider: OidcProvider;
let gateway: TestGateway;
const more: TestGateway[] = [];

beforeAll(async () => {
  provider = await openOidcProvider();
  gateway = await startTestGateway({ env: provider.settings });
  provider.know(gateway.url);
});
beforeEach(() => {
  provider.forge({});
  provider.pretend({});
});
afterEach(() => Promise.all(more.splice(0).map((one) => one.close())));
afterAll(async () => {
  await gateway.close();
  await provider.close();
});

/** Another gateway, with other settings or one that has not yet asked the provider. */
async function startAnother(options: TestGatewayOptions): Promise<TestGateway> {
  const another = await startTestGateway({ ...options, env: { ...provider.settings, ...options.env } });
  more.push(another);
  provider.know(gateway.url, another.url);
  return another;
}

async function signIn(login: string, at = gateway, query = ""): Promise<{ browser: OidcBrowser; visit: Visit }> {
  const browser = createOidcBrowser();
  const callback = await browser.logIn(at.url, login, query);
  return { browser, visit: await browser.go(callback, () => true) };
}

const SESSION = /^posthorn-\d+$/;
const LOGIN = /^posthorn-login-\d+$/;

async function sessionOf(login: string, at = gateway): Promise<string> {
  const { browser, visit } = await signIn(login, at);
  expect([visit.status, visit.text]).toEqual([303, ""]);
  return browser.cookie(at.url, SESSION) ?? "";
}

function as(cookie: string, method: string, path: string, body?: object, at = gateway) {
  const headers = { cookie, "sec-fetch-site": "same-origin", ...(body && { "content-type": "application/json" }) };
  return at.as(undefined).request(method, path, { headers, body: body && JSON.stringify(body) });
}

describe("the sign-in with a provider", () => {
  it("is offered to everybody when it is configured, and only then", async () => {
    expect((await gateway.as(undefined).get("/api/v1/sign-in")).json).toEqual({
      oidc: { name: "Acme SSO", url: "/api/v1/sign-in/oidc" },
    });
    const plain = await startTestGateway();
    more.push(plain);
    expect((await plain.as(undefined).get("/api/v1/sign-in")).json).toEqual({ oidc: null });
    const answer = await plain.as(undefined).get("/api/v1/sign-in/oidc");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/sign-in"]);
  });

  it("asks with a code challenge, a state and a nonce, and keeps them in a cookie of this browser", async () => {
    const answer = await gateway.as(undefined).get("/api/v1/sign-in/oidc?return_to=/events");
    const url = new URL(answer.headers.get("location") ?? "");
    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: "posthorn",
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${gateway.url}/api/v1/sign-in/oidc/callback`,
    });
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(url.searchParams.get(name)).toMatch(/^[\w-]{43,}$/);
    }
    expect(answer.headers.get("set-cookie")).toMatch(
      new RegExp(`^posthorn-login-${gateway.port}=[^;]+; Path=/; HttpOnly; SameSite=Lax; Max-Age=600$`),
    );
    expect(answer.headers.get("set-cookie")).not.toContain(url.searchParams.get("state"));
  });

  it("gives a session with the rights of the user's group, and writes that to the audit log", async () => {
    const admin = await sessionOf("ada");
    expect((await as(admin, "GET", "/api/v1/session")).json).toMatchObject({
      key_id: "oidc:ada",
      scopes: ["admin"],
      tenant_id: null,
      user: { name: "ada@acme.example" },
    });
    expect((await as(admin, "POST", "/api/v1/tenants", { id: "acme" })).status).toBe(201);
    const made = await as(admin, "POST", "/api/v1/keys", { name: "by ada", scopes: ["read"] });
    expect(made.status).toBe(201);
    expect((await as(admin, "POST", "/api/v1/tenants/acme/portal-link", {})).status).toBe(201);

    const { data } = (await gateway.get("/api/v1/audit?actor=oidc:ada")).json as { data: Record<string, unknown>[] };
    expect(data.map(({ act }) => act)).toEqual(
      expect.arrayContaining(["session.create", "tenant.create", "key.create", "tenant.portal_link"]),
    );
    expect(data.find(({ act }) => act === "session.create")).toMatchObject({ kind: "user", id: "oidc:ada" });
  });

  it("checks a reader and a user of one tenant as keys of these rights", async () => {
    await gateway.post("/api/v1/tenants", { id: "acme" });
    await gateway.publish({ event_type: "a.b", payload: {}, tenant_id: "acme", event_id: "of-acme" });
    await gateway.publish({ event_type: "a.b", payload: {}, event_id: "of-nobody" });
    const reader = await sessionOf("rob");
    expect((await as(reader, "GET", "/api/v1/events/of-nobody")).status).toBe(200);
    expect((await as(reader, "POST", "/api/v1/tenants", { id: "other" })).json).toMatchObject({ code: "forbidden" });
    expect((await as(reader, "GET", "/api/v1/keys")).status).toBe(403);
    const tenant = await sessionOf("tina");
    expect((await as(tenant, "GET", "/api/v1/session")).json).toMatchObject({ scopes: ["admin"], tenant_id: "acme" });
    expect((await as(tenant, "GET", "/api/v1/events/of-acme")).status).toBe(200);
    expect((await as(tenant, "GET", "/api/v1/events/of-nobody")).status).toBe(404);
    expect((await as(tenant, "POST", "/api/v1/tenants", { id: "other" })).status).toBe(403);
  });

  it("keeps a portal link and a live stream of a user working", async () => {
    const admin = await sessionOf("ada");
    await gateway.post("/api/v1/tenants", { id: "acme" });
    const { json } = await as(admin, "POST", "/api/v1/tenants/acme/portal-link", {});
    const partner = gateway.as(String(json["url"]).split("#token=")[1]);
    expect((await partner.get("/api/v1/session")).json).toMatchObject({ tenant_id: "acme", user: null });
    expect((await partner.get("/api/v1/keys")).status).toBe(403);
    const stream = await fetch(`${gateway.url}/api/v1/stream`, { headers: { cookie: admin } });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await gateway.publish({ event_type: "a.live", payload: {} });
    let text = "";
    for (let isOver = false; !isOver && !text.includes("a.live");) {
      const part = await reader?.read();
      text += part?.value ?? "";
      isOver = part?.done !== false;
    }
    await reader?.cancel();
    expect(text).toContain("a.live");
  });

  it("rejects a user without a mapped group, and says which groups and which setting", async () => {
    const { browser, visit } = await signIn("eve");
    expect(visit.status).toBe(403);
    expect(visit.text).toContain("eve@acme.example is in the groups &#34;guests&#34;, &#34;&#60;b&#62;curious");
    expect(visit.text).toContain("POSTHORN_OIDC_GROUPS");
    expect(visit.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(browser.cookie(gateway.url, SESSION)).toBeUndefined();
    const nobody = await signIn("nemo");
    expect(nobody.visit.status).toBe(403);
    expect(nobody.visit.text).toContain("no claim &#34;groups&#34;");
    expect(gateway.logText()).toContain("a sign-in failed");
  });

  it("ends after its hours although it is used, and at once when the groups are changed", async () => {
    const short = await startAnother({ env: { OIDC_SESSION_HOURS: 20 } });
    const cookie = await sessionOf("ada", short);
    short.moveClock(7 * 3_600_000);
    const renewed = await as(cookie, "GET", "/api/v1/session", undefined, short);
    const next = (renewed.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    short.moveClock(11.5 * 3_600_000);
    expect((await as(cookie, "GET", "/status", undefined, short)).status).toBe(401);
    const again = await as(next, "GET", "/api/v1/session", undefined, short);
    const last = (again.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    short.moveClock(3_600_000);
    const { headers } = await as(last, "GET", "/api/v1/session", undefined, short);
    expect(headers.get("set-cookie")).toBeNull();
    expect((await as(last, "GET", "/status", undefined, short)).status).toBe(200);
    short.moveClock(3_600_000);
    expect((await as(last, "GET", "/status", undefined, short)).status).toBe(401);

    const changed = await sessionOf("ada", short);
    await short.restart();
    expect((await as(changed, "GET", "/status", undefined, short)).status).toBe(200);
    await short.restart({ env: { ...provider.settings, OIDC_GROUPS: "support=read" } });
    expect((await as(changed, "GET", "/status", undefined, short)).status).toBe(401);
  });

  it("ends the portal links of the user when it would end itself", async () => {
    const short = await startAnother({ env: { OIDC_SESSION_HOURS: 20 } });
    await short.post("/api/v1/tenants", { id: "acme" });
    const week = { expires_in_s: 7 * 24 * 3600 };
    const admin = await sessionOf("ada", short);
    short.moveClock(3_600_000);
    const { json } = await as(admin, "POST", "/api/v1/tenants/acme/portal-link", week, short);
    const partner = short.as(String(json["url"]).split("#token=")[1]);
    expect((Date.parse(String(json["expires_at"])) - short.now()) / 3_600_000).toBeCloseTo(19, 1);
    expect((await partner.get("/api/v1/events")).status).toBe(200);
    short.moveClock(19 * 3_600_000);
    expect((await partner.get("/api/v1/events")).status).toBe(401);
    // The control: a link that a key has made lasts as long as was asked for.
    const ofKey = await short.post("/api/v1/tenants/acme/portal-link", week);
    expect((Date.parse(String(ofKey.json["expires_at"])) - short.now()) / 3_600_000).toBeCloseTo(168, 1);
  });

  it("signs out", async () => {
    const cookie = await sessionOf("rob");
    const answer = await as(cookie, "DELETE", "/api/v1/session");
    expect([answer.status, answer.headers.get("set-cookie")?.split(";").at(-1)]).toEqual([204, " Max-Age=0"]);
    expect((await as(cookie, "GET", "/status")).status).toBe(401);
  });

  it("is ended for all browsers of a user, and for the portal links that the user made", async () => {
    await gateway.post("/api/v1/tenants", { id: "acme" });
    const [one, other, reader] = [await sessionOf("ada"), await sessionOf("ada"), await sessionOf("rob")];
    const { json } = await as(one, "POST", "/api/v1/tenants/acme/portal-link", {});
    const partner = gateway.as(String(json["url"]).split("#token=")[1]);
    const statuses = async () => [
      ...(await Promise.all([one, other, reader].map(async (cookie) => (await as(cookie, "GET", "/status")).status))),
      (await partner.get("/api/v1/events")).status,
    ];
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    expect((await as(reader, "DELETE", "/api/v1/sessions/oidc:ada")).status).toBe(403);
    expect((await gateway.request("DELETE", "/api/v1/sessions/nobody")).status).toBe(404);
    expect((await gateway.request("DELETE", "/api/v1/sessions/oidc:ada")).status).toBe(204);
    expect(await statuses()).toEqual([401, 401, 200, 401]);
    gateway.moveClock(1);
    expect((await as(await sessionOf("ada"), "GET", "/status")).status).toBe(200);
  });
});

describe("the callback", () => {
  it("wants the state and the cookie of the same browser, once", async () => {
    const browser = createOidcBrowser();
    const callback = await browser.logIn(gateway.url, "ada");
    const login = browser.cookie(gateway.url, LOGIN) ?? "";

    const stranger = createOidcBrowser();
    expect((await stranger.go(callback)).status).toBe(400);
    await stranger.go(`${gateway.url}/api/v1/sign-in/oidc`, () => true);
    const mixed = await stranger.go(callback);
    expect([mixed.status, mixed.text.includes("another sign-in (state)")]).toEqual([400, true]);

    const otherState = new URL(callback);
    otherState.searchParams.set("state", "x".repeat(43));
    const wrong = createOidcBrowser();
    wrong.setCookie(gateway.url, login);
    expect((await wrong.go(otherState.href)).status).toBe(400);

    // The control: nothing but that was wrong.
    expect((await browser.go(callback, () => true)).status).toBe(303);
    const replayed = createOidcBrowser();
    replayed.setCookie(gateway.url, login);
    const again = await replayed.go(callback);
    expect([again.status, again.text.includes("already finished")]).toEqual([400, true]);
    expect(replayed.cookie(gateway.url, SESSION)).toBeUndefined();
  });

  it("is rejected by the provider when a code comes twice, even if the gateway forgot it", async () => {
    const browser = createOidcBrowser();
    const callback = await browser.logIn(gateway.url, "ada");
    const login = browser.cookie(gateway.url, LOGIN) ?? "";
    expect((await browser.go(callback, () => true)).status).toBe(303);
    await gateway.restart();
    browser.setCookie(gateway.url, login);
    const again = await browser.go(callback);
    expect([again.status, again.text.includes("invalid_grant")]).toEqual([400, true]);
  });

  it("is too late after ten minutes, and worthless with a changed cookie", async () => {
    const browser = createOidcBrowser();
    const callback = await browser.logIn(gateway.url, "ada");
    const login = browser.cookie(gateway.url, LOGIN) ?? "";
    const flipped = login.slice(0, 60) + (login[60] === "A" ? "B" : "A") + login.slice(61);
    browser.setCookie(gateway.url, flipped);
    expect((await browser.go(callback)).status).toBe(400);
    gateway.moveClock(11 * 60_000);
    browser.setCookie(gateway.url, login);
    const late = await browser.go(callback);
    expect([late.status, late.text.includes("longer than 10 minutes")]).toEqual([400, true]);
  });

  it("wants the answer of the issuer, and tells what the provider said", async () => {
    const browser = createOidcBrowser();
    const callback = new URL(await browser.logIn(gateway.url, "ada"));
    callback.searchParams.set("iss", "https://evil.example");
    expect((await browser.go(callback.href)).status).toBe(400);

    const begun = await browser.go(`${gateway.url}/api/v1/sign-in/oidc`, (url) => url.startsWith(provider.issuer));
    const state = new URL(begun.url).searchParams.get("state") ?? "";
    const denied = new URLSearchParams({
      state,
      iss: provider.issuer,
      error: "access_denied",
      error_description: "<i>no",
    });
    const visit = await browser.go(`${gateway.url}/api/v1/sign-in/oidc/callback?${denied.toString()}`);
    expect([visit.status, visit.text.includes("access_denied (&#60;i&#62;no)")]).toEqual([400, true]);
  });

  it("goes back to pages of the dashboard only", async () => {
    for (const [wanted, reached] of [
      ["/events?source=shop&text=a", "/events?source=shop&text=a"],
      ["//evil.example", "/"],
      ["https://evil.example/events", "/"],
      ["/\\evil.example", "/"],
      ["/.//evil.example", "/"],
      ["/events/..//evil.example", "/"],
      ["/\t/evil.example", "/"],
      ["/api/v1/keys", "/"],
      ["javascript:alert(1)", "/"],
    ] as const) {
      const { visit } = await signIn("rob", gateway, `?${new URLSearchParams({ return_to: wanted }).toString()}`);
      expect([wanted, visit.status, visit.headers.get("location")]).toEqual([wanted, 303, reached]);
    }
  });
});

describe("an ID token", () => {
  const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

  it.each<[string, Forgery]>([
    ["signed by somebody else", { signedBy: "stranger" }],
    ["without a signature", { signedBy: "nobody" }],
    ["signed with the client's secret", { signedBy: "client secret" }],
    ["with another nonce", { claims: (claims) => ({ ...claims, nonce: "another" }) }],
    ["without a nonce", { claims: (claims) => ({ ...claims, nonce: undefined }) }],
    ["that has expired", { claims: (claims) => ({ ...claims, exp: inAnHour() - 7200 }) }],
    ["for another client", { claims: (claims) => ({ ...claims, aud: "somebody-else" }) }],
    ["of another issuer", { claims: (claims) => ({ ...claims, iss: "https://evil.example" }) }],
    ["of another user than the user info", { claims: (claims) => ({ ...claims, sub: "rob" }) }],
    ["with a subject of control characters", { claims: (claims) => ({ ...claims, sub: "a\nb", groups: ["ops"] }) }],
  ])("%s signs nobody in", async (_, forgery) => {
    provider.forge(forgery);
    const { browser, visit } = await signIn("ada");
    expect([visit.status, visit.text.includes("not completed")]).toEqual([400, true]);
    expect(browser.cookie(gateway.url, SESSION)).toBeUndefined();
  });

  it("that is written anew with the provider's own key signs in, and its groups count before the user info's", async () => {
    provider.forge({ signedBy: "own", claims: (claims) => ({ ...claims, exp: inAnHour() }) });
    expect((await as(await sessionOf("ada"), "GET", "/api/v1/session")).json).toMatchObject({ scopes: ["admin"] });
    provider.forge({ claims: (claims) => ({ ...claims, groups: "support" }) });
    expect((await as(await sessionOf("ada"), "GET", "/api/v1/session")).json).toMatchObject({ scopes: ["read"] });
  });
});

describe("a provider", () => {
  it("that is down is told, and keys still sign in", async () => {
    const gone = await openOidcProvider();
    const { issuer, settings } = gone;
    await gone.close();
    const alone = await startAnother({ env: settings });
    const begin = await createOidcBrowser().go(`${alone.url}/api/v1/sign-in/oidc`);
    expect([begin.status, begin.text.includes(`${issuer}/ cannot be reached`)]).toEqual([502, true]);
    expect((await alone.as(undefined).get("/api/v1/sign-in/oidc")).json).toMatchObject({
      code: "sign_in_provider_failed",
    });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ key: ADMIN_KEY });
    expect((await alone.as(undefined).request("POST", "/api/v1/session", { headers, body })).status).toBe(201);
  });

  it("is not asked before somebody signs in, and asked again after a failure", async () => {
    const before = provider.asked.length;
    provider.pretend({ issuer: "https://evil.example" });
    const fresh = await startAnother({});
    expect(provider.asked.length).toBe(before);
    const begin = await createOidcBrowser().go(`${fresh.url}/api/v1/sign-in/oidc`);
    expect(begin.status).toBe(502);
    provider.pretend({});
    expect(await sessionOf("rob", fresh)).not.toBe("");
  });

  it("that calls itself otherwise, or leads users to plain http elsewhere, is not used", async () => {
    for (const metadata of [
      { issuer: "https://evil.example" },
      { issuer: `${provider.issuer}/other` },
      { authorization_endpoint: "javascript:alert(1)" },
    ]) {
      provider.pretend(metadata);
      const fresh = await startAnother({});
      const visit = await createOidcBrowser().go(`${fresh.url}/api/v1/sign-in/oidc`, () => true);
      expect([metadata, visit.status, visit.headers.get("location")]).toEqual([metadata, 502, null]);
    }
  });

  it("cannot lead the gateway to private addresses of others, only to its own", async () => {
    const inside = await openSinkServer();
    try {
      provider.pretend({ token_endpoint: inside.url });
      const guarded = await startAnother({ env: { ALLOW_PRIVATE_DESTINATIONS: false } });
      const { visit } = await signIn("ada", guarded);
      expect([visit.status, visit.text.includes("is a loopback address")]).toEqual([502, true]);
      expect(inside.requests.length).toBe(0);
      // The control: where destinations may be there, so may the provider's address.
      await signIn("ada", await startAnother({}));
      expect((await inside.received(1)).length).toBe(1);
      provider.pretend({});
      expect(await sessionOf("ada", await startAnother({ env: { ALLOW_PRIVATE_DESTINATIONS: false } }))).not.toBe("");
    } finally {
      await inside.close();
    }
  });

  it("that does not know the gateway's secret is told with the setting", async () => {
    const wrong = await startAnother({ env: { OIDC_CLIENT_SECRET: "not-the-one" } });
    const { visit } = await signIn("ada", wrong);
    expect([visit.status, visit.text.includes("POSTHORN_OIDC_CLIENT_SECRET")]).toEqual([502, true]);
    expect(wrong.logText()).not.toContain("not-the-one");
  });
});
