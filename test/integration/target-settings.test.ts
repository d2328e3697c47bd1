import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PATH = "/api/v1/targets";
const YAML = `
targets:
  - { name: declared, health_url: "https://erp.example.com/healthz" }
`;

describe("targets by API", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway({ yaml: YAML });
  });
  afterAll(() => gateway.close());

  const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    gateway.request(method, path, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    });
  const subscribe = (name: string, settings: object) =>
    send("POST", "/api/v1/subscriptions", { name, url: "https://erp.example.com/", events: ["x"], ...settings });

  it("are made, shared, changed, and deleted once nobody sends to them; also after a restart", async () => {
    const made = await send("POST", PATH, {
      name: "erp",
      health_url: "https://erp.example.com/up",
      failures_to_open: 7,
    });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ name: "erp", shared: true, managed_by: "api", failures_to_open: 7 });
    expect((await send("POST", PATH, { name: "erp" })).json).toMatchObject({ code: "conflict" });
    const { json: subscription } = await subscribe("to erp", { target: "erp" });
    expect(subscription).toMatchObject({ target: "erp", suspend_after_dead: null });
    const changed = await send("PATCH", `${PATH}/erp`, { health_interval_s: 5, failures_to_open: null });
    expect(changed.json).toMatchObject({ health_interval_s: 5, failures_to_open: 3, successes_to_close: 3 });
    const refused = await send("DELETE", `${PATH}/erp`);
    expect([refused.status, refused.json["code"]]).toEqual([409, "conflict"]);
    await gateway.restart();
    expect((await gateway.get(`${PATH}/erp`)).json).toMatchObject({
      health_interval_s: 5,
      subscriptions: [subscription["id"]],
    });
    await send("DELETE", `/api/v1/subscriptions/${String(subscription["id"])}`);
    expect((await send("DELETE", `${PATH}/erp`)).json).toEqual({ name: "erp" });
    expect((await gateway.get(`${PATH}/erp`)).status).toBe(404);
  });

  it("are made once for an Idempotency-Key, and changed only in the version that is meant", async () => {
    const once = () => send("POST", PATH, { name: "once" }, { "idempotency-key": "k-1" });
    const [first, again] = [await once(), await once()];
    expect([first.status, again.status, again.headers.get("idempotency-replayed")]).toEqual([201, 201, "true"]);
    const etag = first.headers.get("etag") ?? "";
    const put = await send("PUT", `${PATH}/once`, { batch_size: 4 }, { "if-match": etag });
    expect([put.status, put.json["batch_size"]]).toEqual([200, 4]);
    for (const method of ["PUT", "PATCH"]) {
      const late = await send(method, `${PATH}/once`, { batch_size: 5 }, { "if-match": etag });
      expect([late.status, late.json["code"]]).toEqual([412, "precondition_failed"]);
    }
    expect((await send("DELETE", `${PATH}/once`, undefined, { "if-match": etag })).status).toBe(412);
    expect((await send("PUT", `${PATH}/fresh`, {})).status).toBe(201);
  });

  it("keep their mode when they are changed, and their version when the mode is", async () => {
    const made = await send("POST", PATH, { name: "moody" });
    const etag = made.headers.get("etag") ?? "";
    await send("POST", `${PATH}/moody/mode`, { mode: "QUEUE" });
    expect((await gateway.get(`${PATH}/moody`)).headers.get("etag")).toBe(etag);
    const changed = await send("PATCH", `${PATH}/moody`, { batch_size: 4 }, { "if-match": etag });
    expect(changed.json).toMatchObject({ forced: "QUEUE", mode: "QUEUE", batch_size: 4 });
    await gateway.restart();
    expect((await gateway.get(`${PATH}/moody`)).json).toMatchObject({ forced: "QUEUE", batch_size: 4 });
    // The next of its name has nothing of it.
    await send("DELETE", `${PATH}/moody`);
    expect((await send("POST", PATH, { name: "moody" })).json).toMatchObject({ forced: null, mode: "NORMAL" });
  });

  it("that posthorn.yaml declares are changed there", async () => {
    for (const [method, body] of [
      ["PUT", {}],
      ["PATCH", { batch_size: 2 }],
      ["DELETE", undefined],
    ] as const) {
      expect((await send(method, `${PATH}/declared`, body)).json).toMatchObject({ code: "managed_by_config" });
    }
    expect((await gateway.get(`${PATH}/declared`)).json).toMatchObject({ managed_by: "config", batch_size: 32 });
  });

  it("are rejected with a reason when they make no sense", async () => {
    const bad = [
      { name: "n8n" },
      { name: "Home" },
      { name: "a", preset: "n8n" },
      { name: "a", health_url: "ftp://example.com" },
      { name: "a", failures_to_open: 0 },
      { name: "a", unknown: 1 },
    ];
    for (const body of bad) {
      const { status, json } = await send("POST", PATH, body);
      expect({ body, status, says: typeof json["detail"] }).toEqual({ body, status: 422, says: "string" });
    }
    const { json } = await subscribe("own", {});
    expect((await send("PATCH", `${PATH}/own`, { batch_size: 1 })).json).toMatchObject({ code: "conflict" });
    expect(json["status"]).toBe("active");
  });

  it("have thresholds where a subscription is its own target, and not beside a shared one", async () => {
    const settings = { health_url: "https://erp.example.com/up", health_interval_s: 7, failures_to_open: 2 };
    const { json } = await subscribe("apart", { ...settings, successes_to_close: 1 });
    expect((await gateway.get(`${PATH}/${String(json["id"])}`)).json).toMatchObject({
      ...settings,
      successes_to_close: 1,
    });
    const refused = await subscribe("both", { target: "declared", failures_to_open: 2 });
    expect([refused.status, refused.json["code"]]).toEqual([422, "invalid_field"]);
  });

  it("belong to one tenant", async () => {
    const [acme, other] = await Promise.all(["acme", "other"].map((id) => gateway.createKey(["admin"], id)));
    const post = { body: JSON.stringify({ name: "secret-home" }), headers: { "content-type": "application/json" } };
    const made = await gateway.as(acme).request("POST", PATH, post);
    expect(made.json).toMatchObject({ tenant_id: "acme" });
    const change = { ...post, body: "{}" };
    expect((await gateway.as(other).request("PATCH", `${PATH}/secret-home`, change)).status).toBe(404);
    expect((await gateway.as(other).request("DELETE", `${PATH}/secret-home`)).status).toBe(404);
    const foreign = { ...post, body: JSON.stringify({ name: "b", tenant_id: "acme" }) };
    expect((await gateway.as(other).request("POST", PATH, foreign)).status).toBe(403);
    const body = JSON.stringify({ name: "x", url: "https://e.example/", events: ["x"], target: "secret-home" });
    const refused = await gateway.as(other).request("POST", "/api/v1/subscriptions", { ...post, body });
    expect([refused.status, refused.json["code"]]).toEqual([422, "invalid_field"]);
  });

  it("are checked every 5 seconds at most where a key or link of a tenant says so", async () => {
    const { json } = await gateway.post("/api/v1/tenants/default/portal-link");
    const partner = gateway.as(String(json["url"]).split("#token=")[1]);
    const bound = gateway.as(await gateway.createKey(["admin"], "default"));
    const health = { health_url: "https://victim.example.com/", health_interval_s: 0.1 };
    const input = { name: "often", url: "https://erp.example.com/", events: ["x"], ...health };
    const often = { status: 422, json: { field: "health_interval_s" } };
    const change = (client: ApiClient, method: string, path: string, body: object) =>
      client.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
    const patch = (client: ApiClient, path: string, body: object) => change(client, "PATCH", path, body);
    const made = await subscribe("by operator", health);
    expect(made.status).toBe(201);
    const at = `/api/v1/subscriptions/${String(made.json["id"])}`;
    for (const client of [partner, bound]) {
      expect(await client.post("/api/v1/subscriptions", input)).toMatchObject(often);
      expect(await patch(client, at, { health_interval_s: 4.9 })).toMatchObject(often);
      // What an operator has set stays while other settings change, but not for another place.
      expect((await patch(client, at, { timeout: 9 })).json).toMatchObject({ health_interval_s: 0.1 });
      const elsewhere = { health_url: "https://another-victim.example.com/" };
      expect(await patch(client, at, elsewhere)).toMatchObject(often);
      expect(await patch(client, at, { health_url: null, target: "n8n" })).toMatchObject(often);
    }
    const elsewhere = { health_url: "https://another-victim.example.com/" };
    expect((await patch(bound, at, { ...elsewhere, health_interval_s: 5 })).status).toBe(200);
    expect((await patch(gateway, at, { health_interval_s: 0.1 })).status).toBe(200);
    expect((await patch(bound, at, { health_url: null })).status).toBe(200);
    expect((await patch(bound, at, { ...elsewhere, health_interval_s: 0.1 })).status).toBe(422);
    expect(await bound.post(PATH, { name: "often", ...health })).toMatchObject(often);
    expect((await bound.post(PATH, { name: "often", ...health, health_interval_s: 5 })).status).toBe(201);
    expect(await patch(bound, `${PATH}/often`, { health_interval_s: 1 })).toMatchObject(often);
    expect((await patch(gateway, `${PATH}/often`, { health_interval_s: 1 })).status).toBe(200);
    expect((await patch(bound, `${PATH}/often`, { max_bytes: 1000 })).status).toBe(200);
    expect(await patch(bound, `${PATH}/often`, elsewhere)).toMatchObject(often);
    const whole = { ...elsewhere, health_interval_s: 1 };
    expect(await change(bound, "PUT", `${PATH}/often`, whole)).toMatchObject(often);
    expect((await patch(bound, `${PATH}/often`, { ...elsewhere, health_interval_s: 5 })).status).toBe(200);
  });
});
