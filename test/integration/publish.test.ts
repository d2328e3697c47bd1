import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("publishing events", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    await gateway.subscribe({ name: "orders", url: sink.url, events: ["order.*"] });
    await gateway.subscribe({ name: "all of acme", url: sink.url, tenant_id: "acme", events: ["*"] });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const raw = (body: string) =>
    gateway.request("POST", "/api/v1/events", { body, headers: { "content-type": "application/json" } });

  it("answers 202 with the id it was given or made, and the number of deliveries", async () => {
    const made = await gateway.publish({ event_type: "order.created", payload: { n: 1 } });
    expect(made.status).toBe(202);
    expect(made.json).toEqual({ event_id: expect.stringMatching(/^evt_/), deliveries: 1, duplicate: false });
    const given = await gateway.publish({ event_type: "order.created", payload: {}, event_id: "order:1_a-b" });
    expect(given.json).toEqual({ event_id: "order:1_a-b", deliveries: 1, duplicate: false });
  });

  // shows: C18
  it("reads back every field as it was published", async () => {
    const event = {
      event_type: "order.shipped",
      event_id: "all-fields",
      event_version: "2.1",
      source: "shop",
      source_id: "row-7",
      user_id: 12345678901234567890n,
      session_id: "s-1",
      timestamp: "2026-01-31T12:00:00.250+01:00",
      priority: "low",
      ordering_key: "order-7",
      expires_at: "2099-01-01T00:00:00Z",
    };
    const text = JSON.stringify({ ...event, user_id: 0 }).replace('"user_id":0', `"user_id":${event.user_id}`);
    const answer = await raw(
      `${text.slice(0, -1)},"metadata":{"big":9007199254740993,"a":1},"payload":{"id": 9007199254740993}}`,
    );
    expect(answer.status).toBe(202);
    const shown = await gateway.get("/api/v1/events/all-fields");
    expect(shown.json).toMatchObject({
      ...event,
      user_id: "12345678901234567890",
      timestamp: "2026-01-31T11:00:00.250Z",
      expires_at: "2099-01-01T00:00:00.000Z",
      tenant_id: "default",
      content_type: "application/json",
      unmatched: false,
    });
    // The bytes of the payload, not a number that was read and written again.
    expect(shown.text).toContain('"payload":{"id": 9007199254740993}');
    expect(shown.json["published_at"]).toMatch(/^\d{4}-/);
  });

  it("changes nothing when an id is known in the tenant, and knows none of other tenants", async () => {
    const event = { event_type: "order.created", payload: { n: 1 }, event_id: "once" };
    expect((await gateway.publish(event)).json["duplicate"]).toBe(false);
    const again = await gateway.publish({ ...event, payload: { n: 2 }, event_type: "other.type" });
    expect(again.status).toBe(202);
    expect(again.json).toMatchObject({ event_id: "once", duplicate: true });
    expect(await gateway.event("once")).toMatchObject({ event_type: "order.created", payload: { n: 1 } });
    expect((await gateway.publish({ ...event, tenant_id: "acme" })).json["duplicate"]).toBe(false);
  });

  it("takes ids of the full length and any allowed character, and finds them again", async () => {
    const id = `${"x:_-".repeat(31)}abcd`;
    expect((await gateway.publish({ event_type: "order.created", payload: {}, event_id: id })).status).toBe(202);
    expect((await gateway.event(id)).event_id).toBe(id);
  });

  it("answers a batch item by item, in its order, and stores the good ones", async () => {
    const answer = await gateway.publish([
      { event_type: "order.created", payload: { n: 1 }, event_id: "batch-1" },
      { event_type: "not a type", payload: {} },
      { event_type: "order.created", payload: { n: 1 }, event_id: "batch-1" },
      { event_type: "order.created", payload: { n: 2 }, tenant_id: 7 },
      5,
    ]);
    expect(answer.status).toBe(202);
    expect(answer.json["events"]).toEqual([
      { event_id: "batch-1", deliveries: 1, duplicate: false },
      expect.objectContaining({ code: "invalid_field", field: "event_type", status: 422, index: 1 }),
      { event_id: "batch-1", deliveries: 0, duplicate: true },
      { event_id: expect.any(String), deliveries: 0, duplicate: false },
      expect.objectContaining({ code: "invalid_field", index: 4 }),
    ]);
    expect((await gateway.publish([])).json).toEqual({ events: [] });
    expect(
      (await gateway.publish(Array.from({ length: 1000 }, () => ({ event_type: "a.b", payload: {} })))).status,
    ).toBe(202);
  });

  it("binds a key to its tenant", async () => {
    const acme = gateway.as(await gateway.createKey(["publish", "read"], "acme"));
    const own = await acme.publish({ event_type: "order.created", payload: {}, event_id: "bound" });
    expect(own.json["deliveries"]).toBe(1);
    expect((await acme.event("bound"))["tenant_id"]).toBe("acme");
    expect((await acme.publish({ event_type: "a.b", payload: {}, tenant_id: "acme" })).status).toBe(202);
    const other = await acme.publish({ event_type: "a.b", payload: {}, tenant_id: "default" });
    expect([other.status, other.json["field"]]).toEqual([403, "tenant_id"]);
  });

  // shows: C44
  it("says when nobody wants an event, keeps it, and logs it once a minute for each type", async () => {
    for (let i = 0; i < 3; i++) {
      const answer = await gateway.publish({ event_type: "nobody.cares", payload: {}, event_id: `unmatched-${i}` });
      expect(answer.json["deliveries"]).toBe(0);
    }
    expect(await gateway.event("unmatched-1")).toMatchObject({ unmatched: true, status: "COMPLETED", deliveries: [] });
    const lines = gateway.log.filter(({ msg, event_type }) => /nobody/.test(msg) && event_type === "nobody.cares");
    expect(lines).toHaveLength(1);
  });

  it("takes times with any fraction of a second", async () => {
    for (const time of ["2026-11-15T10:00:00.1Z", "2026-11-15T10:00:00.123456789Z", "2026-11-15T10:00:00,5Z"]) {
      const answer = await gateway.publish({ event_type: "a.b", payload: {}, timestamp: time, deliver_at: time });
      expect([time, answer.status]).toEqual([time, time.includes(",") ? 422 : 202]);
    }
  });

  it("is open at the path with a slash or a query, too", async () => {
    const event = { event_type: "a.b", payload: {} };
    expect((await gateway.post("/api/v1/events?trace=1", event)).status).toBe(202);
    expect((await gateway.post("/api/v1/events/", event)).status).toBe(202);
  });
});
