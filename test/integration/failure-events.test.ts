import { describe, expect, it, onTestFinished } from "vitest";
import { until, type ShownEvent } from "../support/api-client.ts";
import { checkOwnEnvelope, checkOwnEvent } from "../support/own-event-document.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

async function open(options: TestGatewayOptions = {}): Promise<{ gateway: TestGateway; sink: SinkServer }> {
  const [gateway, sink] = await Promise.all([startTestGateway(options), openSinkServer()]);
  onTestFinished(async () => void (await Promise.all([gateway.close(), sink.close()])));
  return { gateway, sink };
}

interface Told extends Omit<ShownEvent, "payload"> {
  event_type: string;
  tenant_id: string;
  source: string;
  payload: Record<string, unknown>;
}

/** What the gateway has stored of its own, oldest first, and as it is documented. */
async function told(gateway: TestGateway, type: string): Promise<Told[]> {
  const { json } = await gateway.get(`/api/v1/events?limit=500&event_type=${type}`);
  const rows = json["data"] as { event_id: string }[];
  const events = await Promise.all(rows.map(({ event_id }) => gateway.event(event_id)));
  for (const { payload } of events as unknown as Told[]) expect(checkOwnEvent(type, payload)).toBeUndefined();
  return (events as unknown as Told[]).toReversed();
}

async function toldOnce(gateway: TestGateway, type: string): Promise<Told> {
  await until(async () => (await told(gateway, type)).length > 0, undefined, type);
  const events = await told(gateway, type);
  expect(events).toHaveLength(1);
  return events[0] as Told;
}

describe("what the gateway tells of failing subscriptions", () => {
  // shows: C28, C48, C49
  it("is failing at half of the way, then suspended, with the seed's payload, and resumed", async () => {
    const { gateway, sink } = await open();
    sink.answerWith({ status: 400 });
    const { id } = await gateway.subscribe({
      name: "shop",
      url: `${sink.url}/token-in-path?key=hidden`,
      events: ["order.*"],
      concurrency: 1,
    });
    for (let n = 0; n < 15; n++) await gateway.publish({ event_type: "order.created", payload: { n } });
    const failing = await toldOnce(gateway, "webhook.failing");
    expect(failing).toMatchObject({ tenant_id: "default", source: "posthorn", unmatched: true });
    expect(failing.payload).toMatchObject({
      webhook_id: id,
      name: "shop",
      url_host: new URL(sink.url).host,
      dead_in_a_row: 5,
      suspended_after_dead: 10,
      down_for_s: 0,
      suspended_after_down_s: 259_200,
    });
    const suspended = await toldOnce(gateway, "webhook.suspended");
    expect(Object.entries(suspended.payload).slice(0, 3)).toEqual([
      ["webhook_id", id],
      ["reason", expect.stringMatching(/^11 deliveries in a row are dead, the last: answered 400/)],
      ["action_required", "Review and reactivate webhook"],
    ]);
    expect(suspended.payload).toMatchObject({ name: "shop", dead_in_a_row: 11 });
    expect(JSON.stringify([failing, suspended])).not.toMatch(/token-in-path|hidden/);
    sink.answerWith({ status: 200 });
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    const resumed = await toldOnce(gateway, "webhook.resumed");
    expect(resumed.payload).toMatchObject({ webhook_id: id, previous_status: "suspended", held: "deliver" });
    // It is active already.
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    await gateway.settled();
    expect(await told(gateway, "webhook.resumed")).toHaveLength(1);
    // By a change of its settings, too.
    for (const status of ["inactive", "active"]) {
      const headers = { "content-type": "application/json" };
      await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, { body: JSON.stringify({ status }), headers });
    }
    await until(async () => (await told(gateway, "webhook.resumed")).length === 2);
    expect((await told(gateway, "webhook.resumed"))[1]?.payload).toMatchObject({ previous_status: "inactive" });
  });

  it.each([1, 2, 3])("is its suspension, also when the same failures open QUEUE: after %i dead", async (limit) => {
    const { gateway, sink } = await open();
    sink.answerWith({ status: 500 });
    const rules = { retry_policy: { delays_s: [] }, suspend_after_dead: limit, concurrency: 1 };
    const { id } = await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"], ...rules });
    for (let n = 0; n < 6; n++) await gateway.publish({ event_type: "order.created", payload: { n } });
    await gateway.moveClockUntil(
      async () => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"] === "suspended",
    );
    expect((await toldOnce(gateway, "webhook.suspended")).payload).toMatchObject({
      webhook_id: id,
      dead_in_a_row: limit + 1,
    });
    expect(await told(gateway, "webhook.failing")).toHaveLength(1);
  });

  it("goes to subscriptions that ask for it by name, signed like any other event, in the same tenant only", async () => {
    const { gateway, sink } = await open();
    const news = await openSinkServer();
    onTestFinished(() => news.close());
    sink.answerWith({ status: 410 });
    const watch = { url: news.url, events: ["webhook.*", "gateway.#"] };
    await gateway.subscribe({ name: "watch", ...watch });
    await gateway.subscribe({ name: "everything", url: `${news.url}/all`, events: ["*"] });
    await gateway.subscribe({ name: "stranger", ...watch, url: `${news.url}/stranger`, tenant_id: "other" });
    const { id } = await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"] });
    await gateway.publish({ event_type: "order.created", payload: {}, event_id: "order-1" });
    await news.received(3);
    const byType = new Map(
      news.requests
        .filter(({ path }) => path === "/")
        .map(({ headers, body }) => [headers["x-webhook-event"], JSON.parse(body.toString()) as { data: object }]),
    );
    expect(new Set(byType.keys())).toEqual(new Set(["webhook.delivery_dead", "webhook.suspended"]));
    for (const body of byType.values()) expect(checkOwnEnvelope(body)).toBeUndefined();
    expect(byType.get("webhook.suspended")?.data).toMatchObject({ webhook_id: id, reason: "answered 410" });
    expect(byType.get("webhook.delivery_dead")?.data).toMatchObject({
      delivery_id: expect.stringMatching(/^dlv_/),
      event_id: "order-1",
      event_type: "order.created",
      subscription_id: id,
      reason: "gone",
      attempts: 1,
    });
    await gateway.settled();
    expect(news.requests.filter(({ path }) => path === "/stranger")).toEqual([]);
    expect(
      news.requests.filter(({ path }) => path === "/all").map(({ headers }) => headers["x-webhook-event"]),
    ).toEqual(["order.created"]);
  });

  // shows: B45
  it("is the mode, when the destination goes down and when it is back", async () => {
    const { gateway, sink } = await open();
    sink.answerWith({ status: 503 });
    const retry_policy = { delays_s: Array.from({ length: 50 }, () => 0) };
    await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"], retry_policy });
    await gateway.publish({ event_type: "order.created", payload: {} });
    const queueing = await toldOnce(gateway, "gateway.mode_changed");
    expect(queueing.payload).toMatchObject({
      target: "shop",
      mode: "QUEUE",
      previous_mode: "NORMAL",
      reason: "answered 503",
    });
    expect((await gateway.get("/status")).json["mode"]).toBe("QUEUE");
    sink.answerWith({ status: 200 });
    await gateway.moveClockUntil(async () => (await told(gateway, "gateway.mode_changed")).length === 2);
    expect((await told(gateway, "gateway.mode_changed"))[1]?.payload).toMatchObject({
      mode: "NORMAL",
      previous_mode: "QUEUE",
    });
    expect((await gateway.get("/status")).json["mode"]).toBe("NORMAL");
  });

  it("is a dead delivery only where somebody asks for it, by pattern and filter", async () => {
    const { gateway, sink } = await open();
    sink.answerWith(({ path }) => ({ status: path === "/news" ? 200 : 400 }));
    await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"], concurrency: 1 });
    const die = async (event_id: string, event_type = "order.created") => {
      await gateway.publish({ event_type, payload: {}, event_id });
      await until(async () => (await gateway.deliveryOf(event_id)).status === "dead");
    };
    await die("unheard");
    expect(await told(gateway, "webhook.delivery_dead")).toEqual([]);
    await gateway.subscribe({
      name: "watch",
      url: `${sink.url}/news`,
      events: ["webhook.delivery_dead"],
      event_filter: { data: { event_type: "order.paid" } },
    });
    await die("filtered");
    await die("wanted", "order.paid");
    await gateway.settled();
    expect((await told(gateway, "webhook.delivery_dead")).map(({ payload }) => payload["event_id"])).toEqual([
      "wanted",
    ]);
  });

  it("is also what died without an attempt", async () => {
    const { gateway, sink } = await open();
    await gateway.subscribe({ name: "watch", url: sink.url, events: ["webhook.delivery_dead"] });
    const { id } = await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"], status: "inactive" });
    const expires_at = new Date(gateway.now() + 3_600_000).toISOString();
    await gateway.publish({ event_type: "order.created", payload: {}, event_id: "late", expires_at });
    gateway.moveClock(3_600_000);
    const dead = await toldOnce(gateway, "webhook.delivery_dead");
    expect(dead.payload).toMatchObject({ event_id: "late", subscription_id: id, reason: "expired", attempts: 0 });
    // What somebody cancels is no death.
    await gateway.publish({ event_type: "order.created", payload: {}, event_id: "cancelled" });
    await gateway.post(`/api/v1/deliveries/${(await gateway.deliveryOf("cancelled")).id}/cancel`);
    await gateway.settled();
    expect(await told(gateway, "webhook.delivery_dead")).toHaveLength(1);
  });

  it.each([
    { status: 400, end: "suspended" },
    { status: 503, end: "QUEUE, then NORMAL" },
  ])("does not grow out of itself, whether it is rejected or the destination is down: $status", async ({ status }) => {
    const { gateway, sink } = await open();
    sink.answerWith({ status });
    const own = ["webhook.*", "gateway.#", "source.*", "alert.*", "test.event"];
    const retry_policy = { delays_s: [0, 0, 0, 0] };
    const { id } = await gateway.subscribe({ name: "own", url: sink.url, events: own, concurrency: 1, retry_policy });
    const other = await gateway.subscribe({ name: "other", url: sink.url, events: ["order.*"] });
    // Each pause and resume is told, dies at the destination, and that is all.
    for (let n = 0; n < 12; n++) {
      await gateway.post(`/api/v1/subscriptions/${other.id}/pause`);
      await gateway.post(`/api/v1/subscriptions/${other.id}/resume`);
    }
    if (status === 400) {
      await until(async () => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"] === "suspended");
    } else {
      await until(async () => (await gateway.get("/status")).json["mode"] === "QUEUE");
      sink.answerWith({ status: 200 });
      await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["mode"] === "NORMAL");
      await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    }
    const types = (await allEvents(gateway)).map(({ event_type }) => event_type);
    expect(new Set(types)).toEqual(new Set(["webhook.resumed"]));
    expect(types).toHaveLength(12);
  });

  it("reaches a tenant that is over its quota", async () => {
    const yaml = `tenants:\n  - { id: default, quotas: { events_per_minute: 1 } }\n`;
    const { gateway, sink } = await open({ yaml });
    sink.answerWith({ status: 410 });
    await gateway.subscribe({ name: "shop", url: sink.url, events: ["order.*"] });
    expect((await gateway.publish({ event_type: "order.created", payload: {} })).status).toBe(202);
    expect((await gateway.publish({ event_type: "order.created", payload: {} })).status).toBe(429);
    await toldOnce(gateway, "webhook.suspended");
  });
});

describe("what the gateway tells of sources", () => {
  const source = (status: string) => `sources:\n  - { name: shop, tenant_id: acme, status: ${status} }\n`;

  it("is that one is paused or closed, or left the configuration", async () => {
    const { gateway } = await open({ yaml: source("active") });
    await gateway.reload(source("paused"));
    expect(await toldOnce(gateway, "source.disabled")).toMatchObject({
      tenant_id: "acme",
      payload: { source: "shop", status: "paused" },
    });
    await gateway.reload(source("paused"));
    await gateway.reload(source("active"));
    await gateway.reload(source("closed"));
    await until(async () => (await told(gateway, "source.disabled")).length === 2);
    await gateway.reload(source("active"));
    await gateway.reload("");
    await until(async () => (await told(gateway, "source.disabled")).length === 3);
    expect((await told(gateway, "source.disabled"))[2]?.payload).toMatchObject({
      status: "paused",
      reason: "it left the configuration",
    });
  });

  it("reaches subscribers, with the change itself", async () => {
    const { gateway, sink } = await open();
    await gateway.subscribe({ name: "watch", url: sink.url, events: ["source.disabled"] });
    await gateway.post("/api/v1/sources", { name: "shop" });
    expect((await gateway.post("/api/v1/sources/shop/pause")).status).toBe(200);
    // Nobody waits for it: it is there when the answer is.
    expect(await told(gateway, "source.disabled")).toHaveLength(1);
    const [request] = await sink.received(1);
    expect(JSON.parse(String(request?.body))).toMatchObject({ data: { source: "shop", status: "paused" } });
  });

  it("reaches subscribers also when it left while the gateway was down", async () => {
    const { gateway, sink } = await open({ yaml: source("active") });
    await gateway.subscribe({ name: "watch", url: sink.url, events: ["source.disabled"], tenant_id: "acme" });
    await gateway.restart({ yaml: "" });
    const [request] = await sink.received(1);
    expect(JSON.parse(String(request?.body))).toMatchObject({ event: "source.disabled", data: { source: "shop" } });
  });
});

async function allEvents(gateway: TestGateway): Promise<{ event_type: string }[]> {
  return (await gateway.get("/api/v1/events?limit=500")).json["data"] as { event_type: string }[];
}
