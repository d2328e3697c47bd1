import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Answer, ApiClient } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };
const NO_QUOTAS = { subscriptions: null, events_per_minute: null, open_deliveries: null, stored_bytes: null };

function send(gateway: TestGateway, method: string, path: string, body: unknown): Promise<Answer> {
  return gateway.request(method, path, { body: JSON.stringify(body), headers: JSON_TYPE });
}

describe("tenants", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  it("are made, shown, replaced, changed in part and deleted; default stays", async () => {
    const made = await gateway.post("/api/v1/tenants", { id: "acme", contact_email: "ops@acme.test" });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: "acme",
        name: "acme",
        contact_email: "ops@acme.test",
        contacts: [],
        quotas: NO_QUOTAS,
        retention: { days: null, answers_days: null, dead_letters_days: null, refused_requests_days: null },
        usage: { subscriptions: 0, open_deliveries: 0, stored_bytes: 0 },
        status: "active",
        managed_by: "api",
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await gateway.post("/api/v1/tenants", { id: "acme" })).json["code"]).toBe("conflict");
    const put = await send(gateway, "PUT", "/api/v1/tenants/acme", { name: "Acme", quotas: { subscriptions: 3 } });
    expect([put.status, put.json]).toMatchObject([
      200,
      {
        name: "Acme",
        contact_email: null,
        quotas: { ...NO_QUOTAS, subscriptions: 3 },
        created_at: made.json["created_at"],
      },
    ]);
    const patched = await send(gateway, "PATCH", "/api/v1/tenants/acme", { quotas: { stored_bytes: 9 } });
    expect(patched.json).toMatchObject({ name: "Acme", quotas: { ...NO_QUOTAS, subscriptions: 3, stored_bytes: 9 } });
    expect((await gateway.get("/api/v1/tenants/acme")).json).toEqual(patched.json);
    expect((await send(gateway, "PUT", "/api/v1/tenants/other", { id: "other" })).status).toBe(201);

    expect((await gateway.request("DELETE", "/api/v1/tenants/acme")).json).toEqual({ id: "acme" });
    expect((await gateway.get("/api/v1/tenants/acme")).status).toBe(404);
    expect((await gateway.request("DELETE", "/api/v1/tenants/acme")).status).toBe(404);
    expect((await gateway.request("DELETE", "/api/v1/tenants/default")).status).toBe(409);
    expect((await gateway.get("/api/v1/tenants/default")).status).toBe(200);
  });

  it("are listed page by page", async () => {
    for (const id of ["page-1", "page-2", "page-3"]) await gateway.post("/api/v1/tenants", { id });
    const seen: string[] = [];
    for (let cursor: unknown = ""; cursor !== null;) {
      const { json } = await gateway.get(`/api/v1/tenants?limit=2${cursor === "" ? "" : `&cursor=${String(cursor)}`}`);
      const data = json["data"] as { id: string }[];
      expect(data.length).toBeLessThanOrEqual(2);
      seen.push(...data.map(({ id }) => id));
      cursor = json["next_cursor"];
    }
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen).toEqual(expect.arrayContaining(["default", "page-1", "page-2", "page-3"]));
  });

  it("come by themselves, without quotas, and may then be set up, whatever id their publisher chose", async () => {
    await gateway.publish({ event_type: "a.b", payload: {}, tenant_id: "Odd Name" });
    await gateway.publish({ event_type: "a.b", payload: { n: 1 }, tenant_id: 42 });
    const path = "/api/v1/tenants/Odd%20Name";
    expect((await gateway.get(path)).json).toMatchObject({
      id: "Odd Name",
      quotas: NO_QUOTAS,
      usage: { stored_bytes: 2 },
    });
    expect((await gateway.get("/api/v1/tenants/42")).json).toMatchObject({ usage: { stored_bytes: 7 } });
    expect((await send(gateway, "PUT", path, { name: "Odd" })).status).toBe(200);
    const unknown = await send(gateway, "PUT", "/api/v1/tenants/Not%20There", { name: "Odd" });
    expect([unknown.status, unknown.json["field"]]).toEqual([422, "id"]);
  });

  it("reject what is not valid, name the field, and store nothing", async () => {
    const wrong: [object, string][] = [
      [{}, "id"],
      [{ id: "Upper" }, "id"],
      [{ id: "a".repeat(65) }, "id"],
      [{ id: "bad", name: "nul\u0000" }, "name"],
      [{ id: "bad", name: "" }, "name"],
      [{ id: "bad", contact_email: "nobody" }, "contact_email"],
      [{ id: "bad", contact_email: "a\u0000@b" }, "contact_email"],
      [{ id: "bad", quotas: { subscriptions: -1 } }, "quotas.subscriptions"],
      [{ id: "bad", quotas: { events_per_minute: 0 } }, "quotas.events_per_minute"],
      [{ id: "bad", quotas: { stored_bytes: 1.5 } }, "quotas.stored_bytes"],
      [{ id: "bad", quotas: { money: 1 } }, "quotas.money"],
      [{ id: "bad", status: "gone" }, "status"],
      [{ id: "bad", created_at: "now" }, "created_at"],
    ];
    for (const [body, field] of wrong) {
      const answer = await gateway.post("/api/v1/tenants", body);
      expect([body, answer.status, answer.json["field"]]).toEqual([body, 422, field]);
    }
    expect((await gateway.get("/api/v1/tenants/bad")).status).toBe(404);
    expect((await send(gateway, "PUT", "/api/v1/tenants/bad", { id: "other" })).json["field"]).toBe("id");
    expect((await send(gateway, "PATCH", "/api/v1/tenants/bad", { name: "x" })).status).toBe(404);
    // Not cut at NUL.
    expect((await send(gateway, "PUT", "/api/v1/tenants/default%00x", { name: "x" })).json["field"]).toBe("id");
    expect((await gateway.request("DELETE", "/api/v1/tenants/default%00x")).status).toBe(404);
    expect((await gateway.get("/api/v1/tenants/default")).json["name"]).toBe("default");
  });

  it("cannot be deleted while they have subscriptions or live keys", async () => {
    const subscription = await gateway.subscribe({
      name: "x",
      url: sink.url,
      tenant_id: "busy",
      events: ["never.once"],
    });
    const key = await gateway.post("/api/v1/keys", { name: "k", scopes: ["read"], tenant_id: "busy" });
    const refused = await gateway.request("DELETE", "/api/v1/tenants/busy");
    expect([refused.status, refused.json]).toMatchObject([409, { code: "conflict", subscriptions: 1, keys: 1 }]);
    await gateway.request("DELETE", `/api/v1/subscriptions/${subscription.id}`);
    expect((await gateway.request("DELETE", "/api/v1/tenants/busy")).status).toBe(409);
    await gateway.request("DELETE", `/api/v1/keys/${String(key.json["id"])}`);
    expect((await gateway.request("DELETE", "/api/v1/tenants/busy")).status).toBe(200);
  });

  it("are hidden from keys that are bound to one, even to it", async () => {
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    for (const path of ["/api/v1/tenants", "/api/v1/tenants/acme"]) {
      expect((await bound.get(path)).status).toBe(403);
    }
    expect((await bound.post("/api/v1/tenants", { id: "mine" })).status).toBe(403);
  });
});

describe("declared tenants", () => {
  it("belong to the file, and turn inactive with a warning when they leave it", async () => {
    const yaml = "tenants:\n  - id: acme\n    name: Acme\n    quotas: { subscriptions: 1 }\n  - id: default\n";
    const gateway = await startTestGateway({ yaml });
    const publish = () => gateway.publish({ event_type: "a.b", payload: {}, tenant_id: "acme" });
    const shown = await gateway.get("/api/v1/tenants/acme");
    expect(shown.json).toMatchObject({ name: "Acme", managed_by: "config", quotas: { subscriptions: 1 } });
    for (const method of ["PUT", "PATCH"]) {
      const refused = await send(gateway, method, "/api/v1/tenants/acme", { name: "x" });
      expect([method, refused.status, refused.json["code"]]).toEqual([method, 409, "managed_by_config"]);
    }
    expect((await gateway.request("DELETE", "/api/v1/tenants/acme")).json["code"]).toBe("managed_by_config");
    expect((await publish()).status).toBe(202);

    await gateway.reload("");
    expect((await gateway.get("/api/v1/tenants/acme")).json).toMatchObject({
      status: "inactive",
      managed_by: "former_config",
      name: "Acme",
    });
    expect(gateway.log).toContainEqual(expect.objectContaining({ level: "warn", tenant_id: "acme" }));
    const refused = await publish();
    expect([refused.status, refused.json["code"], refused.headers.get("retry-after")]).toEqual([
      503,
      "tenant_inactive",
      "60",
    ]);
    // What names no tenant is of `default`, which stays.
    expect((await gateway.publish({ event_type: "a.b", payload: {} })).status).toBe(202);
    await gateway.restart();
    expect((await publish()).status).toBe(503);
    expect((await send(gateway, "PATCH", "/api/v1/tenants/acme", { status: "active" })).status).toBe(200);
    expect((await publish()).status).toBe(202);
    await gateway.reload(yaml);
    expect((await gateway.get("/api/v1/tenants/acme")).json).toMatchObject({ status: "active", managed_by: "config" });
    await gateway.close();
  });

  it("are rejected with their place when an id comes twice or a field is wrong", async () => {
    const start = (yaml: string) => startTestGateway({ yaml });
    await expect(start("tenants: [{ id: a }, { id: a }]")).rejects.toThrow(/tenants\[1\]\.id.*same id/);
    await expect(start("tenants: [{ id: A }]")).rejects.toThrow(/tenants\[0\]\.id/);
    await expect(start("tenants: [{ id: a, quotas: { bytes: 1 } }]")).rejects.toThrow(/quotas\.bytes.*unknown key/);
  });
});

describe("quotas", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let tenant = "";
  let number = 0;
  beforeAll(async () => {
    const yaml = "sources:\n  - { name: hooks, tenant_id: hooked }\n  - { name: bytes, tenant_id: byted }\n";
    [gateway, sink] = await Promise.all([startTestGateway({ yaml }), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  async function limit(quotas: object, id = `limited-${++number}`): Promise<void> {
    tenant = id;
    expect((await send(gateway, "PUT", `/api/v1/tenants/${id}`, { quotas })).status).toBeLessThan(300);
  }
  const publish = (payload: object = {}) => gateway.publish({ event_type: "quota.test", payload, tenant_id: tenant });

  it("bound the subscriptions of a tenant, by a code, and leave others alone", async () => {
    await limit({ subscriptions: 1 });
    const make = (name: string, tenant_id: string) =>
      gateway.post("/api/v1/subscriptions", { name, url: sink.url, events: ["never.once"], tenant_id });
    expect((await make("one", tenant)).status).toBe(201);
    const refused = await make("two", tenant);
    expect([refused.status, refused.json["code"], refused.json["quota"]]).toEqual([409, "subscription_quota", 1]);
    expect((await make("two", "unlimited")).status).toBe(201);
    await limit({ subscriptions: null }, tenant);
    expect((await make("two", tenant)).status).toBe(201);
  });

  it("are the usual one for what keys of a tenant create, unless it has its own", async () => {
    const one = await startTestGateway({ yaml: "limits: { max_subscriptions_per_tenant: 2 }" });
    onTestFinished(() => one.close());
    const bound = one.as(await one.createKey(["admin"], "acme"));
    const make = (client: ApiClient, name: string, more: object = {}) =>
      client.post("/api/v1/subscriptions", { name, url: sink.url, events: ["never.once"], ...more });
    for (const name of ["a", "b"]) expect((await make(bound, name)).status).toBe(201);
    expect(await make(bound, "c")).toMatchObject({ status: 409, json: { code: "subscription_quota", quota: 2 } });
    // The control: neither operators nor tenants with a larger quota meet it.
    expect((await make(one, "c", { tenant_id: "acme" })).status).toBe(201);
    expect((await make(bound, "d")).status).toBe(409);
    await send(one, "PUT", "/api/v1/tenants/acme", { quotas: { subscriptions: 4 } });
    expect((await make(bound, "d")).status).toBe(201);
    expect((await make(bound, "e")).json).toMatchObject({ quota: 4 });
  });

  it("bound the inbound rate: 429 on the API, each item of a batch for itself", async () => {
    onTestFinished(gateway.holdClock());
    await limit({ events_per_minute: 5 });
    for (let n = 0; n < 3; n++) expect((await publish()).status).toBe(202);
    const event = { event_type: "quota.test", payload: {}, tenant_id: tenant };
    const batch = await gateway.publish([event, event, event]);
    const items = batch.json["events"] as { event_id?: string; code?: string }[];
    expect(batch.status).toBe(202);
    expect(items.map(({ code }) => code ?? "taken")).toEqual(["taken", "taken", "too_many_requests"]);
    const refused = await publish();
    expect([refused.status, refused.json["code"]]).toEqual([429, "too_many_requests"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(12);
    const { status, headers } = await gateway.publish([event, event]);
    expect([status, headers.has("retry-after")]).toEqual([429, true]);
    expect((await gateway.publish({ event_type: "quota.test", payload: {} })).status).toBe(202);
    // Changing something else does not fill the bucket.
    await limit({ events_per_minute: 5, subscriptions: 1 }, tenant);
    expect((await publish()).status).toBe(429);
    await limit({}, tenant);
    expect((await publish()).status).toBe(202);
  });

  it("answer 503 with Retry-After on /webhook, where 4xx would lose the event", async () => {
    onTestFinished(gateway.holdClock());
    await limit({ events_per_minute: 1 }, "hooked");
    expect((await gateway.webhook("hooks", "{}")).status).toBe(202);
    const refused = await gateway.webhook("hooks", "{}");
    expect([refused.status, refused.json["code"]]).toEqual([503, "tenant_throttled"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await limit({ stored_bytes: 1 }, "byted");
    const full = await gateway.webhook("bytes", "{}");
    expect([full.status, full.json["code"], full.headers.get("retry-after")]).toEqual([503, "tenant_over_quota", "60"]);
    await send(gateway, "PATCH", "/api/v1/tenants/byted", { status: "inactive" });
    expect((await gateway.webhook("bytes", "{}")).json["code"]).toBe("tenant_inactive");
  });

  it("bound the open deliveries, and take in again when they have ended", async () => {
    await limit({ open_deliveries: 3 });
    const subscription = await gateway.subscribe({
      name: "open",
      url: sink.url,
      tenant_id: tenant,
      status: "inactive",
    });
    for (let n = 0; n < 3; n++) expect((await publish()).status).toBe(202);
    const refused = await publish();
    expect([refused.status, refused.json["code"], refused.json["quota"]]).toEqual([
      429,
      "quota_exceeded",
      "open_deliveries",
    ]);
    const shown = await gateway.get(`/api/v1/tenants/${tenant}`);
    expect(shown.json["usage"]).toEqual({ subscriptions: 1, open_deliveries: 3, stored_bytes: 6 });
    await gateway.post(`/api/v1/subscriptions/${subscription.id}/resume`);
    await gateway.moveClockUntil(async () => (await publish()).status === 202);
  });

  it("bound the stored bytes, to the byte, and over a restart", async () => {
    await limit({ stored_bytes: 20 });
    expect((await publish({ n: 1234 })).status).toBe(202);
    expect((await publish({ n: 12345 })).status).toBe(429);
    const refused = await publish({ n: 12345 });
    expect([refused.status, refused.json["code"], refused.json["quota"]]).toEqual([
      429,
      "quota_exceeded",
      "stored_bytes",
    ]);
    expect((await publish({ n: 123 })).status).toBe(202);
    await gateway.restart();
    expect((await publish({})).status).toBe(429);
    await limit({ stored_bytes: 21 }, tenant);
    expect((await publish({})).status).toBe(202);
  });

  it("do not wait for the next count: a flood that comes at once stops at the limit", async () => {
    await limit({ stored_bytes: 20 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => publish()));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
  });
});
