import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import type { Answer } from "../support/api-client.ts";

let gateway: TestGateway;
let sink: SinkServer;

beforeAll(async () => {
  const yaml = "portal: { name: Acme hooks, accent: '#0a7d4f', frame_origins: ['https://app.acme.example'] }";
  [gateway, sink] = await Promise.all([startTestGateway({ yaml }), openSinkServer()]);
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

const JSON_TYPE = { "content-type": "application/json" };
const same = () => ({ "sec-fetch-site": "same-origin", origin: gateway.url });

function signIn(body: object, headers: Readonly<Record<string, string>> = same()): Promise<Answer> {
  const open = gateway.as(undefined);
  return open.request("POST", "/api/v1/session", { body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } });
}

function cookieOf(answer: Answer): string {
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

/** A request as the dashboard makes it. */
function withCookie(cookie: string, method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return gateway.as(undefined).request(method, path, { headers: { cookie, ...headers } });
}

describe("signing in", () => {
  it("exchanges a key for a cookie that no script reads and no other site sends", async () => {
    const answer = await signIn({ key: ADMIN_KEY });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("set-cookie")).toBe(
      `${cookieOf(answer)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200`,
    );
    expect(cookieOf(answer)).toMatch(new RegExp(`^posthorn-${gateway.port}=`));
    expect(answer.json).toMatchObject({ key_id: "config", scopes: ["admin"], tenant_id: null, portal: null });
    expect((await withCookie(cookieOf(answer), "GET", "/api/v1/events")).status).toBe(200);
    expect((await withCookie(cookieOf(answer), "GET", "/api/v1/session")).json).toMatchObject({ scopes: ["admin"] });
    const { data } = (await gateway.get("/api/v1/audit?act=session.create")).json as { data: object[] };
    expect(data[0]).toMatchObject({ actor: "key:config", kind: "key", id: "config" });
  });

  it("uses the cookie for https hosts only where the gateway is reached by https", async () => {
    const secure = await startTestGateway({ env: { PUBLIC_URL: "https://hooks.example.com" } });
    try {
      const headers = { ...JSON_TYPE, "sec-fetch-site": "same-origin" };
      const body = JSON.stringify({ key: ADMIN_KEY });
      const answer = await secure.as(undefined).request("POST", "/api/v1/session", { body, headers });
      expect(answer.headers.get("set-cookie")).toMatch(
        /^__Host-posthorn=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure;/,
      );
      expect(
        (await secure.as(undefined).request("GET", "/status", { headers: { cookie: cookieOf(answer) } })).status,
      ).toBe(200);
      const renamed = cookieOf(answer).replace("__Host-posthorn", `posthorn-${secure.port}`);
      expect((await secure.as(undefined).request("GET", "/status", { headers: { cookie: renamed } })).status).toBe(401);
    } finally {
      await secure.close();
    }
  });

  it("rejects wrong keys, keys that cannot read, and both or neither of key and token", async () => {
    expect(await signIn({ key: "phk_wrong" })).toMatchObject({ status: 401 });
    const publisher = await gateway.createKey(["publish"]);
    expect((await signIn({ key: publisher })).json).toMatchObject({ status: 403, code: "forbidden" });
    expect((await signIn({})).status).toBe(422);
    expect((await signIn({ key: ADMIN_KEY, token: "phs_x" })).status).toBe(422);
    expect((await signIn({ token: "phs_unknown" })).status).toBe(401);
  });

  it("lasts over a restart, ends with its time and is renewed while it is used", async () => {
    const cookie = cookieOf(await signIn({ key: ADMIN_KEY }));
    await gateway.restart();
    expect((await withCookie(cookie, "GET", "/status")).status).toBe(200);
    expect((await withCookie(cookie, "GET", "/api/v1/session")).headers.get("set-cookie")).toBeNull();
    gateway.moveClock(7 * 3_600_000);
    const renewed = cookieOf(await withCookie(cookie, "GET", "/api/v1/session"));
    expect(renewed).toMatch(/^posthorn-/);
    gateway.moveClock(6 * 3_600_000);
    expect((await withCookie(cookie, "GET", "/status")).status).toBe(401);
    expect((await withCookie(renewed, "GET", "/status")).status).toBe(200);
  });

  it("ends at once when its key is revoked", async () => {
    const { json } = await gateway.post("/api/v1/keys", { name: "ends", scopes: ["read"] });
    const cookie = cookieOf(await signIn({ key: json["key"] }));
    expect((await withCookie(cookie, "GET", "/status")).status).toBe(200);
    await gateway.request("DELETE", `/api/v1/keys/${String(json["id"])}`);
    expect((await withCookie(cookie, "GET", "/status")).status).toBe(401);
  });

  it("is of no use when a byte of the cookie is changed", async () => {
    const cookie = cookieOf(await signIn({ key: ADMIN_KEY }));
    for (const at of [20, 40, cookie.length - 2]) {
      const flipped = cookie.slice(0, at) + (cookie[at] === "A" ? "B" : "A") + cookie.slice(at + 1);
      expect((await withCookie(flipped, "GET", "/status")).status).toBe(401);
    }
  });

  it("takes the cookie back when somebody signs out", async () => {
    const cookie = cookieOf(await signIn({ key: ADMIN_KEY }));
    const answer = await withCookie(cookie, "DELETE", "/api/v1/session", same());
    expect(answer.status).toBe(204);
    expect(answer.headers.get("set-cookie")).toMatch(/^posthorn-\d+=; .*Max-Age=0$/);
    // Also a copy of it, and what it was before it was renewed.
    expect((await withCookie(cookie, "GET", "/status")).status).toBe(401);
    const first = cookieOf(await signIn({ key: ADMIN_KEY }));
    gateway.moveClock(7 * 3_600_000);
    const renewed = cookieOf(await withCookie(first, "GET", "/api/v1/session"));
    expect((await withCookie(first, "GET", "/status")).status).toBe(200);
    await withCookie(renewed, "DELETE", "/api/v1/session", same());
    await gateway.restart();
    for (const one of [first, renewed]) expect((await withCookie(one, "GET", "/status")).status).toBe(401);
  });
});

describe("a request with the cookie that changes something", () => {
  const path = "/api/v1/jobs/end-overlaps/run";
  const from = async (headers: Readonly<Record<string, string>>) => {
    const cookie = cookieOf(await signIn({ key: ADMIN_KEY }));
    return withCookie(cookie, "POST", path, headers);
  };

  it("is taken from the gateway's own page", async () => {
    expect((await from(same())).status).toBeLessThan(300);
    expect((await from({ origin: gateway.url })).status).toBeLessThan(300);
  });

  it("is rejected from everywhere else, while one with a key needs no origin", async () => {
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: gateway.url, "sec-fetch-site": "cross-site" },
      { origin: gateway.url, "sec-fetch-site": "same-site" },
      { origin: "http://127.0.0.1:1" },
    ] as Record<string, string>[]) {
      expect([headers, (await from(headers)).json["code"]]).toEqual([headers, "other_origin"]);
    }
    expect((await gateway.request("POST", path, { headers: { origin: "https://evil.example" } })).status).toBeLessThan(
      300,
    );
    expect((await signIn({ key: ADMIN_KEY }, { origin: "https://evil.example" })).status).toBe(403);
  });

  it("is rejected on the fast route for events too", async () => {
    const cookie = cookieOf(await signIn({ key: ADMIN_KEY }));
    const body = JSON.stringify({ event_type: "a.b", payload: {} });
    const send = (headers: object) =>
      gateway.as(undefined).request("POST", "/api/v1/events", { body, headers: { cookie, ...JSON_TYPE, ...headers } });
    expect((await send({ origin: "https://evil.example" })).status).toBe(403);
    expect((await send(same())).status).toBe(202);
  });
});

describe("a portal link", () => {
  async function makeLink(body: object = {}): Promise<string> {
    const answer = await gateway.post("/api/v1/tenants/acme/portal-link", body);
    expect(answer.status).toBe(201);
    return String(answer.json["url"]).split("#token=")[1] ?? "";
  }

  beforeAll(async () => {
    await gateway.post("/api/v1/tenants", { id: "acme" });
    await gateway.publish({ event_type: "order.paid", payload: { of: "acme" }, tenant_id: "acme", event_id: "acmes" });
    await gateway.publish({ event_type: "order.paid", payload: { of: "others" }, event_id: "others" });
  });

  it("shows its tenant and no other, and reaches nothing that a partner does not need", async () => {
    const partner = gateway.as(await makeLink());
    expect((await partner.get("/api/v1/session")).json).toMatchObject({
      tenant_id: "acme",
      portal: { name: "Acme hooks", accent: "#0a7d4f" },
    });
    expect((await partner.get("/api/v1/events/acmes")).status).toBe(200);
    expect((await partner.get("/api/v1/events/others")).status).toBe(404);
    for (const path of ["keys", "audit", "tenants", "jobs", "sources", "requests", "alerts"]) {
      expect([path, (await partner.get(`/api/v1/${path}`)).status]).toEqual([path, 403]);
    }
    expect((await partner.get("/status")).status).toBe(403);
    expect((await partner.post("/api/v1/keys", { name: "more", scopes: ["read"] })).status).toBe(403);
    expect((await signIn({ key: await makeLink() })).status).toBe(401);
  });

  it("changes subscriptions only where it says so, and the audit log names it", async () => {
    const settings = { name: "partner's", url: sink.url, events: ["order.*"] };
    const reader = gateway.as(await makeLink({ access: "read" }));
    expect((await reader.post("/api/v1/subscriptions", settings)).status).toBe(403);
    const manager = gateway.as(await makeLink());
    const made = await manager.post("/api/v1/subscriptions", settings);
    expect(made.json).toMatchObject({ tenant_id: "acme" });
    const { data } = (await gateway.get("/api/v1/audit?act=subscription.create&limit=1")).json as { data: object[] };
    expect(data[0]).toMatchObject({ actor: "portal:config" });
  });

  it("ends with its time, and with the key that made it", async () => {
    const partner = gateway.as(await makeLink({ expires_in_s: 60 }));
    expect((await partner.get("/api/v1/events")).status).toBe(200);
    gateway.moveClock(61_000);
    expect((await partner.get("/api/v1/events")).status).toBe(401);

    const { json } = await gateway.post("/api/v1/keys", { name: "makes links", scopes: ["admin"] });
    const link = await gateway.as(String(json["key"])).post("/api/v1/tenants/acme/portal-link", {});
    const other = gateway.as(String(link.json["url"]).split("#token=")[1]);
    expect((await other.get("/api/v1/events")).status).toBe(200);
    await gateway.request("DELETE", `/api/v1/keys/${String(json["id"])}`);
    expect((await other.get("/api/v1/events")).status).toBe(401);
  });
});
