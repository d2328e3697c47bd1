import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let number = 0;

describe("work on many deliveries", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  /** A subscription of its own type of event, at a path of its own. */
  async function subscribe(settings: object = {}) {
    const name = `many${number++}`;
    const type = `${name}.event`;
    const url = `${sink.url.replace(/\/$/, "")}/${name}`;
    const created = await gateway.subscribe({ name, url, events: [type], ...settings });
    return { id: created.id, name, type, received: () => sink.requests.filter(({ path }) => path === `/${name}`) };
  }

  async function publish(event_type: string, count: number, extra: object = {}): Promise<string[]> {
    const { json } = await gateway.publish(
      Array.from({ length: count }, (_, n) => ({ event_type, payload: { n }, ...extra })),
    );
    return (json["events"] as { event_id: string }[]).map(({ event_id }) => event_id);
  }

  /** Dead letters of a subscription whose destination refuses now, and takes everything later. */
  async function makeDead(count: number, settings: object = {}) {
    const subscription = await subscribe({ retry_policy: { delays_s: [] }, ...settings });
    sink.answerWith({ status: 400 });
    const ids: string[] = [];
    // More in a row would suspend it.
    while (ids.length < count) {
      ids.push(...(await publish(subscription.type, Math.min(9, count - ids.length))));
      await gateway.settled();
      sink.answerWith({ status: 200 });
      await publish(subscription.type, 1);
      await gateway.settled();
      sink.answerWith({ status: 400 });
    }
    sink.answerWith({ status: 200 });
    return { ...subscription, ids };
  }

  async function ended(answer: Answer): Promise<Record<string, unknown>> {
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
    const path = `/api/v1/replays/${String(answer.json["id"])}`;
    await until(async () => !["running", "paused"].includes(String((await gateway.get(path)).json["status"])));
    return (await gateway.get(path)).json;
  }

  it("replays dead letters by filter, once each, and tells how far it is", async () => {
    const dead = await makeDead(12);
    const filter = { subscription_id: dead.id };
    const plan = await gateway.post("/api/v1/dead-letters/replay", { filter, plan: true });
    expect([plan.status, plan.json]).toMatchObject([200, { count: 12, exact: true }]);
    expect(await gateway.deadLetters(`subscription_id=${dead.id}`)).toHaveLength(12);
    const before = dead.received().length;
    const job = await ended(await gateway.post("/api/v1/dead-letters/replay", { filter }));
    expect(job).toMatchObject({
      kind: "dead_letters",
      status: "completed",
      total: 12,
      done: 12,
      skipped: 0,
      failed: 0,
    });
    await gateway.settled();
    const again = dead
      .received()
      .slice(before)
      .map(({ headers }) => String(headers["webhook-id"]));
    expect(again.toSorted()).toEqual(dead.ids.toSorted());
    expect(await gateway.deadLetters(`subscription_id=${dead.id}`)).toHaveLength(0);
  });
});
