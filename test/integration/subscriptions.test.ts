import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openReadConnection } from "../../src/store/sqlite/connection.ts";
import { until } from "../support/api-client.ts";
import { verifyPlain } from "../support/verify-signature.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe("subscriptions", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;
  let name = "";

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  beforeEach(() => {
    name = `sub ${number++}`;
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const path = (id: string) => `/api/v1/subscriptions/${id}`;
  const patch = (id: string, body: object) =>
    gateway.request("PATCH", path(id), { body: JSON.stringify(body), headers: JSON_TYPE });

  // shows: C23, C26, C29, C63
  it("are made with defaults, and show the secret once", async () => {
    const created = await gateway.subscribe({ name, url: sink.url, events: ["never.once"] });
    expect(created).toMatchObject({
      id: expect.stringMatching(/^sub_/),
      tenant_id: "default",
      name,
      kind: "http",
      status: "active",
      format: "auto",
      signature_header: "X-Webhook-Signature",
      retry_policy: "standard",
      timeout: 30,
      rate_limit: null,
      concurrency: 32,
      ordered: false,
      on_dead_head: "block",
      max_age_s: null,
      headers: {},
      managed_by: "api",
      stats: { delivery_count: 0, success_count: 0, failure_count: 0, last_delivery: null },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/),
    });
    const shown = await gateway.get(path(created.id));
    expect(shown.status).toBe(200);
    expect(shown.json).not.toHaveProperty("secret");
    expect(shown.text).not.toContain(created.secret);
    expect((await gateway.get("/api/v1/subscriptions")).text).not.toContain("whsec_");
  });

  /** `Webhook(...).dict()` of a program whose webhooks become subscriptions. */
  const toWebhook = (more: object = {}) => ({
    id: `webhook-${number}`,
    tenant_id: 7,
    name,
    url: sink.url,
    events: ["never.once"],
    event_filter: null,
    secret: "9f".repeat(32),
    signature_header: "X-Webhook-Signature",
    status: "active",
    created_at: "2026-01-31 12:00:00.250000",
    updated_at: null,
    retry_count: 3,
    retry_interval: 60,
    timeout: 30,
    rate_limit: 100,
    description: null,
    created_by: 42,
    ...more,
  });

  // shows: C23
  it("are made of another program's model as it writes it, and say what was not taken over", async () => {
    const { status, json } = await gateway.post("/api/v1/subscriptions", toWebhook());
    expect([status, json]).toMatchObject([
      201,
      {
        id: `webhook-${number}`,
        tenant_id: "7",
        status: "active",
        retry_count: 3,
        retry_interval: 60,
        rate_limit: 100,
        secret: "9f".repeat(32),
        warnings: ["created_at, updated_at, created_by: ignored, the gateway notes them itself."],
      },
    ]);
    // A second time it is the same one, and not another.
    expect((await gateway.post("/api/v1/subscriptions", toWebhook())).status).toBe(409);
    const other = { id: "webhook 7", name: `${name} b`, status: "suspended" };
    const odd = await gateway.post("/api/v1/subscriptions", toWebhook(other));
    expect(odd.json).toMatchObject({ id: expect.stringMatching(/^sub_/) as string, status: "inactive" });
    expect(String(odd.json["warnings"])).toMatch(/id was ignored.*only the gateway suspends/s);
    for (const wrong of [{ tenant_id: 7.5 }, { created: "x" }, { name: 7 }]) {
      expect((await gateway.post("/api/v1/subscriptions", toWebhook(wrong))).status).toBe(422);
    }
  });

  it("are in the view webhook_subscription, without a secret", async () => {
    const headers = { Authorization: "Bearer canary-header" };
    const { id, secret } = await gateway.subscribe({
      ...toWebhook(),
      id: undefined,
      tenant_id: "9",
      name,
      headers,
    });
    await patch(id, { status: "inactive" });
    const db = openReadConnection(join(gateway.dataDir, "posthorn.db"));
    const [row, ...others] = db.prepare("select * from webhook_subscription where id = ?").all(id) as object[];
    db.close();
    expect(others).toEqual([]);
    const { json } = await gateway.get(path(id));
    expect(row).toEqual({
      id,
      tenant_id: "9",
      name,
      kind: "http",
      url: sink.url,
      events: '["never.once"]',
      event_filter: null,
      tenants: null,
      signature_header: "X-Webhook-Signature",
      status: "inactive",
      retry_count: 3,
      retry_interval: 60,
      timeout: 30,
      rate_limit: 100,
      description: null,
      created_by: json["created_by"],
      created_at: json["created_at"],
      updated_at: json["updated_at"],
      delivery_count: 0,
      success_count: 0,
      failure_count: 0,
      last_delivery: null,
    });
    expect(JSON.stringify(row)).not.toMatch(new RegExp(`canary|${secret}`));
  });

  it("keep a secret that was given, and sign with it", async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const created = await gateway.subscribe({ name, url: sink.url, events: ["signed.event"], secret });
    expect(created.secret).toBe(secret);
    const before = sink.requests.length;
    await gateway.publish({ event_type: "signed.event", payload: { n: 1 } });
    const request = (await sink.received(before + 1)).at(-1);
    expect(request?.headers["x-webhook-signature"]).toBe(verifyPlain(secret, request?.body));
  });

  it("have names that are unique in their tenant", async () => {
    await gateway.subscribe({ name, url: sink.url, events: ["never.once"] });
    const again = await gateway.post("/api/v1/subscriptions", { name, url: sink.url, events: ["never.once"] });
    expect([again.status, again.json["code"]]).toEqual([409, "conflict"]);
    await gateway.subscribe({ name, url: sink.url, events: ["never.once"], tenant_id: "elsewhere" });
    const other = await gateway.subscribe({ name: `${name} b`, url: sink.url, events: ["never.once"] });
    expect((await patch(other.id, { name })).status).toBe(409);
  });

  it("change in part, and keep the rest", async () => {
    const created = await gateway.subscribe({
      name,
      url: sink.url,
      events: ["never.once"],
      retry_count: 2,
      retry_interval: 5,
      headers: { "X-Team": "a" },
    });
    const changed = await patch(created.id, { timeout: 7, retry_policy: { delays_s: [1, 2] } });
    expect(changed.status).toBe(200);
    expect(changed.json).toMatchObject({
      timeout: 7,
      retry_policy: { delays_s: [1, 2] },
      headers: { "X-Team": "***" },
    });
    expect(changed.json).not.toHaveProperty("retry_count");
    expect((await patch(created.id, { retry_count: 1 })).json).toMatchObject({ retry_count: 1, retry_interval: 60 });
    expect((await patch(created.id, { tenant_id: "other" })).json["field"]).toBe("tenant_id");
    expect((await patch(created.id, { url: "nonsense" })).json["field"]).toBe("url");
    await gateway.restart();
    expect((await gateway.get(path(created.id))).json).toMatchObject({ timeout: 7, retry_count: 1, name });
  });

  it("are made or replaced by PUT with an id of one's own choice", async () => {
    const id = `erp-${number}`;
    const put = (body: unknown, headers = {}) =>
      gateway.request("PUT", path(id), { body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } });
    const settings = { name, url: sink.url, events: ["never.once"], labels: { team: "erp" } };
    const made = await put({ ...settings, timeout: 7 });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ id, timeout: 7, labels: { team: "erp" }, secret: expect.any(String) as string });
    const replaced = await put({ ...settings, concurrency: 3 });
    expect(replaced.status).toBe(200);
    expect(replaced.json).toMatchObject({ id, timeout: 30, concurrency: 3 });
    expect(replaced.json).not.toHaveProperty("secret");
    expect((await put({ ...settings, tenant_id: "elsewhere" })).json["field"]).toBe("tenant_id");
    const bad = await gateway.request("PUT", path("no%20spaces"), {
      body: JSON.stringify(settings),
      headers: JSON_TYPE,
    });
    expect([bad.status, bad.json["field"]]).toEqual([422, "id"]);
    // The id is free again once it is deleted, and still a stranger's to other tenants.
    await gateway.request("DELETE", path(id));
    expect((await put({ ...settings, name: `${name} t`, tenant_id: "elsewhere" })).status).toBe(409);
    expect((await put(settings)).status).toBe(201);
  });

  it("are changed only in the version that was meant, when one says which", async () => {
    const created = await gateway.subscribe({ name, url: sink.url, events: ["never.once"] });
    const seen = (await gateway.get(path(created.id))).headers.get("etag") ?? "";
    const change = (timeout: number, tag: string) =>
      gateway.request("PATCH", path(created.id), {
        body: JSON.stringify({ timeout }),
        headers: { ...JSON_TYPE, "if-match": tag },
      });
    const first = await change(7, seen);
    expect(first.status).toBe(200);
    const late = await change(8, seen);
    expect([late.status, late.json["code"]]).toEqual([412, "precondition_failed"]);
    expect((await change(9, first.headers.get("etag") ?? "")).status).toBe(200);
    expect((await change(10, "*")).json["timeout"]).toBe(10);
    const headers = { "if-match": seen };
    expect((await gateway.request("DELETE", path(created.id), { headers })).status).toBe(412);
    const none = await gateway.request("PUT", path("not-there"), {
      body: JSON.stringify({ name: `${name} n`, url: sink.url, events: ["a"] }),
      headers: { ...JSON_TYPE, "if-match": "*" },
    });
    expect(none.status).toBe(412);
  });

  it("are made once by a request that is sent again with its Idempotency-Key", async () => {
    const post = (url: string, key: string, more = {}) =>
      gateway.request("POST", "/api/v1/subscriptions", {
        body: JSON.stringify({ name, url, events: ["never.once"], ...more }),
        headers: { ...JSON_TYPE, "idempotency-key": key },
      });
    const key = `key of ${name}`.replaceAll(" ", "_");
    const first = await post(sink.url, key);
    const again = await post(sink.url, key);
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json).toMatchObject({ id: first.json["id"], secret: first.json["secret"] });
    expect([first, again].map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([null, "true"]);
    const other = await post(`${sink.url}/other`, key);
    expect([other.status, other.json["code"]]).toEqual([409, "idempotency_key_reused"]);
    // The whole request counts, and not only what tells two subscriptions apart.
    expect((await post(sink.url, key, { timeout: 9 })).json["code"]).toBe("idempotency_key_reused");
    expect((await post(sink.url, `${key}2`)).json["code"]).toBe("conflict");
    expect((await post(sink.url, "x".repeat(256))).json["field"]).toBe("Idempotency-Key");
  });

  it("are found by their labels", async () => {
    const label = `case-${number}`;
    const made = await gateway.subscribe({ name, url: sink.url, events: ["a"], labels: { [label]: "a=b" } });
    const found = async (query: string) =>
      (await gateway.get(`/api/v1/subscriptions?label=${encodeURIComponent(query)}`)).json["data"];
    expect(await found(label)).toMatchObject([{ id: made.id }]);
    expect(await found(`${label}=a=b`)).toMatchObject([{ id: made.id }]);
    expect(await found(`${label}=c`)).toEqual([]);
    expect(await found("__proto__")).toEqual([]);
    const bad = await gateway.post("/api/v1/subscriptions", {
      name,
      url: sink.url,
      events: ["a"],
      labels: { "-": "" },
    });
    expect([bad.status, bad.json["field"]]).toEqual([422, "labels.-"]);
  });

  it("get only what their patterns name", async () => {
    const [one, many, all] = await Promise.all([openSinkServer(), openSinkServer(), openSinkServer()]);
    await gateway.subscribe({ name: `${name} one`, url: one.url, events: ["shape.*"] });
    await gateway.subscribe({ name: `${name} many`, url: many.url, events: ["shape.#"] });
    const both = await gateway.subscribe({ name: `${name} both`, url: all.url, events: ["shape.round", "shape.#"] });
    const counts = async (event_type: string) =>
      (await gateway.publish({ event_type, payload: {} })).json["deliveries"];
    expect(await counts("shape.round")).toBe(3);
    expect(await counts("shape.round.big")).toBe(2);
    expect(await counts("shape")).toBe(2);
    expect(await counts("shapes.round")).toBe(0);
    await patch(both.id, { events: ["shapes.round"] });
    expect(await counts("shapes.round")).toBe(1);
    await gateway.settled();
    expect([one, many, all].map(({ requests }) => requests.length)).toEqual([1, 3, 4]);
    await Promise.all([one.close(), many.close(), all.close()]);
  });

  // shows: C28
  it("hold deliveries while paused and send them when resumed", async () => {
    const target = await openSinkServer();
    const created = await gateway.subscribe({ name, url: target.url, events: ["held.event"] });
    expect((await gateway.post(`${path(created.id)}/pause`)).json["status"]).toBe("inactive");
    for (let n = 0; n < 5; n++) await gateway.publish({ event_type: "held.event", payload: { n } });
    await gateway.restart();
    const held = await gateway.deliveries(`subscription_id=${created.id}`);
    expect(held.map(({ status, hold_reason }) => `${status} ${hold_reason}`)).toEqual(Array(5).fill("pending paused"));
    expect(target.requests).toHaveLength(0);
    expect((await gateway.post(`${path(created.id)}/resume`)).json["status"]).toBe("active");
    await target.received(5);
    await gateway.settled();
    expect(target.requests).toHaveLength(5);
    await target.close();
  });

  it("cancel what is open when they are deleted, and say how much", async () => {
    const created = await gateway.subscribe({ name, url: sink.url, events: ["doomed.event"], status: "inactive" });
    const published = await gateway.publish({ event_type: "doomed.event", payload: {} });
    for (let n = 0; n < 1200; n += 400) {
      await gateway.publish(Array.from({ length: 400 }, () => ({ event_type: "doomed.event", payload: {} })));
    }
    const answer = await gateway.request("DELETE", path(created.id));
    const deleted = { id: created.id, cancelled_deliveries: 1201, job_id: expect.stringMatching(/^rpl_/) };
    expect([answer.status, answer.json]).toEqual([200, deleted]);
    expect((await gateway.get(path(created.id))).status).toBe(404);
    await until(async () => {
      const { json } = await gateway.get(`/api/v1/replays/${String(answer.json["job_id"])}`);
      return json["status"] === "completed" && json["done"] === 1201;
    });
    const event = await gateway.event(String(published.json["event_id"]));
    expect([event.status, event.deliveries[0]?.status]).toEqual(["COMPLETED", "cancelled"]);
    expect((await gateway.publish({ event_type: "doomed.event", payload: {} })).json["deliveries"]).toBe(0);
    const retried = await gateway.post(`/api/v1/deliveries/${event.deliveries[0]?.id}/retry`);
    expect([retried.status, retried.json["code"]]).toEqual([409, "conflict"]);
    // The name is free again.
    await gateway.subscribe({ name, url: sink.url, events: ["never.once"] });
    await gateway.settled();
  });

  it("may not go where the gateway may not go", async () => {
    const strict = await startTestGateway({
      env: { ALLOW_PRIVATE_DESTINATIONS: false, ALLOW_HTTP_DESTINATIONS: false },
    });
    for (const url of [
      "http://example.com/",
      "https://127.0.0.1/",
      "https://[::1]/",
      "https://10.0.0.1/",
      "https://localhost/",
    ]) {
      const answer = await strict.post("/api/v1/subscriptions", { name, url, events: ["*"] });
      expect([url, answer.status, answer.json["field"]]).toEqual([url, 422, "url"]);
    }
    await strict.close();
  });

  it("keep a masked header that is sent back as it was shown, and store no mask", async () => {
    const headers = { Authorization: "Bearer header-canary", "X-Team": "red" };
    const created = await gateway.subscribe({ name, url: sink.url, events: ["sent.back"], headers });
    const sent = async () => {
      const before = sink.requests.length;
      await gateway.publish({ event_type: "sent.back", payload: {} });
      return (await sink.received(before + 1)).at(-1)?.headers;
    };
    const changed = await patch(created.id, { headers: { authorization: "***", "X-Team": "***" } });
    expect([changed.status, changed.json["headers"]]).toEqual([200, { authorization: "***", "X-Team": "***" }]);
    expect(await sent()).toMatchObject({ authorization: "Bearer header-canary", "x-team": "red" });
    const put = await gateway.request("PUT", path(created.id), {
      body: JSON.stringify({ name, url: sink.url, events: ["sent.back"], headers: { Authorization: "***" } }),
      headers: JSON_TYPE,
    });
    expect(put.status).toBe(200);
    expect(await sent()).toMatchObject({ authorization: "Bearer header-canary" });
    // Where nothing is stored there is nothing to keep.
    const none = await patch(created.id, { headers: { "X-Api-Key": "***" } });
    expect([none.status, none.json["field"]]).toEqual([422, "headers.X-Api-Key"]);
    const settings = { name: `${name} new`, url: sink.url, events: ["a"], headers: { Cookie: "***" } };
    expect((await gateway.post("/api/v1/subscriptions", settings)).json["field"]).toBe("headers.Cookie");
    expect(await sent()).toMatchObject({ authorization: "Bearer header-canary" });
  });

  // shows: C63
  it("tell which key made them, for good", async () => {
    const made = await gateway.subscribe({ name, url: sink.url, events: ["never.once"] });
    expect(made["created_by"]).toBe("config");
    const { json } = await gateway.post("/api/v1/keys", { name: "maker", scopes: ["admin"], tenant_id: "made" });
    const maker = gateway.as(String(json["key"]));
    const theirs = await maker.subscribe({ name, url: sink.url, events: ["never.once"] });
    expect(theirs["created_by"]).toBe(json["id"]);
    await gateway.restart();
    expect((await patch(theirs.id, { timeout: 9 })).json).toMatchObject({ timeout: 9, created_by: json["id"] });
    const chosen = await maker.request("PUT", path(`maker-${number}`), {
      body: JSON.stringify({ name: `${name} put`, url: sink.url, events: ["never.once"] }),
      headers: JSON_TYPE,
    });
    expect(chosen.json["created_by"]).toBe(json["id"]);
    expect((await patch(made.id, { created_by: "me" })).json["field"]).toBe("created_by");
  });

  it("mask the values of their headers, and send them", async () => {
    const headers = { Authorization: "Bearer header-canary", "X-Api-Key": "key-canary", "X-Team": "red" };
    const created = await gateway.subscribe({ name, url: sink.url, events: ["with.headers"], headers });
    expect(created["headers"]).toEqual({ Authorization: "***", "X-Api-Key": "***", "X-Team": "***" });
    const before = sink.requests.length;
    await gateway.publish({ event_type: "with.headers", payload: {} });
    const request = (await sink.received(before + 1)).at(-1);
    expect(request?.headers).toMatchObject({ authorization: "Bearer header-canary", "x-api-key": "key-canary" });
  });
});
