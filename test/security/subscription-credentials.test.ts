import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** None of these names tells that it holds a secret. */
const HEADERS = { "X-Functions-Key": "canary-fk-11", "X-Site": "canary-site-22", "x-sas": "canary-sas-33" };
const MASKED = { "X-Functions-Key": "***", "X-Site": "***", "x-sas": "***" };
const JSON_TYPE = { "content-type": "application/json" };

describe("what a subscription sends to its destination alone", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let other: SinkServer;

  beforeEach(async () => {
    [gateway, sink, other] = await Promise.all([startTestGateway(), openSinkServer(), openSinkServer()]);
  });
  afterEach(() => Promise.all([gateway.close(), sink.close(), other.close()]));

  const send = (method: string, id: string, body: object) =>
    gateway.request(method, `/api/v1/subscriptions/${id}`, { body: JSON.stringify(body), headers: JSON_TYPE });
  const settingsOf = (name: string, url: string) => ({ name, url, events: ["*"] });

  it("does not follow a redirect to another origin, nor from there back", async () => {
    sink.answerWith(({ path }) => {
      if (path === "/first") return { redirectTo: "/second", status: 307 };
      return path === "/second" ? { redirectTo: `${other.url}/third`, status: 307 } : { status: 200 };
    });
    other.answerWith({ redirectTo: `${sink.url}/back`, status: 307 });
    const auth = { type: "bearer", token: "canary-token-44" };
    await gateway.subscribe({ name: "a", url: `${sink.url}/first`, headers: HEADERS, auth });
    await gateway.publish({ event_type: "a.b", payload: { n: 1 } });
    await gateway.settled();
    const [first, second, back] = sink.requests;
    const own = { "x-functions-key": "canary-fk-11", authorization: "Bearer canary-token-44" };
    // The control: the same headers do reach the destination itself, also by a redirect within its origin.
    for (const request of [first, second]) expect(request?.headers).toMatchObject(own);
    expect([back?.path, other.requests[0]?.path]).toEqual(["/back", "/third"]);
    for (const request of [other.requests[0], back]) {
      expect(request?.headers).toMatchObject({ "webhook-id": expect.any(String), "x-posthorn-hops": "1" });
      expect(JSON.stringify(request?.headers)).not.toContain("canary");
      expect(request?.body).toEqual(first?.body);
    }
  });

  it("is shown to no key and stands in no file", async () => {
    const made = await gateway.subscribe({ name: "a", url: sink.url, headers: HEADERS });
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests[0]?.headers).toMatchObject({ "x-sas": "canary-sas-33" });
    expect(made["headers"]).toEqual(MASKED);
    const [delivery] = await gateway.deliveries();
    const { attempts } = await gateway.delivery(delivery?.id ?? "");
    expect(attempts[0]?.["request_headers"]).toMatchObject(MASKED);
    const tried = await gateway.post(`/api/v1/subscriptions/${made.id}/test`);
    expect(tried.text).toContain('"X-Site":"***"');
    for (const scope of ["read", "admin"] as const) {
      const client = gateway.as(await gateway.createKey([scope]));
      for (const path of ["subscriptions", `subscriptions/${made.id}`, `deliveries/${delivery?.id}`, "events/export"]) {
        expect((await client.get(`/api/v1/${path}`)).text).not.toContain("canary");
      }
    }
    await gateway.stop();
    for (const file of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const bytes = readFileSync(join(file.parentPath, file.name));
      expect([file.name, bytes.includes("canary")]).toEqual([file.name, false]);
    }
    await gateway.restart();
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests.at(-1)?.headers).toMatchObject({ "x-sas": "canary-sas-33" });
  });

  it("stays what it was when it comes back as it was shown, and never becomes the mask itself", async () => {
    const auth = { type: "basic", username: "u", password: "canary-pw-55" };
    const { id } = await gateway.subscribe({ name: "a", url: sink.url, headers: HEADERS, auth });
    const shown = { type: "basic", username: "u", password: "***" };
    expect((await send("PATCH", id, { headers: { ...MASKED, "X-New": "n" }, auth: shown })).status).toBe(200);
    expect((await send("PUT", id, { ...settingsOf("b", sink.url), headers: MASKED, auth: shown })).status).toBe(200);
    await gateway.publish({ event_type: "a.b", payload: {} });
    await gateway.settled();
    expect(sink.requests[0]?.headers).toMatchObject({
      "x-functions-key": "canary-fk-11",
      "x-site": "canary-site-22",
      authorization: `Basic ${Buffer.from("u:canary-pw-55").toString("base64")}`,
    });
    const unknown = await send("PATCH", id, { headers: { "X-Unknown": "***" } });
    expect(unknown).toMatchObject({ status: 422, json: { field: "headers.X-Unknown" } });
    const otherType = await send("PATCH", id, { auth: { type: "bearer", token: "***" } });
    expect(otherType).toMatchObject({ status: 422, json: { field: "auth.token" } });
  });

  it("is not sent to a token endpoint at another origin", async () => {
    const auth = { type: "oauth2", token_url: `${sink.url}/token`, client_id: "c", client_secret: "canary-cs-66" };
    const { id } = await gateway.subscribe({ name: "a", url: sink.url, auth });
    const shown = { ...auth, client_secret: "***" };
    expect((await send("PATCH", id, { auth: { ...shown, scope: "x" } })).status).toBe(200);
    const moved = await send("PATCH", id, { auth: { ...shown, token_url: `${other.url}/token` } });
    expect(moved).toMatchObject({ status: 422, json: { field: "auth.client_secret" } });
  });

  it("must be given again, or taken away, when the destination moves to another origin", async () => {
    const auth = { type: "bearer", token: "canary-token-44" };
    const { id } = await gateway.subscribe({ name: "a", url: `${sink.url}/a`, headers: HEADERS, auth });
    const url = `${other.url}/b`;
    const refusals: [string, object, string][] = [
      ["PATCH", { url }, "headers"],
      ["PATCH", { url, headers: MASKED, auth }, "headers"],
      ["PATCH", { url, headers: { ...HEADERS, "x-sas": "***" }, auth }, "headers"],
      ["PATCH", { url, headers: HEADERS }, "auth"],
      ["PATCH", { url, headers: null, auth: { ...auth, token: "***" } }, "auth"],
      ["PUT", { ...settingsOf("a", url), headers: MASKED }, "headers"],
      ["PUT", { ...settingsOf("a", url), auth: { ...auth, token: "***" } }, "auth"],
    ];
    for (const [method, body, field] of refusals) {
      expect([body, await send(method, id, body)]).toMatchObject([body, { status: 422, json: { field } }]);
    }
    // The control: within the origin nothing has to be said, and elsewhere it is enough to say it.
    expect((await send("PATCH", id, { url: `${sink.url}/c` })).status).toBe(200);
    expect((await send("PATCH", id, { url, headers: { "X-Site": "new" }, auth: null })).status).toBe(200);
    await gateway.publish({ event_type: "a.b", payload: {} });
    await until(() => Promise.resolve(other.requests.length === 1));
    expect(other.requests[0]?.headers).toMatchObject({ "x-site": "new" });
    expect(JSON.stringify([other.requests[0]?.headers, sink.requests])).not.toContain("canary");
    expect((await send("PATCH", id, { url: `${sink.url}/d`, headers: null })).json).toMatchObject({ headers: {} });
    expect((await send("PUT", id, settingsOf("a", url))).status).toBe(200);
  });
});

describe("credentials of the operator in a subscription of a tenant", () => {
  const TOKEN = "canary-operator-77";
  const auth = { type: "bearer", token: TOKEN };
  const masked = { type: "bearer", token: "***" };
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeEach(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    await gateway.post("/api/v1/tenants", { id: "acme" });
  });
  afterEach(() => Promise.all([gateway.close(), sink.close()]));

  async function openPartner() {
    const { json } = await gateway.post("/api/v1/tenants/acme/portal-link");
    return gateway.as(String(json["url"]).split("#token=")[1]);
  }
  const boundCallers = async () => [await openPartner(), gateway.as(await gateway.createKey(["admin"], "acme"))];
  const change = (client: ApiClient, id: string, body: object, method = "PATCH") =>
    client.request(method, `/api/v1/subscriptions/${id}`, { body: JSON.stringify(body), headers: JSON_TYPE });
  const ofOperator = (more: object = {}) =>
    gateway.subscribe({ name: "erp", url: `${sink.url}/hooks`, tenant_id: "acme", auth, ...more });

  it("cannot be used for other requests by a key or portal link of the tenant", async () => {
    const { id, credentials_by: by } = await ofOperator({ headers: HEADERS });
    const url = `${sink.url}/admin/secrets?delete=all`;
    const whole = { name: "erp", url: `${sink.url}/hooks`, events: ["*"], headers: MASKED, auth: masked };
    const attacks: [string, object][] = [
      ["PATCH", { url }],
      ["PATCH", { url, auth: masked, headers: MASKED }],
      ["PATCH", { url, auth: { ...auth, token: "own" } }],
      ["PATCH", { template: { body: '"phish"' } }],
      ["PATCH", { mode: "forward" }],
      ["PATCH", { format: "raw" }],
      ["PATCH", { headers: { ...MASKED, "X-Action": "delete" } }],
      ["PATCH", { headers: { "X-Site": "other" } }],
      ["PATCH", { auth: null }],
      ["PATCH", { secret: "a secret of the tenant's choice" }],
      ["PATCH", { events: ["order.*"] }],
      ["PATCH", { events: ["*", "order.*"] }],
      ["PATCH", { sources: ["of-the-tenant"] }],
      ["PATCH", { event_filter: { data: { action: "delete" } } }],
      ["PATCH", { target: "n8n" }],
      ["PUT", { ...whole, events: ["#"] }],
      ["PUT", { ...whole, sources: ["of-the-tenant"] }],
      ["PUT", { ...whole, url }],
      ["PUT", { ...whole, headers: {} }],
    ];
    for (const client of await boundCallers()) {
      for (const [method, body] of attacks) {
        const { status, json } = await change(client, id, body, method);
        expect([method, body, status, json["code"]]).toEqual([method, body, 403, "forbidden"]);
      }
      const event = { event_id: "e1", event_type: "a.b", payload: {}, tenant_id: "acme" };
      await gateway.publish(event);
      expect((await client.post(`/api/v1/subscriptions/${id}/test`)).status).toBe(403);
      expect((await client.post(`/api/v1/subscriptions/${id}/preview`, { event_id: "e1" })).status).toBe(403);
      // The control: what does not concern the requests may be changed, and what comes back as it was shown.
      const others = { name: "renamed", timeout: 9, rate_limit: 60, labels: { a: "b" }, events: ["*"], format: "auto" };
      expect((await change(client, id, others)).status).toBe(200);
      expect((await change(client, id, whole, "PUT")).status).toBe(200);
    }
    await gateway.settled();
    expect(new Set(sink.requests.map(({ path }) => path))).toEqual(new Set(["/hooks"]));
    expect(by).toBe("operator");
    // The control: an operator may do all of it.
    expect((await change(gateway, id, { url })).status).toBe(200);
    expect((await gateway.post(`/api/v1/subscriptions/${id}/test`)).status).toBe(200);
    expect(sink.requests.at(-1)).toMatchObject({
      path: "/admin/secrets?delete=all",
      headers: { authorization: `Bearer ${TOKEN}` },
    });
  });

  it("do not reach a path, a source or a payload that the tenant chooses by choosing events", async () => {
    await gateway.post("/api/v1/sources", { name: "shop" });
    await gateway.post("/api/v1/sources", { name: "admin", tenant_id: "acme" });
    const chosen = { sources: ["shop"], event_filter: '{"data":{"kind":"order"}}', events: ["webhook.*", "order.*"] };
    const { id } = await ofOperator({ ...chosen, url: `${sink.url}/hooks/{source}`, mode: "forward" });
    const { json: read } = await gateway.get(`/api/v1/subscriptions/${id}`);
    const kept = ["name", "url", "events", "sources", "event_filter", "mode", "target", "fallback", "headers", "auth"];
    const whole = Object.fromEntries(kept.map((name) => [name, read[name]]));
    for (const client of await boundCallers()) {
      for (const widened of [{ sources: null }, { sources: ["admin"] }, { event_filter: null }, { events: ["#"] }]) {
        expect([widened, (await change(client, id, widened)).status]).toEqual([widened, 403]);
        expect([widened, (await change(client, id, { ...whole, ...widened }, "PUT")).status]).toEqual([widened, 403]);
      }
      expect((await gateway.webhook("admin", '{"kind":"order"}')).status).toBeLessThan(300);
      // The control: what was read may be written back, and the same choice in other words.
      expect((await change(client, id, whole, "PUT")).status).toBe(200);
      const inOtherWords = { events: ["order.*", "webhook.*"], event_filter: { data: { kind: "order" } } };
      expect((await change(client, id, inOtherWords)).status).toBe(200);
    }
    await gateway.settled();
    expect(sink.requests).toEqual([]);
  });

  it("do not write a name that the tenant chooses where templates contain it", async () => {
    const { id } = await ofOperator({ template: { body: '{"from":{{ subscription.name | json }}}' } });
    const { id: plain } = await ofOperator({ name: "plain" });
    for (const [n, client] of (await boundCallers()).entries()) {
      expect((await change(client, id, { name: "phish" })).status).toBe(403);
      expect((await change(client, plain, { name: `renamed ${n}` })).status).toBe(200);
    }
  });

  it("do not let the tenant see or replace the secret that signs such requests", async () => {
    const { id, secret } = await ofOperator();
    const { id: own } = await gateway.subscribe({ name: "own", url: `${sink.url}/own`, tenant_id: "acme" });
    const at = `/api/v1/subscriptions/${id}`;
    for (const client of await boundCallers()) {
      const answers = [
        await client.get(`${at}/secret`),
        await client.post(`${at}/rotate-secret`),
        await client.post(`${at}/rotate-secret/confirm`),
        await client.post(`${at}/rotate-secret/retire`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
      for (const { text } of answers) expect(text).not.toContain("whsec_");
      // The control: a partner sees the secret of what sends no credentials of the operator.
      expect((await client.get(`/api/v1/subscriptions/${own}/secret`)).text).toContain("whsec_");
    }
    expect((await gateway.get(`${at}/secret`)).json["secret"]).toBe(secret);
  });

  it("make room for the tenant's own, which are then the tenant's to use", async () => {
    const { id } = await ofOperator();
    for (const client of await boundCallers()) {
      const url = `${sink.url}/own`;
      const moved = await change(client, id, { url, auth: { ...auth, token: "own-token" } });
      expect(moved).toMatchObject({ status: 200, json: { credentials_by: "tenant" } });
      expect((await client.post(`/api/v1/subscriptions/${id}/test`)).status).toBe(200);
      expect(sink.requests.at(-1)?.headers).toMatchObject({ authorization: "Bearer own-token" });
      expect((await change(client, id, { url: `${sink.url}/later` })).status).toBe(200);
      // What an operator changes besides leaves them the tenant's; new ones are the operator's again.
      expect((await change(gateway, id, { timeout: 9, auth: masked })).json["credentials_by"]).toBe("tenant");
      expect((await change(gateway, id, { auth })).json["credentials_by"]).toBe("operator");
      expect((await change(client, id, { url })).status).toBe(403);
    }
    const [client] = await boundCallers();
    const without = await change(client as ApiClient, id, { name: "erp", url: sink.url, events: ["#"] }, "PUT");
    expect(without).toMatchObject({ status: 200, json: { credentials_by: null } });
  });

  it("of an SMS gateway send no message of a tenant, unless the configuration allows it", async () => {
    const destination = {
      gateway: "twilio",
      account_sid: "AC1",
      auth_token: TOKEN,
      from: "+15005550006",
      to: "+15005550001",
      text: "Your order was sent.",
      url: sink.url,
    };
    const made = await gateway.post("/api/v1/subscriptions", {
      name: "sms",
      kind: "sms",
      events: ["#"],
      tenant_id: "acme",
      destination,
    });
    const id = String(made.json["id"]);
    const phish = { to: "+4915112345678", text: "phish", auth_token: "***" };
    const own = { name: "own", kind: "sms", events: ["#"], destination };
    for (const client of await boundCallers()) {
      expect((await change(client, id, { destination: phish })).status).toBe(403);
      expect((await client.post(`/api/v1/subscriptions/${id}/test`)).status).toBe(403);
      expect((await client.post("/api/v1/subscriptions", own)).status).toBe(403);
    }
    expect(sink.requests).toEqual([]);
    await gateway.restart({ env: { SMS_ALLOW_TENANTS: true } });
    for (const client of await boundCallers()) {
      expect((await change(client, id, { destination: phish })).status).toBe(403);
      expect((await client.post(`/api/v1/subscriptions/${id}/test`)).status).toBe(403);
      const { status, json } = await client.post("/api/v1/subscriptions", own);
      expect(status).toBe(201);
      await client.request("DELETE", `/api/v1/subscriptions/${String(json["id"])}`);
    }
    expect(sink.requests).toEqual([]);
  });
});

describe("a subscription that only operators may configure", () => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-batches-"));
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeEach(async () => {
    [gateway, sink] = await Promise.all([startTestGateway({ env: { BATCH_DIR: folder } }), openSinkServer()]);
    await gateway.post("/api/v1/tenants", { id: "acme" });
  });
  afterEach(async () => {
    await Promise.all([gateway.close(), sink.close()]);
    rmSync(folder, { recursive: true });
  });

  it("is closed to keys and portal links of its tenant on every route that changes, shows or uses it", async () => {
    const path = join(folder, "archive");
    const input = { name: "archive", kind: "batch", events: ["#"] };
    const made = await gateway.post("/api/v1/subscriptions", { ...input, tenant_id: "acme", destination: { path } });
    expect(made.status).toBe(201);
    const at = `/api/v1/subscriptions/${String(made.json["id"])}`;
    await gateway.publish({ event_id: "e1", event_type: "a.b", payload: {}, tenant_id: "acme" });
    const taken = { ...input, destination: { url: `${sink.url}/evil` } };
    const { json } = await gateway.post("/api/v1/tenants/acme/portal-link");
    const partner = gateway.as(String(json["url"]).split("#token=")[1]);
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    const requests: [string, string, object?][] = [
      ["PUT", at, taken],
      ["POST", `${at}/plan`, taken],
      ["PATCH", at, { destination: taken.destination }],
      ["PATCH", at, { name: "mine" }],
      ["POST", `${at}/pause`],
      ["POST", `${at}/resume`],
      ["POST", `${at}/rotate-secret`],
      ["POST", `${at}/rotate-secret/confirm`],
      ["POST", `${at}/rotate-secret/retire`],
      ["GET", `${at}/secret`],
      ["POST", `${at}/test`],
      ["POST", `${at}/preview`, { event_id: "e1" }],
      ["DELETE", at],
    ];
    for (const client of [partner, bound]) {
      for (const [method, url, body] of requests) {
        const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE };
        const { status } = await client.request(method, url, sent);
        expect([method, url, status]).toEqual([method, url, 403]);
      }
    }
    // The control: it is there to be seen, and nothing of it has changed.
    expect((await bound.get(at)).json).toMatchObject({ name: "archive", status: "active", destination: { path } });
    expect((await gateway.get(`${at}/secret`)).status).toBe(200);
  });
});
