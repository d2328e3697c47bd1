import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShownSubscription } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("resuming a subscription", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  /** A paused one that holds as many deliveries. */
  async function pausedWith(held: number, settings: object = {}) {
    const name = `held-${++number}`;
    const url = `${sink.url}/${name}`;
    const subscription = await gateway.subscribe({ name, url, events: [name], status: "inactive", ...settings });
    const publish = (event_id: string, more: object = {}) =>
      gateway.publish({ event_type: name, payload: {}, event_id: `${name}-${event_id}`, ...more });
    for (let n = 0; n < held; n += 500) {
      const batch = Array.from({ length: Math.min(500, held - n) }, (_, i) => ({
        event_type: name,
        payload: {},
        event_id: `${name}-${n + i}`,
      }));
      await gateway.publish(batch);
    }
    const arrived = () =>
      sink.requests.filter(({ path }) => path === `/${name}`).map(({ headers }) => headers["webhook-id"]);
    return { name, subscription, publish, arrived };
  }

  const resume = ({ id }: ShownSubscription, body?: unknown) =>
    gateway.post(`/api/v1/subscriptions/${id}/resume`, body);

  it.each([undefined, {}, { held: "deliver" }])("delivers what was held: %j", async (body) => {
    const { subscription, arrived } = await pausedWith(3);
    const answer = await resume(subscription, body);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id: subscription.id, status: "active", skipped_deliveries: 0 });
    expect(answer.headers.get("etag")).toEqual(expect.any(String));
    await gateway.settled();
    expect(arrived()).toHaveLength(3);
  });

  it("skips what was held when it is asked to, says how much, and delivers what comes after", async () => {
    const { name, subscription, publish, arrived } = await pausedWith(1100);
    const deliver_at = new Date(gateway.now() + 3_600_000).toISOString();
    await publish("later", { deliver_at });
    const answer = await resume(subscription, { held: "skip" });
    expect(answer.json).toMatchObject({ status: "active", skipped_deliveries: 1100 });
    await publish("after");
    gateway.moveClock(3_600_000);
    await gateway.settled();
    expect(new Set(arrived())).toEqual(new Set([`${name}-after`, `${name}-later`]));
    expect(await gateway.deliveryOf(`${name}-7`)).toMatchObject({
      status: "cancelled",
      last_error: "skipped when the subscription was resumed",
      attempt_count: 0,
    });
    // It can be had all the same.
    await gateway.post(`/api/v1/events/${name}-7/replay`);
    await gateway.settled();
    expect(arrived()).toContain(`${name}-7`);
  });

  it("skips none of those that arrive meanwhile", async () => {
    const { name, subscription, publish, arrived } = await pausedWith(1500);
    const resumed = resume(subscription, { held: "skip" });
    const during: string[] = [];
    const ended: unknown[] = [];
    void resumed.then((answer) => ended.push(answer));
    // The call may be decided before the first of these is stored, and after it: those that were skipped came before.
    while (ended.length === 0) {
      const id = `during-${during.length}`;
      await publish(id);
      during.push(`${name}-${id}`);
    }
    const skipped = Number((await resumed).json["skipped_deliveries"]);
    await gateway.settled();
    expect(skipped + arrived().length).toBe(1500 + during.length);
    // Those that are delivered are the newest, without a gap.
    const delivered = new Set(arrived());
    const first = during.findIndex((id) => delivered.has(id));
    expect(first === -1 || during.slice(first).every((id) => delivered.has(id))).toBe(true);
    expect(skipped).toBeGreaterThanOrEqual(1500);
  });

  it("skips nothing of an active one whose destination is well", async () => {
    const { subscription } = await pausedWith(0, { status: "active" });
    expect((await resume(subscription, { held: "skip" })).json).toMatchObject({ skipped_deliveries: 0 });
  });

  it.each([{ held: "drop" }, { held: null }, { hold: "skip" }, []])("rejects %j and changes nothing", async (body) => {
    const { subscription } = await pausedWith(1);
    const { status, json } = await resume(subscription, body);
    expect([status, json["code"]]).toEqual([422, "invalid_field"]);
    expect((await gateway.get(`/api/v1/subscriptions/${subscription.id}`)).json["status"]).toBe("inactive");
    expect((await gateway.deliveries(`subscription_id=${subscription.id}`))[0]?.status).toBe("pending");
    await resume(subscription, { held: "skip" });
  });
});
