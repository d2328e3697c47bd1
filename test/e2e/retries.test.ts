import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkAnswer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("a delivery that fails", () => {
  let gateway: TestGateway;
  const sinks: SinkServer[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(async () => {
    await gateway.close();
    await Promise.all(sinks.map((sink) => sink.close()));
  });

  /** A subscription of its own to an event type of its own, and one event for it. */
  async function deliver(name: string, answers: SinkAnswer[], settings: object = {}, event: object = {}) {
    const last = answers.at(-1) ?? { status: 200 };
    const sink = await openSinkServer({ answer: (_, index) => answers[index] ?? last });
    sinks.push(sink);
    const event_type = `${name}.happened`;
    const retry_policy = { delays_s: [0.02, 0.02] };
    const subscription = await gateway.subscribe({
      name,
      url: sink.url,
      events: [event_type],
      retry_policy,
      ...settings,
    });
    const { json } = await gateway.publish({ event_type, payload: { name }, ...event });
    const eventId = String(json["event_id"]);
    const find = () => gateway.deliveryOf(eventId);
    const ended = async () => {
      await until(async () => !["pending", "sending"].includes((await find()).status));
      return find();
    };
    return { sink, subscription, eventId, find, ended };
  }

  it("is tried again, with its number, the same id and the same bytes", async () => {
    // The reset comes on a connection of its own: one that was idle may have been closed before it was used again.
    const answers: SinkAnswer[] = [{ status: 500, headers: { connection: "close" } }, "reset", { status: 200 }];
    const { sink, eventId, ended } = await deliver("again", answers);
    const delivery = await ended();
    expect(delivery).toMatchObject({ status: "delivered", attempt_count: 3, last_error: null });
    expect(delivery.attempts.map(({ result, trigger }) => `${result} ${trigger}`)).toEqual([
      "failed first",
      "connection_error retry",
      "success retry",
    ]);
    expect(sink.requests.map(({ headers }) => headers["x-webhook-attempt"])).toEqual(["1", "2", "3"]);
    expect(new Set(sink.requests.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([eventId]));
    expect(new Set(sink.requests.map(({ body }) => body.toString())).size).toBe(1);
  });

  // shows: A21
  it("becomes a dead letter when the tries are used up, and says so", async () => {
    const { ended, eventId } = await deliver("exhausted", [{ status: 500, body: "broken" }]);
    expect(await ended()).toMatchObject({
      status: "dead",
      dead_reason: "retries_exhausted",
      attempt_count: 3,
      last_error: "answered 500",
    });
    expect((await gateway.event(eventId)).status).toBe("FAILED");
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "delivery is dead", event_id: eventId, reason: "retries_exhausted" }),
    );
  });

  it.each([400, 401, 404, 422, 501])("is tried or not as %s says", async (status) => {
    const { ended, sink } = await deliver(`status-${status}`, [{ status }]);
    const delivery = await ended();
    expect(delivery.dead_reason).toBe(status < 500 ? "refused" : "retries_exhausted");
    expect(sink.requests).toHaveLength(status < 500 ? 1 : 3);
  });

  it("counts more answers as failures where the subscription says so", async () => {
    const retry_on = { statuses: [404], body_contains: "starting up" };
    const answers: SinkAnswer[] = [
      { status: 404 },
      { status: 200, body: "n8n is starting up. Please wait" },
      { status: 200 },
    ];
    const { ended } = await deliver("retry-on", answers, { retry_on });
    const delivery = await ended();
    expect(delivery.attempts.map(({ result }) => result)).toEqual(["failed", "failed", "success"]);
  });

  it("waits for as long as Retry-After asks, and never less than its step", async () => {
    const { find, sink } = await deliver("pacing", [{ status: 429, headers: { "retry-after": "600" } }]);
    await sink.received(1);
    await until(async () => (await find()).status === "pending");
    const delivery = await find();
    const [attempt] = delivery.attempts;
    const endedAt = Date.parse(attempt?.started_at ?? "") + Number(attempt?.["duration_ms"]);
    const waitS = (Date.parse(String(delivery["next_attempt_at"])) - endedAt) / 1000;
    expect(waitS).toBeGreaterThanOrEqual(599);
    // Not the next step of any schedule, which would be an hour.
    expect(waitS).toBeLessThan(1000);
    const ignored = await deliver("not-pacing", [{ status: 500, headers: { "retry-after": "600" } }, { status: 200 }]);
    expect((await ignored.ended()).status).toBe("delivered");
  });

  it("is made due at once by a retry by hand", async () => {
    const { find, ended, sink } = await deliver("by-hand", [{ status: 500 }, { status: 200 }], {
      retry_policy: { delays_s: [600] },
    });
    await sink.received(1);
    await until(async () => (await find()).status === "pending");
    const answer = await gateway.post(`/api/v1/deliveries/${(await find()).id}/retry`);
    expect(answer.status).toBe(202);
    expect((await ended()).attempts.map(({ trigger }) => trigger)).toEqual(["first", "manual"]);
  });

  it("ends with 410, suspends the subscription, and holds what comes next", async () => {
    const { ended, subscription, sink } = await deliver("gone", [{ status: 410 }]);
    expect(await ended()).toMatchObject({ status: "dead", dead_reason: "gone" });
    const path = `/api/v1/subscriptions/${subscription.id}`;
    await until(async () => (await gateway.get(path)).json["status"] === "suspended");
    const { json } = await gateway.publish({ event_type: "gone.happened", payload: {} });
    const [held] = (await gateway.event(String(json["event_id"]))).deliveries;
    expect(held).toMatchObject({ status: "pending", hold_reason: "suspended" });
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ msg: "subscription is suspended", subscription: "gone" }),
    );
    sink.answerWith({ status: 200 });
    await gateway.post(`${path}/resume`);
    await until(async () => (await gateway.delivery(held?.id ?? "")).status === "delivered");
  });

  // shows: C10
  it("ends when its time is over: max_age_s of the subscription, expires_at of the event", async () => {
    const retry_policy = { delays_s: [4000] };
    const old = await deliver("aged", [{ status: 500 }], { max_age_s: 3600, retry_policy });
    const expires_at = new Date(gateway.now() + 3_600_000).toISOString();
    const expired = await deliver("expired", [{ status: 500 }], { retry_policy }, { expires_at });
    for (const one of [old, expired]) await until(async () => (await one.find()).attempt_count === 1);
    gateway.moveClock(4_000_000);
    for (const one of [old, expired]) {
      expect(await one.ended()).toMatchObject({ status: "dead", dead_reason: "expired", attempt_count: 1 });
    }
    const late = await deliver("late", [{ status: 200 }], {}, { expires_at: "2020-01-01T00:00:00Z" });
    expect(await late.ended()).toMatchObject({ status: "dead", dead_reason: "expired", attempt_count: 0 });
    expect(late.sink.requests).toHaveLength(0);
    // Wanted all the same: by hand it goes.
    const answer = await gateway.post(`/api/v1/deliveries/${(await late.find()).id}/retry`);
    expect(answer.status).toBe(202);
    await until(async () => (await late.find()).status === "delivered");
  });

  it("that had expired before it came is not sent, however idle its subscription is", async () => {
    const { sink } = await deliver("idle", [{ status: 200 }]);
    for (let round = 0; round < 5; round++) {
      await gateway.publish({ event_type: "idle.happened", payload: {} });
      await sink.received(2 + round);
      await until(async () => (await gateway.deliveries("status=sending")).length === 0);
      const expires_at = new Date(gateway.now() - 1000).toISOString();
      const { json } = await gateway.publish({ event_type: "idle.happened", payload: {}, expires_at });
      await until(async () => (await gateway.deliveryOf(String(json["event_id"]))).status === "dead");
    }
    expect(sink.requests).toHaveLength(6);
  });

  it("that may not reach its address is blocked, not tried", async () => {
    const strict = await startTestGateway();
    await strict.subscribe({ name: "inside", url: "http://127.0.0.1:9/", events: ["*"] });
    await strict.restart({ env: { ALLOW_PRIVATE_DESTINATIONS: false } });
    await strict.publish({ event_type: "a.b", payload: {} });
    await until(async () => (await strict.deadLetters()).length === 1);
    expect((await strict.deadLetters())[0]).toMatchObject({ dead_reason: "blocked", attempt_count: 1 });
    await strict.close();
  });

  // shows: C26
  it("that hangs is cut off at the subscription's timeout", async () => {
    const { sink, find, ended } = await deliver("hanging", ["hang", { status: 200 }], { timeout: 300 });
    await sink.received(1);
    gateway.moveClock(240_000);
    expect(await find()).toMatchObject({ status: "sending" });
    gateway.moveClock(60_000);
    const delivery = await ended();
    expect(delivery.attempts.map(({ result }) => result)).toEqual(["timeout", "success"]);
  });
});

describe("a destination that is down", () => {
  it("gets one probe at a time, and everything that waited when it is back", async () => {
    const sink = await openSinkServer({ answer: { status: 503 } });
    const gateway = await startTestGateway();
    await gateway.subscribe({ name: "down", url: sink.url });
    for (let n = 0; n < 20; n++) await gateway.webhook("any", `{"n":${n}}`);
    await until(async () => (await gateway.get("/status")).json["mode"] === "QUEUE");
    for (let n = 20; n < 50; n++) await gateway.webhook("any", `{"n":${n}}`);
    // Now and then one is tried, of those that came first: none of those that came while it was down.
    expect(sink.requests.filter(({ body }) => (JSON.parse(body.toString()) as { n: number }).n >= 20)).toEqual([]);
    const tries = sink.requests.length;
    sink.answerWith({ status: 200 });
    gateway.moveClock(600_000);
    await gateway.settled();
    await until(async () => (await gateway.get("/status")).json["mode"] === "NORMAL");
    const delivered = new Set(sink.requests.slice(tries).map(({ body }) => body.toString()));
    expect(delivered.size).toBe(50);
    expect(gateway.log.map(({ msg }) => msg)).toContain("destination is back");
    await Promise.all([gateway.close(), sink.close()]);
  });
});
