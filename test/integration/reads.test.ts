import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient, ShownDelivery, ShownEvent } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const EVENTS = 25;

describe("reading events and deliveries", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  const ids: string[] = [];

  beforeAll(async () => {
    sink = await openSinkServer({
      answer: ({ body }) =>
        JSON.parse(body.toString()).n % 5 === 0 ? { status: 400, body: "no, thanks" } : { status: 200 },
    });
    gateway = await startTestGateway();
    await gateway.subscribe({ name: "numbers", url: sink.url, events: ["webhook.numbers"] });
    for (let n = 0; n < EVENTS; n++) {
      const answer = await gateway.webhook("numbers", JSON.stringify({ n }));
      ids.push(String(answer.json["event_id"]));
    }
    await gateway.publish({ event_type: "other.event", payload: {}, tenant_id: "acme" });
    await gateway.settled();
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  async function pages<Row>(client: ApiClient, path: string, limit: number): Promise<Row[][]> {
    const found: Row[][] = [];
    let cursor = "";
    for (;;) {
      const { json, status } = await client.get(`${path}${path.includes("?") ? "&" : "?"}limit=${limit}${cursor}`);
      expect(status).toBe(200);
      found.push(json["data"] as Row[]);
      if (json["next_cursor"] === null) return found;
      cursor = `&cursor=${String(json["next_cursor"])}`;
    }
  }

  it("lists events from the newest on, page by page, each once", async () => {
    const found = await pages<ShownEvent>(gateway, "/api/v1/events?source=numbers", 10);
    expect(found.map((page) => page.length)).toEqual([10, 10, 5]);
    expect(found.flat().map(({ event_id }) => event_id)).toEqual(ids.toReversed());
    const whole = await pages<ShownEvent>(gateway, "/api/v1/events?source=numbers", EVENTS);
    expect(whole).toHaveLength(1);
  });

  it("lists events by type, tenant and time", async () => {
    const count = async (query: string) => (await pages(gateway, `/api/v1/events?${query}`, 500)).flat().length;
    expect(await count("event_type=webhook.numbers")).toBe(EVENTS);
    expect(await count("tenant_id=acme")).toBe(1);
    expect(await count("event_type=none.such")).toBe(0);
    expect(await count("since=2999-01-01T00:00:00Z")).toBe(0);
    expect(await count("until=2999-01-01T00:00:00Z")).toBe(EVENTS + 1);
  });

  // shows: C3
  it("shows one event with its deliveries, its body and its status", async () => {
    const good = await gateway.event(ids[1] ?? "");
    expect(good).toMatchObject({
      status: "COMPLETED",
      payload: { n: 1 },
      headers: { "content-type": "application/json" },
    });
    expect(good.deliveries).toHaveLength(1);
    const bad = await gateway.event(ids[5] ?? "");
    expect(bad.status).toBe("FAILED");
    expect(bad.deliveries[0]).toMatchObject({ status: "dead", dead_reason: "refused", attempt_count: 1 });
  });

  // shows: C39
  it("shows a delivery with what was sent and what came back", async () => {
    const delivery = await gateway.deliveryOf(ids[5] ?? "");
    expect(delivery.attempts).toEqual([
      expect.objectContaining({
        number: 1,
        result: "failed",
        response_code: 400,
        response_body: "no, thanks",
        trigger: "first",
        url: `${sink.url}/`,
        address: "127.0.0.1",
        error: "answered 400",
        request_headers: expect.objectContaining({ "X-Webhook-ID": delivery.id, "X-Webhook-Attempt": "1" }),
      }),
    ]);
  });

  it("lists deliveries and dead letters by state and subscription, page by page", async () => {
    expect((await pages<ShownDelivery>(gateway, "/api/v1/deliveries", 7)).flat()).toHaveLength(EVENTS);
    expect(await gateway.deliveries("status=delivered")).toHaveLength(20);
    expect(await gateway.deliveries("status=dead")).toHaveLength(5);
    const dead = await pages<ShownDelivery>(gateway, "/api/v1/dead-letters", 2);
    expect(dead.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(new Set(dead.flat().map(({ id }) => id)).size).toBe(5);
    const subscription = dead[0]?.[0]?.subscription_id ?? "";
    expect(await gateway.deadLetters(`subscription_id=${subscription}`)).toHaveLength(5);
  });

  // shows: C30
  it("counts what was done for each subscription", async () => {
    const { json } = await gateway.get("/api/v1/subscriptions");
    expect((json["data"] as { stats: object }[])[0]?.stats).toMatchObject({
      delivery_count: EVENTS,
      success_count: 20,
      failure_count: 5,
      last_delivery: expect.any(String),
      open_count: 0,
      dead_count: 5,
    });
  });

  // shows: C50
  it("replays a dead letter, which ends again, and rejects the replay of a delivery that is not dead", async () => {
    const [dead] = await gateway.deadLetters();
    sink.answerWith({ status: 204 });
    const answer = await gateway.post("/api/v1/dead-letters/replay", { id: dead?.id });
    expect([answer.status, answer.json["status"]]).toEqual([202, expect.stringMatching(/pending|sending|delivered/)]);
    await gateway.settled();
    const delivery = await gateway.delivery(dead?.id ?? "");
    expect(delivery).toMatchObject({ status: "delivered", attempt_count: 2, generation: 2, dead_reason: null });
    expect(delivery.attempts.map(({ trigger }) => trigger)).toEqual(["first", "replay"]);
    const again = await gateway.post("/api/v1/dead-letters/replay", { id: dead?.id });
    expect([again.status, again.json["code"]]).toEqual([409, "illegal_transition"]);
    expect(await gateway.deadLetters()).toHaveLength(4);
  });

  it("sees nothing of another tenant with a bound key", async () => {
    const acme = gateway.as(await gateway.createKey(["admin"], "acme"));
    expect((await pages(acme, "/api/v1/events", 500)).flat()).toHaveLength(1);
    expect((await pages(acme, "/api/v1/events?tenant_id=default", 500)).flat()).toHaveLength(1);
    expect(await acme.deliveries()).toEqual([]);
    expect(await acme.deadLetters()).toEqual([]);
    expect((await acme.get(`/api/v1/events/${ids[0]}`)).status).toBe(404);
  });
});
