import { afterEach, describe, expect, it } from "vitest";
import { createAccessLog } from "../../src/telemetry/activity.ts";
import { createLogger } from "../../src/telemetry/logger.ts";
import { until } from "../support/api-client.ts";
import { createMemoryBroker } from "../support/memory-queue.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const TOKEN = "canary-of-the-sender-0123";
const YAML = `
any_source: false
sources:
  - { name: shop, event_type: shop.order, max_bytes: 100 }
  - { name: closed, auth: { header: x-token, token: ${TOKEN} } }
`;

describe("the access log", () => {
  let gateway: TestGateway;
  afterEach(() => gateway.close());

  async function start(env: NonNullable<TestGatewayOptions["env"]>): Promise<void> {
    gateway = await startTestGateway({ yaml: YAML, env });
  }

  const lines = (msg: string) => gateway.log.filter((line) => line.msg === msg);

  it("has a line for each webhook, accepted or rejected, and for each attempt", async () => {
    const sink = await openSinkServer();
    await start({ LOG_LEVEL: "debug" });
    await gateway.subscribe({ name: "warehouse", url: `${sink.url}?key=${TOKEN}` });
    const id = (await gateway.webhook(`shop?key=${TOKEN}`, '{"card":"canary-of-the-body"}')).json["event_id"];
    await gateway.webhook("shop", "{");
    await gateway.webhook("closed", "{}", { "x-token": `not-${TOKEN}` });
    await gateway.webhook("nobody%0a%1b[31m/more", "{}");
    await gateway.webhook("shop", JSON.stringify({ long: "x".repeat(200) }));
    const published = await gateway.publish({ event_type: "order.made", payload: {} });
    await sink.received(2);
    await gateway.settled();
    await until(() => lines("attempt ended").length === 2 && lines("webhook answered").length === 5);

    const facts = { level: "debug", ms: expect.any(Number) };
    expect(lines("webhook answered")).toMatchObject([
      { ...facts, source: "shop", status: 202, outcome: "accepted", event_id: id },
      { ...facts, source: "shop", status: 400, outcome: expect.any(String) },
      { ...facts, source: "closed", status: 401 },
      { ...facts, source: "nobody%0a%1b[31m", status: 404, outcome: "unknown_source" },
      { ...facts, source: "shop", status: 413, outcome: "too_large" },
    ]);
    const eventId = published.json["event_id"];
    expect(lines("published events answered")).toMatchObject([{ ...facts, status: 202, event_id: eventId }]);
    const delivery = await gateway.deliveryOf(String(id));
    expect(lines("attempt ended")).toContainEqual({
      ...facts,
      time: expect.any(String),
      msg: "attempt ended",
      subscription: "warehouse",
      status: 200,
      outcome: "delivered",
      event_id: id,
      delivery_id: delivery.id,
      attempt: 1,
    });
    expect(gateway.logText()).not.toContain("canary");
    // Requests of the API are for another level.
    expect(lines("request answered")).toEqual([]);
    await sink.close();
  });

  it("has failed attempts with their reason", async () => {
    await start({ LOG_LEVEL: "debug" });
    const retries = { delays_s: [3600] };
    await gateway.subscribe({ name: "away", url: "http://127.0.0.1:1/", retry_policy: retries });
    await gateway.webhook("shop", "{}");
    await until(() => lines("attempt ended").length === 1);
    expect(lines("attempt ended")).toMatchObject([
      { subscription: "away", outcome: "retry", attempt: 1, detail: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  it("has a line for each message of a queue, with what became of it", async () => {
    const broker = createMemoryBroker({ limits: {}, now: Date.now });
    gateway = await startTestGateway({ env: { LOG_LEVEL: "debug" }, sourceKinds: [broker.kind] });
    const declare = (name: string, more: object = {}) =>
      gateway.post("/api/v1/sources", { name, kind: "memory", options: { queue: name }, ...more });
    expect((await declare("orders", { max_bytes: 100 })).status).toBe(201);
    expect((await declare("muted", { only: ["nothing"] })).status).toBe(201);
    const settled = (count: number) => until(() => lines("message settled").length === count);
    const queue = broker.queue("orders");
    const headers = { "content-type": "application/json" };
    queue.send('{"card":"canary-of-the-body"}', { id: "a", headers });
    await settled(1);
    queue.send('{"card":"canary-of-the-body"}', { id: "a", headers });
    await settled(2);
    queue.send(JSON.stringify({ long: "x".repeat(200) }), { id: "b", headers });
    await settled(3);
    broker.queue("muted").send("{}", { id: "c", headers });
    await settled(4);

    const [event] = (await gateway.get("/api/v1/events?source=orders")).json["data"] as { event_id: string }[];
    const facts = { time: expect.any(String), level: "debug", msg: "message settled", ms: expect.any(Number) };
    expect(lines("message settled")).toEqual([
      { ...facts, source: "orders", outcome: "accepted", event_id: event?.event_id },
      { ...facts, source: "orders", outcome: "duplicate", event_id: event?.event_id },
      { ...facts, source: "orders", outcome: "too_large" },
      { ...facts, source: "muted", outcome: "ignored" },
    ]);
    expect(queue.parked).toHaveLength(1);
    expect(gateway.logText()).not.toContain("canary");
  });

  it("has the messages that go back to their queue", async () => {
    const broker = createMemoryBroker({ limits: {}, now: Date.now });
    gateway = await startTestGateway({ env: { LOG_LEVEL: "debug" }, sourceKinds: [broker.kind] });
    const queue = broker.queue("orders");
    queue.canPark = false;
    const source = { name: "orders", kind: "memory", max_bytes: 100, options: { queue: "orders" } };
    expect((await gateway.post("/api/v1/sources", source)).status).toBe(201);
    queue.send("x".repeat(200), { id: "a" });
    await gateway.moveClockUntil(() => lines("message settled").length > 0);
    expect(lines("message settled")[0]).toMatchObject({ source: "orders", outcome: "returned" });
  });

  it("is not written at the level info, nor where it is off; at trace it has the API too", async () => {
    await start({ LOG_LEVEL: "info" });
    await gateway.webhook("shop", "{}");
    for (const env of [{ LOG_LEVEL: "trace", ACCESS_LOG: false }, { LOG_LEVEL: "trace" }]) {
      expect(lines("webhook answered")).toEqual([]);
      await gateway.restart({ env });
      await gateway.webhook("shop", "{}");
      await gateway.get(`/api/v1/events?source=${TOKEN}`);
    }
    await until(() => lines("request answered").length === 1);
    expect(lines("webhook answered")).toHaveLength(1);
    expect(lines("request answered")).toMatchObject([{ level: "trace", method: "GET", path: "/api/v1/events" }]);
    expect(gateway.logText()).not.toContain(TOKEN);
  });

  it("cannot be given another line by the name of a sender", async () => {
    await start({});
    for (const pretty of [false, true]) {
      const written: string[] = [];
      const stdout = { write: (line: string) => written.push(line) };
      const logger = createLogger({ level: "debug", maxBytes: 1e6, keep: 1, pretty, stdout });
      const path = `/webhook/a\n{"level":"fatal"}\u001b[31m\u2028${"x".repeat(5000)}`;
      createAccessLog(logger).request({ method: "POST", path, status: 404, durationMs: 1 });
      logger.close();
      expect(written).toHaveLength(1);
      expect(written[0]?.indexOf("\n")).toBe((written[0]?.length ?? 0) - 1);
      expect(written[0]).not.toContain("\u001b");
      expect(written[0]?.length).toBeLessThan(500);
    }
  });
});
