import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { checkOwnEnvelope } from "../support/own-event-document.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { verifyPlain } from "../support/verify-signature.ts";

describe("a test delivery", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const subscribe = (settings: object = {}) =>
    gateway.subscribe({ name: `t-${++number}`, url: sink.url, events: ["never.once"], ...settings });
  const test = ({ id }: { id: string }): Promise<Answer> => gateway.post(`/api/v1/subscriptions/${id}/test`);
  const statusOf = async ({ id }: { id: string }) => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"];
  const modeOf = async (name: unknown) => {
    const targets = (await gateway.get("/status")).json["targets"] as {
      name: string;
      mode: string;
      failures: number;
    }[];
    return targets.find((target) => target.name === name);
  };

  // shows: C31
  it("goes to this subscription alone, whatever it asks for, and answers with the attempt", async () => {
    sink.answerWith({ status: 200, body: "fine", headers: { "x-seen": "yes" } });
    await subscribe({ events: ["test.event", "test.*"] });
    const subscription = await subscribe({ event_filter: { data: { never: true } } });
    const before = sink.requests.length;
    const { status, json } = await test(subscription);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      delivery_id: expect.stringMatching(/^dlv_/),
      event_id: expect.stringMatching(/^evt_/),
      number: 1,
      result: "success",
      response_code: 200,
      response_body: "fine",
      trigger: "first",
      error: null,
    });
    const [request, ...others] = sink.requests.slice(before);
    expect(others).toEqual([]);
    expect(request?.headers).toMatchObject({ "x-webhook-event": "test.event", "webhook-id": json["event_id"] });
    expect(request?.headers["x-webhook-signature"]).toBe(verifyPlain(subscription.secret, request?.body));
    const body = JSON.parse(String(request?.body)) as { data: { test: boolean; timestamp: string } };
    expect(checkOwnEnvelope(body)).toBeUndefined();
    const { data } = body;
    expect(data).toEqual({ test: true, timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(await gateway.deliveryOf(String(json["event_id"]))).toMatchObject({
      id: json["delivery_id"],
      status: "delivered",
      subscription_id: subscription.id,
      attempts: [{ number: 1, response_code: 200 }],
    });
  });

  it.each([
    { answer: { status: 503 }, result: "failed", reason: "retries_exhausted" },
    { answer: { status: 400 }, result: "failed", reason: "refused" },
    { answer: { status: 410 }, result: "failed", reason: "gone" },
    { answer: "reset" as const, result: "connection_error", reason: "retries_exhausted" },
  ])("that fails is not tried again, and is held against nobody: $answer", async ({ answer, result, reason }) => {
    sink.answerWith(answer);
    const subscription = await subscribe({ ordered: true, retry_policy: { delays_s: [0, 0, 0] } });
    for (let n = 0; n < 12; n++) {
      const { status, json } = await test(subscription);
      expect([status, json["result"], json["number"]]).toEqual([200, result, 1]);
      expect(await gateway.delivery(String(json["delivery_id"]))).toMatchObject({
        status: "dead",
        dead_reason: reason,
        attempt_count: 1,
      });
    }
    expect(await statusOf(subscription)).toBe("active");
    expect(await modeOf(subscription["name"])).toMatchObject({ mode: "NORMAL", failures: 0 });
    const { json } = await gateway.get("/api/v1/events?limit=500");
    const types = (json["data"] as { event_type: string }[]).map(({ event_type }) => event_type);
    expect(new Set(types)).toEqual(new Set(["test.event"]));
  });

  it("of a subscription that waits answers 202 with the delivery and why", async () => {
    sink.answerWith({ status: 200 });
    const subscription = await subscribe({ status: "inactive" });
    const { status, json } = await test(subscription);
    expect(status).toBe(202);
    expect(json).toMatchObject({
      status: "pending",
      hold_reason: "paused",
      attempt_count: 0,
      event_type: "test.event",
    });
    await gateway.post(`/api/v1/subscriptions/${subscription.id}/resume`);
    await until(async () => (await gateway.delivery(String(json["id"]))).status === "delivered");
  });

  it("goes through a suspension, and nothing else does", async () => {
    sink.answerWith({ status: 410 });
    const subscription = await subscribe({ events: ["held.*"], ordered: true, on_dead_head: "skip" });
    const publish = (type: string) => gateway.publish({ event_type: `held.${type}`, payload: {} });
    await publish("first");
    await until(async () => (await statusOf(subscription)) === "suspended");
    const held = String((await publish("second")).json["event_id"]);
    const before = sink.requests.length;
    const failed = await test(subscription);
    expect([failed.status, failed.json["result"], failed.json["response_code"]]).toEqual([200, "failed", 410]);
    sink.answerWith({ status: 200 });
    const { status, json } = await test(subscription);
    expect([status, json["result"], json["response_code"]]).toEqual([200, "success", 200]);
    expect(await gateway.delivery(String(json["delivery_id"]))).toMatchObject({ status: "delivered" });

    expect(sink.requests.slice(before).map(({ headers }) => headers["x-webhook-event"])).toEqual([
      "test.event",
      "test.event",
    ]);
    expect(await statusOf(subscription)).toBe("suspended");
    expect(await gateway.deliveryOf(held)).toMatchObject({ status: "pending", hold_reason: "suspended" });
    await gateway.post(`/api/v1/subscriptions/${subscription.id}/resume`);
    await until(async () => (await gateway.deliveryOf(held)).status === "delivered");
  });

  it("goes through a suspension of what could not be reached for too long", async () => {
    sink.answerWith({ status: 503 });
    const name = "unreachable";
    const subscription = await subscribe({ name, events: ["far.*"], suspend_after_s: 600 });
    await gateway.publish({ event_type: "far.away", payload: {} });
    await gateway.moveClockUntil(async () => (await statusOf(subscription)) === "suspended", { seconds: 20 });
    expect(await modeOf(name)).toMatchObject({ mode: "QUEUE" });
    sink.answerWith({ status: 200 });
    const { status, json } = await test(subscription);
    expect([status, json["result"]]).toEqual([200, "success"]);
    expect(await statusOf(subscription)).toBe("suspended");
  });

  it("of a throttled subscription answers 202 when its turn does not come in time", async () => {
    const subscription = await subscribe({ rate_limit: 1, timeout: 10 });
    expect((await test(subscription)).status).toBe(200);
    const answer = test(subscription);
    await until(async () => (await gateway.deliveries(`subscription_id=${subscription.id}`)).length === 2);
    gateway.moveClock(30_000);
    const { status, json } = await answer;
    expect([status, json["status"], json["hold_reason"]]).toEqual([202, "pending", "throttled"]);
  });

  it("shows that a destination which was down is back", async () => {
    sink.answerWith({ status: 503 });
    const name = `down-${++number}`;
    const subscription = await subscribe({ name, events: ["down.*"], retry_policy: { delays_s: [0, 0, 3600] } });
    await gateway.publish({ event_type: "down.once", payload: {}, event_id: name });
    await until(async () => (await modeOf(name))?.mode === "QUEUE");
    sink.answerWith({ status: 200 });
    const { status } = await test(subscription);
    expect(status).toBe(200);
    await gateway.moveClockUntil(async () => (await modeOf(name))?.mode === "NORMAL");
    // What waited for an hour need not wait any longer.
    await until(async () => (await gateway.deliveryOf(name)).status === "delivered");
  });

  it("of what is not there, or is another tenant's, is not found", async () => {
    expect((await gateway.post("/api/v1/subscriptions/sub_unknown/test")).status).toBe(404);
    const subscription = await subscribe();
    const stranger = gateway.as(await gateway.createKey(["admin"], "stranger"));
    expect((await stranger.post(`/api/v1/subscriptions/${subscription.id}/test`)).status).toBe(404);
    expect((await gateway.post(`/api/v1/subscriptions/${subscription.id}/test`, { url: "https://x" })).status).toBe(
      422,
    );
  });
});
