import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SECRET = "grid-1234567890abcdef";

describe("handshakes of sources", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    for (const source of [
      { name: "grid", kind: "event-grid", secrets: [SECRET] },
      { name: "events", kind: "cloudevents", secrets: [SECRET], options: { allowed_origins: ["shop.example.com"] } },
      { name: "plain" },
    ]) {
      await gateway.post("/api/v1/sources", source);
    }
    await gateway.subscribe({ name: "all", url: sink.url, events: ["*"] });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const ask = (path: string, headers: Record<string, string>) =>
    fetch(`${gateway.url}/webhook/${path}`, { method: "OPTIONS", headers });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    gateway.webhook(path, JSON.stringify(body), headers);

  it("answer a sender that may deliver, with the rate where it is asked for", async () => {
    const answer = await ask("events", { "webhook-request-origin": "shop.example.com", "webhook-request-rate": "120" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("webhook-allowed-origin")).toBe("shop.example.com");
    expect(answer.headers.get("webhook-allowed-rate")).toBe("*");
    expect(answer.headers.get("allow")).toBe("POST");
  });

  it.each([
    ["events", { "webhook-request-origin": "evil.example.com" }, 403],
    ["events", {}, 400],
    ["grid", { "webhook-request-origin": "eventgrid.azure.net" }, 401],
    [`grid?code=${SECRET}`, { "webhook-request-origin": "eventgrid.azure.net" }, 200],
    [`grid?code=${SECRET}`, { "webhook-request-origin": "other.example.com" }, 403],
    ["plain", { "webhook-request-origin": "shop.example.com" }, 405],
  ])("do not answer others: %s %j", async (path, headers, status) => {
    const answer = await ask(path, headers);
    expect(answer.status).toBe(status);
    expect(answer.headers.has("webhook-allowed-origin")).toBe(status === 200);
  });

  it("say that the origin is not allowed, and nothing of a key", async () => {
    const answer = await ask("events", { "webhook-request-origin": "evil.example.com" });
    expect(await answer.json()).toMatchObject({ status: 403, code: "address_not_allowed" });
  });

  it("answer the validation of Event Grid, and make no event of it", async () => {
    const validation = {
      id: "1",
      topic: "t",
      eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
      eventTime: "2026-01-01T00:00:00Z",
      data: { validationCode: 'a"b' },
    };
    const answer = await post(`grid?code=${SECRET}`, [validation], { "aeg-event-type": "SubscriptionValidation" });
    expect([answer.status, answer.json]).toEqual([200, { validationResponse: 'a"b' }]);
    expect((await post("grid", [validation])).status).toBe(401);
    expect((await gateway.get("/api/v1/events?source=grid")).json["data"]).toEqual([]);
  });

  it("lead to events with their ids and types, in both schemas", async () => {
    const before = sink.requests.length;
    const blob = {
      topic: "t",
      eventType: "Microsoft.Storage.BlobCreated",
      eventTime: "2026-01-01T00:00:00Z",
      data: {},
    };
    const events = [
      { id: "1", ...blob },
      { id: "2", ...blob, eventType: "Microsoft.Storage.BlobDeleted" },
    ];
    expect((await post(`grid?code=${SECRET}`, events)).status).toBe(200);
    expect((await post(`grid?code=${SECRET}`, events)).status).toBe(200);
    const cloud = { specversion: "1.0", id: "c-1", source: "/shop", type: "com.example.order.paid", data: { n: 1 } };
    const types = { "content-type": "application/cloudevents-batch+json; charset=utf-8" };
    expect((await post(`grid?code=${SECRET}`, [cloud], types)).status).toBe(200);
    await sink.received(before + 3);
    const seen = sink.requests.slice(before).map(({ headers }) => headers["x-webhook-event"]);
    expect(new Set(seen)).toEqual(
      new Set([
        "event-grid.com.example.order.paid",
        "event-grid.microsoft.storage.blob_created",
        "event-grid.microsoft.storage.blob_deleted",
      ]),
    );
    const { json } = await gateway.get("/api/v1/events?source=grid");
    expect(json["data"]).toHaveLength(3);
    expect(JSON.stringify(json)).not.toContain(SECRET);
  });

  it("are followed by CloudEvents in headers, one and many in a body", async () => {
    const bearer = { authorization: `Bearer ${SECRET}` };
    const one = { specversion: "1.0", id: "1", source: "/a", type: "Paid", data: { n: 1 } };
    const before = sink.requests.length;
    expect((await post("events", one, { ...bearer, "content-type": "application/cloudevents+json" })).status).toBe(200);
    expect(
      (await post("events", one, { ...bearer, "content-type": "application/cloudevents+json" })).json,
    ).toMatchObject({
      status: "duplicate",
    });
    const binary = { ...bearer, "ce-specversion": "1.0", "ce-id": "2", "ce-source": "/a%20b", "ce-type": "Paid" };
    expect((await gateway.webhook("events", "<xml/>", { ...binary, "content-type": "application/xml" })).status).toBe(
      200,
    );
    const batch = ["3", "4"].map((id) => ({ ...one, id }));
    expect(
      (await post("events", batch, { ...bearer, "content-type": "application/cloudevents-batch+json" })).status,
    ).toBe(200);
    await sink.received(before + 4);
    expect(sink.requests.slice(before).map(({ body }) => String(body))).toContain("<xml/>");
    expect((await post(`events?access_token=${SECRET}`, { ...one, id: "5" })).status).toBe(200);
    expect((await post("events", { ...one, id: "6" })).status).toBe(401);
  });
});

describe("handshakes of destinations", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;

  beforeAll(async () => {
    gateway = await startTestGateway({ env: { PUBLIC_URL: "https://gateway.example.com" } });
    sink = await openSinkServer();
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  async function deliver(answer: object, more: object = {}) {
    const type = `kind-${++number}.made`;
    const before = sink.requests.length;
    sink.answerWith({ status: 200, ...answer });
    const { id: subscription } = await gateway.subscribe({
      name: `d-${number}`,
      url: `${sink.url}/${number}`,
      events: [type],
      handshake: "cloudevents",
      retry_policy: { delays_s: [] },
      ...more,
    });
    await until(async () => (await resultOf(subscription))["status"] !== "pending");
    const early = { ...(await resultOf(subscription)), sent: sink.requests.slice(before).map(({ method }) => method) };
    const { json } = await gateway.publish({ event_type: type, payload: {} });
    const id = String(json["event_id"]);
    await expect.poll(async () => (await gateway.deliveryOf(id)).status).toMatch(/delivered|dead/);
    return { early, delivery: await gateway.deliveryOf(id), requests: sink.requests.slice(before), type };
  }

  async function resultOf(subscription: string): Promise<Record<string, unknown>> {
    const { json } = await gateway.get(`/api/v1/subscriptions/${subscription}`);
    return json["handshake_result"] as Record<string, unknown>;
  }

  it("are made once, when the subscription is made, before anything is sent", async () => {
    const headers = { "webhook-allowed-origin": "gateway.example.com", "webhook-allowed-rate": "100" };
    const { early, delivery, requests, type } = await deliver(
      { headers },
      { rate_limit: 60, headers: { "X-Key": "k-1" } },
    );
    expect(early).toEqual({
      status: "accepted",
      answered_at: expect.any(String) as string,
      error: null,
      sent: ["OPTIONS"],
    });
    expect(delivery.status).toBe("delivered");
    expect(requests.map(({ method }) => method)).toEqual(["OPTIONS", "POST"]);
    expect(requests[0]?.headers).toMatchObject({
      "webhook-request-origin": "gateway.example.com",
      "webhook-request-rate": "60",
      "x-key": "k-1",
    });
    const before = sink.requests.length;
    await gateway.publish({ event_type: type, payload: {} });
    await gateway.moveClockUntil(() => sink.requests.length > before);
    expect(sink.requests[before]?.method).toBe("POST");
  });

  it.each([
    [{ headers: {} }, /^handshake: the destination answered without WebHook-Allowed-Origin/],
    [{ headers: { "webhook-allowed-origin": "other.example.com" } }, /for other\.example\.com only/],
    [{ status: 405 }, /^handshake: answered 405/],
    [
      { headers: { "webhook-allowed-origin": "*", "webhook-allowed-rate": "30" } },
      /allows 30 requests a minute; set rate_limit to 30 or less/,
    ],
  ])("that are not answered let nothing through: %j", async (answer, error) => {
    const { early, delivery, requests } = await deliver(answer);
    expect(early).toMatchObject({ status: "refused", error: expect.stringMatching(error) as string });
    // Asked again by the attempt.
    expect(requests.map(({ method }) => method)).toEqual(["OPTIONS", "OPTIONS"]);
    expect(delivery).toMatchObject({ status: "dead", last_error: expect.stringMatching(error) });
  });

  it("are asked for again by a change, and by the first event where that decides the URL", async () => {
    sink.answerWith({ status: 405 });
    const settings = { url: `${sink.url}/late`, events: ["late.made"], handshake: "cloudevents" };
    const { id } = await gateway.subscribe({ name: "late", ...settings });
    await until(async () => (await resultOf(id))["status"] === "refused");
    expect(
      gateway.log.find(
        ({ msg, subscription }) => msg === "deliveries of this subscription do not arrive" && subscription === "late",
      ),
    ).toBeDefined();
    sink.answerWith({ status: 200, headers: { "webhook-allowed-origin": "*" } });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ description: "they are ready now" });
    await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, { headers, body });
    await until(async () => (await resultOf(id))["status"] === "accepted");

    const open = { ...settings, name: "by source", url: `${sink.url}/{source}` };
    const { id: bySource } = await gateway.subscribe(open);
    expect(await resultOf(bySource)).toEqual({ status: "pending", answered_at: null, error: null });
    await gateway.publish({ event_type: "late.made", source: "shop", payload: {} });
    await until(async () => (await resultOf(bySource))["status"] === "accepted");
    const { json } = await gateway.post("/api/v1/subscriptions", { name: "plain", url: sink.url, events: ["x.y"] });
    expect(json["handshake_result"]).toBeUndefined();
  });
});
