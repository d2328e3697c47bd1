import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiClient } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** What an operator has made for a tenant, in requests of the tenant's keys and portal links. */

const JSON_TYPE = { "content-type": "application/json" };
const OPERATOR_AUTH = { type: "bearer", token: "of-the-operator" };

let gateway: TestGateway;
let sink: SinkServer;

beforeEach(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  await gateway.post("/api/v1/tenants", { id: "acme" });
});
afterEach(() => Promise.all([gateway.close(), sink.close()]));

async function boundCallers(): Promise<[partner: ApiClient, key: ApiClient]> {
  const { json } = await gateway.post("/api/v1/tenants/acme/portal-link");
  const partner = gateway.as(String(json["url"]).split("#token=")[1]);
  return [partner, gateway.as(await gateway.createKey(["admin"], "acme"))];
}

const subscribeOwn = async (more: object = {}) =>
  (await gateway.subscribe({ name: "own", url: `${sink.url}/own`, events: ["order.*"], tenant_id: "acme", ...more }))
    .id;

describe("a subscription or target of the operator that a bound caller names in its own", () => {
  const send = (client: ApiClient, method: string, path: string, body: object) =>
    client.request(method, `/api/v1/subscriptions/${path}`, { body: JSON.stringify(body), headers: JSON_TYPE });

  it("is no fallback of it, and stays the one that an operator chose", async () => {
    await gateway.restart({ yaml: "connections: [{ name: default, kind: amqp, url: 'amqp://127.0.0.1:9' }]" });
    for (const name of ["home", "spare"]) {
      const queue = { name, kind: "amqp", events: [], tenant_id: "acme", destination: { queue: `${name}-queue` } };
      const made = await gateway.post("/api/v1/subscriptions", queue);
      expect([made.status, made.text]).toEqual([201, made.text]);
    }
    const health = { health_url: `${sink.url}/healthz`, health_interval_s: 3600 };
    const forward = { name: "own", url: `${sink.url}/own`, events: ["webhook.a"], mode: "forward", ...health };
    const kept = { ...forward, name: "kept", events: ["webhook.b"], fallback: "home", tenant_id: "acme" };
    const own = await subscribeOwn(forward);
    const { id } = await gateway.subscribe(kept);
    const another = { ...forward, name: "third", events: ["webhook.c"], fallback: "spare" };
    const { name: _, ...unnamed } = kept;
    for (const client of await boundCallers()) {
      const refused = [
        await client.post("/api/v1/subscriptions", another),
        await send(client, "PUT", "sub_third", another),
        await send(client, "PATCH", own, { fallback: "spare" }),
        await send(client, "PUT", own, { ...forward, fallback: "spare" }),
        await send(client, "PATCH", id, { fallback: "spare" }),
        await send(client, "PATCH", id, { fallback: null }),
        await send(client, "PATCH", id, { fallback: null, mode: "queue" }),
        await send(client, "PUT", id, { ...forward, name: "kept", events: ["webhook.b"] }),
      ];
      for (const answer of refused) {
        expect([answer.status, answer.json]).toMatchObject([403, { field: "fallback" }]);
      }
      // The control: what leaves the fallback as it is.
      expect((await send(client, "PATCH", id, { timeout: 9, fallback: "home" })).status).toBe(200);
      expect((await send(client, "PUT", id, { ...unnamed, name: "kept" })).status).toBe(200);
      expect((await send(client, "PATCH", own, { fallback: null })).status).toBe(200);
    }
    // The control: an operator may do it.
    expect((await send(gateway, "PATCH", own, { fallback: "spare" })).status).toBe(200);
    expect((await send(gateway, "PATCH", id, { fallback: null })).status).toBe(200);
  });

  it("is not sent to together with it, which would let the tenant hold it up", async () => {
    for (const name of ["shared", "free"]) {
      expect((await gateway.post("/api/v1/targets", { name, tenant_id: "acme" })).status).toBe(201);
    }
    const destination = { gateway: "generic-http", url: `${sink.url}/sms`, to: "+15005550001", text: "Sent." };
    const sms = { name: "sms", kind: "sms", events: ["order.*"], tenant_id: "acme", target: "shared", destination };
    const made = await gateway.post("/api/v1/subscriptions", sms);
    expect([made.status, made.text]).toEqual([201, made.text]);
    const own = await subscribeOwn();
    const never = { name: "never", url: `${sink.url}/never`, events: ["order.*"] };
    for (const client of await boundCallers()) {
      const refused = [
        await client.post("/api/v1/subscriptions", { ...never, target: "shared" }),
        await send(client, "PATCH", own, { target: "shared" }),
        await send(client, "PUT", own, { ...never, name: "own", target: "shared" }),
      ];
      for (const answer of refused) expect([answer.status, answer.json]).toMatchObject([403, { field: "target" }]);
      // The control: a target that nobody else uses, a preset, and none.
      for (const target of ["free", "n8n", null]) {
        expect([target, (await send(client, "PATCH", own, { target })).status]).toEqual([target, 200]);
      }
    }
    expect((await send(gateway, "PATCH", own, { target: "shared" })).status).toBe(200);
  });
});

describe("a request of an operator that a bound caller repeats", () => {
  it("is another request, whose answer holds no secret of what the operator created", async () => {
    await gateway.restart({ env: { ANY_SOURCE: false } });
    const repeat = (client: ApiClient, path: string, body: object) =>
      client.request("POST", path, {
        body: JSON.stringify(body),
        headers: { ...JSON_TYPE, "idempotency-key": "the-same-key" },
      });
    const input = { name: "erp", url: `${sink.url}/erp`, events: ["a.b"], tenant_id: "acme", auth: OPERATOR_AUTH };
    const made = await repeat(gateway, "/api/v1/subscriptions", input);
    expect(made.status).toBe(201);
    const source = { name: "shop", tenant_id: "acme", path_token: true };
    const ofSource = await repeat(gateway, "/api/v1/sources?tenant_id=acme", source);
    expect([ofSource.status, ofSource.text]).toEqual([201, ofSource.text]);
    for (const client of await boundCallers()) {
      const again = await repeat(client, "/api/v1/subscriptions", input);
      expect([again.status, again.json["secret"]]).toEqual([409, undefined]);
      expect(again.headers.get("idempotency-replayed")).toBeNull();
      const sourceAgain = await repeat(client, "/api/v1/sources", source);
      expect([sourceAgain.status >= 400, sourceAgain.json["path_token"]]).toEqual([true, undefined]);
    }
    // The control: an operator gets the same answer again, and so do callers with what they have created themselves.
    expect((await repeat(gateway, "/api/v1/subscriptions", input)).json["secret"]).toBe(made.json["secret"]);
    const key = gateway.as(await gateway.createKey(["admin"], "acme"));
    const own = { ...input, name: "own", events: ["c.d"] };
    const first = await repeat(key, "/api/v1/subscriptions", own);
    const second = await repeat(key, "/api/v1/subscriptions", own);
    expect([first.status, second.json["secret"]]).toEqual([201, first.json["secret"]]);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });
});
