import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const HOUR_MS = 3_600_000;

describe("what people and times do to deliveries", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const idOf = (answer: { json: Record<string, unknown> }) => String(answer.json["event_id"]);
  const arrived = (name: string) => sink.requests.filter(({ path }) => path === `/${name}`);

  it("an event that matched nobody is replayed to a subscription that came later", async () => {
    const published = await gateway.publish({ event_type: "early.bird", payload: { n: 1 }, event_id: "early" });
    expect(published.json["deliveries"]).toBe(0);
    const late = await gateway.subscribe({ name: "late", url: `${sink.url}/late`, events: ["other.event"] });
    const answer = await gateway.post("/api/v1/events/early/replay", { subscription_id: late.id });
    expect(answer.status).toBe(202);
    await gateway.settled();
    expect(arrived("late").map(({ headers }) => headers["webhook-id"])).toEqual(["early"]);
    expect(await gateway.event("early")).toMatchObject({ status: "COMPLETED", unmatched: false, delivery_count: 1 });
    const none = await gateway.post("/api/v1/events/early/replay", { subscription_id: "sub_none" });
    expect(none.status).toBe(404);
  });

  it("an event is replayed to all who had it, with a new attempt and the same id", async () => {
    await gateway.subscribe({ name: "a", url: `${sink.url}/a`, events: ["twice.told"] });
    await gateway.subscribe({ name: "b", url: `${sink.url}/b`, events: ["twice.told"] });
    const id = idOf(await gateway.publish({ event_type: "twice.told", payload: {} }));
    await gateway.settled();
    for (const body of [undefined, {}]) {
      const answer = await gateway.post(`/api/v1/events/${id}/replay`, body);
      expect(answer.status).toBe(202);
      expect(answer.json["deliveries"]).toHaveLength(2);
      await gateway.settled();
    }
    for (const name of ["a", "b"]) {
      expect(arrived(name).map(({ headers }) => [headers["webhook-id"], headers["x-webhook-attempt"]])).toEqual([
        [id, "1"],
        [id, "2"],
        [id, "3"],
      ]);
    }
    const { deliveries } = await gateway.event(id);
    expect(deliveries.map(({ generation, attempt_count }) => [generation, attempt_count])).toEqual([
      [3, 3],
      [3, 3],
    ]);
  });

  it("a delivery that waits is cancelled, and stays so", async () => {
    const paused = await gateway.subscribe({
      name: "paused",
      url: `${sink.url}/paused`,
      events: ["to.cancel"],
      status: "inactive",
    });
    const id = idOf(await gateway.publish({ event_type: "to.cancel", payload: {} }));
    const { id: delivery } = await gateway.deliveryOf(id);
    const answer = await gateway.post(`/api/v1/deliveries/${delivery}/cancel`);
    expect([answer.status, answer.json["status"]]).toEqual([200, "cancelled"]);
    const again = await gateway.post(`/api/v1/deliveries/${delivery}/cancel`);
    expect([again.status, again.json["code"]]).toEqual([409, "illegal_transition"]);
    await gateway.post(`/api/v1/subscriptions/${paused.id}/resume`);
    await gateway.settled();
    expect(arrived("paused")).toHaveLength(0);
    // Only a person opens it again.
    expect((await gateway.post(`/api/v1/deliveries/${delivery}/retry`)).status).toBe(202);
    await gateway.settled();
    expect(arrived("paused")).toHaveLength(1);
  });

  it("a delivery that is being sent when it is cancelled stays cancelled", async () => {
    let release: () => void = () => undefined;
    const after = new Promise<void>((resolve) => (release = resolve));
    const slow = await openSinkServer({ answer: { status: 500, after } });
    await gateway.subscribe({ name: "slow", url: slow.url, events: ["in.flight"], retry_policy: { delays_s: [0.01] } });
    const id = idOf(await gateway.publish({ event_type: "in.flight", payload: {} }));
    await slow.received(1);
    const { id: delivery } = await gateway.deliveryOf(id);
    expect((await gateway.post(`/api/v1/deliveries/${delivery}/cancel`)).status).toBe(200);
    release();
    await until(async () => (await gateway.delivery(delivery)).attempts.length === 1);
    expect((await gateway.delivery(delivery)).status).toBe("cancelled");
    expect(slow.requests).toHaveLength(1);
    await slow.close();
  });

  it("an event waits for its deliver_at, over a restart too", async () => {
    await gateway.subscribe({ name: "timed", url: `${sink.url}/timed`, events: ["in.time"] });
    const at = gateway.now() + HOUR_MS;
    const event = { event_type: "in.time", payload: {}, deliver_at: new Date(at).toISOString() };
    const id = idOf(await gateway.publish(event));
    const past = await gateway.publish({ ...event, deliver_at: "2001-01-01T00:00:00Z" });
    await until(() => arrived("timed").length === 1);
    expect(arrived("timed")[0]?.headers["webhook-id"]).toBe(idOf(past));
    expect(await gateway.event(id)).toMatchObject({ status: "PENDING", deliver_at: new Date(at).toISOString() });
    await gateway.restart();
    expect(await gateway.event(id)).toMatchObject({ status: "PENDING" });
    gateway.moveClock(HOUR_MS);
    await until(() => arrived("timed").length === 2);
    expect(gateway.now()).toBeGreaterThanOrEqual(at);
  });

  it("more urgent events overtake those that wait, and none starves", async () => {
    const target = await openSinkServer({ answer: { status: 200, delayMs: 5 } });
    const { id } = await gateway.subscribe({
      name: "urgent",
      url: target.url,
      events: ["prio.*"],
      status: "inactive",
      concurrency: 1,
    });
    const publish = (priority: string, n: number) =>
      gateway.publish({ event_type: "prio.event", priority, payload: { priority, n } });
    for (const priority of ["low", "normal", "high", "critical"])
      for (let n = 0; n < 3; n++) await publish(priority, n);
    await gateway.post(`/api/v1/subscriptions/${id}/resume`);
    await target.received(12);
    const order = target.requests.map(
      ({ body }) => (JSON.parse(body.toString()) as { data: { priority: string } }).data.priority,
    );
    expect(order).toEqual(["critical", "high", "normal", "low"].flatMap((priority) => Array(3).fill(priority)));
    await gateway.settled();
    await target.close();
  });

  // shows: C27
  it("no more goes out at once, or per minute, than the subscription allows", async () => {
    let open = 0;
    let most = 0;
    const target = await openSinkServer({
      answer: () => {
        most = Math.max(most, ++open);
        setTimeout(() => open--, 18);
        return { status: 200, delayMs: 20 };
      },
    });
    await gateway.subscribe({ name: "narrow", url: target.url, events: ["narrow.event"], concurrency: 3 });
    await gateway.publish(Array.from({ length: 60 }, () => ({ event_type: "narrow.event", payload: {} })));
    await gateway.settled();
    expect(most).toBeLessThanOrEqual(3);
    await target.close();

    const limited = await openSinkServer();
    const startedAt = performance.now();
    await gateway.subscribe({ name: "limited", url: limited.url, events: ["limited.event"], rate_limit: 600 });
    await gateway.publish(Array.from({ length: 30 }, () => ({ event_type: "limited.event", payload: {} })));
    await limited.received(30);
    // Ten a second, after what a full bucket may hold.
    expect(performance.now() - startedAt).toBeGreaterThan(1500);
    await gateway.settled();
    await limited.close();
  });
});
