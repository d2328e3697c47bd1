import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { report } from "../support/report.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

/** Every route that takes an id, with the ids of another tenant: it must look as if they did not exist. */
describe("a key that is bound to one tenant", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let stranger: ApiClient;
  const ids = { event: "their-event", subscription: "", delivery: "", request: "" };

  beforeAll(async () => {
    const yaml = "sources: [{ name: theirs, tenant_id: victim }]";
    [gateway, sink] = await Promise.all([startTestGateway({ yaml }), openSinkServer({ answer: { status: 400 } })]);
    stranger = gateway.as(await gateway.createKey(["admin"], "stranger"));
    const owner = gateway.as(await gateway.createKey(["admin"], "victim"));
    ids.subscription = (await owner.subscribe({ name: "theirs", url: sink.url })).id;
    await owner.publish({ event_type: "their.event", payload: { private: "victim-data" }, event_id: ids.event });
    await gateway.webhook("theirs", "{broken");
    await until(async () => (await owner.deadLetters()).length === 1);
    await until(async () => (await owner.rejected("theirs")).length === 1);
    ids.delivery = (await owner.deliveries())[0]?.id ?? "";
    ids.request = (await owner.rejected("theirs"))[0]?.id ?? "";
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  it("finds nothing of another tenant on any route, and changes nothing there", async () => {
    const json = (value: unknown) => ({ body: JSON.stringify(value), headers: { "content-type": "application/json" } });
    const { event, subscription, delivery, request } = ids;
    await stranger.publish({ event_type: "own.event", payload: {}, event_id: "own-event" });
    const tries: [string, string, { body: string; headers: Record<string, string> }?][] = [
      ["GET", `/api/v1/events/${event}`],
      ["POST", `/api/v1/events/${event}/replay`],
      ["POST", `/api/v1/events/own-event/replay`, json({ subscription_id: subscription })],
      ["GET", `/api/v1/subscriptions/${subscription}`],
      ["PATCH", `/api/v1/subscriptions/${subscription}`, json({ timeout: 1 })],
      ["DELETE", `/api/v1/subscriptions/${subscription}`],
      ["POST", `/api/v1/subscriptions/${subscription}/pause`],
      ["POST", `/api/v1/subscriptions/${subscription}/resume`],
      ["POST", `/api/v1/subscriptions/${subscription}/rotate-secret`],
      ["POST", `/api/v1/subscriptions/${subscription}/rotate-secret/confirm`],
      ["POST", `/api/v1/subscriptions/${subscription}/rotate-secret/retire`],
      ["GET", `/api/v1/subscriptions/${subscription}/secret`],
      ["GET", `/api/v1/deliveries/${delivery}`],
      ["GET", `/api/v1/deliveries?subscription_id=${subscription}`],
      ["GET", `/api/v1/dead-letters?subscription_id=${subscription}`],
      ["POST", `/api/v1/deliveries/${delivery}/retry`],
      ["POST", `/api/v1/deliveries/${delivery}/cancel`],
      ["POST", "/api/v1/dead-letters/replay", json({ id: delivery })],
      ["POST", "/api/v1/dead-letters/purge", json({ id: delivery })],
      ["GET", "/api/v1/sources/theirs/requests"],
      ["GET", `/api/v1/requests/${request}`],
      ["GET", `/api/v1/requests/${event.replace("evt_", "req_")}`],
    ];
    let leaks = 0;
    for (const [method, path, options] of tries) {
      const answer = await stranger.request(method, path, options);
      if (answer.status !== 404 || answer.text.includes("victim")) leaks++;
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    const lists = [
      "events",
      "events?tenant_id=victim",
      "deliveries",
      "deliveries?tenant_id=victim",
      "dead-letters?tenant_id=victim",
      "subscriptions?tenant_id=victim",
    ];
    for (const path of lists) {
      const { text, status } = await stranger.get(`/api/v1/${path}`);
      if (status !== 200 || text.includes("victim") || text.includes(subscription)) leaks++;
      expect([path, status, text.includes("victim")]).toEqual([path, 200, false]);
    }
    report(`R21 cross-tenant reads and acts that got through: ${leaks} of ${tries.length + lists.length}`);
    const untouched = await gateway.get(`/api/v1/subscriptions/${subscription}`);
    expect(untouched.json).toMatchObject({ status: "active", timeout: 30 });
    expect(await gateway.delivery(delivery)).toMatchObject({ status: "dead", attempt_count: 1 });
  });

  it("cannot make a subscription for another tenant, nor see the whole gateway", async () => {
    const answer = await stranger.post("/api/v1/subscriptions", {
      name: "x",
      url: sink.url,
      events: ["*"],
      tenant_id: "victim",
    });
    expect(answer.status).toBe(403);
    const { text } = await stranger.get("/status");
    expect(text).not.toContain("theirs");
    expect((await stranger.get("/metrics")).status).toBe(403);
    expect((await stranger.get("/api/v1/jobs")).status).toBe(403);
    expect((await stranger.post("/api/v1/jobs/rotate-secrets/run")).status).toBe(403);
  });

  it("may use an id that another tenant used", async () => {
    const answer = await stranger.publish({ event_type: "own.event", payload: {}, event_id: ids.event });
    expect(answer.json["duplicate"]).toBe(false);
    expect((await stranger.event(ids.event))["event_type"]).toBe("own.event");
  });

  it("gets with a source none of the requests that came while it was another's", async () => {
    const own = "sources: [{ name: moved, tenant_id: victim }]";
    await gateway.reload(own);
    const accepted = (await gateway.webhook("moved", '{"private":"victim-data"}')).json["event_id"];
    await gateway.webhook("moved", "{victim");
    await until(async () => (await gateway.rejected("moved")).length === 1);
    const refused = (await gateway.rejected("moved"))[0]?.id;
    await gateway.reload(own.replace("victim", "stranger"));
    await gateway.webhook("moved", "{mine");
    await until(async () => (await gateway.rejected("moved")).length === 2);
    expect(await stranger.rejected("moved")).toHaveLength(1);
    for (const id of [refused, String(accepted).replace("evt_", "req_")]) {
      expect((await stranger.get(`/api/v1/requests/${id}`)).status).toBe(404);
      expect((await gateway.get(`/api/v1/requests/${id}`)).status).toBe(200);
    }
  });
});
