import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until, type ApiClient, type ShownEvent } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { openStream } from "../support/stream-client.ts";
import { ALERTING, STEADY_ALERT, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const YAML = `sources: [{ name: acme-shop, tenant_id: acme }]\n${STEADY_ALERT}`;

let gateway: TestGateway;
let sink: SinkServer;
/** With keys that are bound to them. */
let tenants: Record<"acme" | "farm" | "default", ApiClient>;
let keyOfAcme: string;

beforeEach(async () => {
  [gateway, sink] = await Promise.all([startTestGateway({ yaml: YAML }), openSinkServer()]);
  keyOfAcme = await gateway.createKey(["admin"], "acme");
  tenants = {
    acme: gateway.as(keyOfAcme),
    farm: gateway.as(await gateway.createKey(["admin"], "farm")),
    default: gateway.as(await gateway.createKey(["admin"], "default")),
  };
});
afterEach(() => Promise.all([gateway.close(), sink.close()]));

const EVENT = { event_type: "order.created", payload: { total: 5 } };

const send = async (client: ApiClient, event: object = EVENT): Promise<string> =>
  String((await client.publish(event)).json["event_id"]);

const types = () => sink.requests.map(({ headers }) => String(headers["x-webhook-event"])).sort();

describe("an operator's subscription for several tenants", () => {
  // shows: C1
  it("gets the events of all tenants, and belongs to none of them", async () => {
    const bus = await gateway.subscribe({ name: "bus", url: sink.url, tenants: "*" });
    expect(bus).toMatchObject({ tenants: "*", tenant_id: "_gateway" });
    for (const [name, client] of Object.entries(tenants)) await send(client, { ...EVENT, event_type: `of.${name}` });
    await gateway.settled();
    expect(types()).toEqual(["of.acme", "of.default", "of.farm"]);
  });

  it("gets those of a list, by a filter, and keeps to its rate", async () => {
    const event_filter = { tenant_id: { $neq: "farm" } };
    await gateway.subscribe({ name: "some", url: sink.url, tenants: ["acme", "farm"], event_filter, rate_limit: 1 });
    for (const client of Object.values(tenants)) await send(client);
    await send(tenants.acme);
    await until(() => sink.requests.length === 1);
    const waiting = await gateway.deliveries("status=pending");
    expect(waiting).toMatchObject([{ tenant_id: "_gateway" }]);
    gateway.moveClock(61_000);
    await gateway.settled();
    expect(sink.requests).toHaveLength(2);
  });

  it("is declared in the configuration, and shown as such", async () => {
    await gateway.reload(`${YAML}\nsubscriptions: [{ name: bus, url: "${sink.url}", events: ["*"], tenants: [acme] }]`);
    await send(tenants.acme);
    await send(tenants.farm);
    await gateway.settled();
    expect(sink.requests).toHaveLength(1);
    const { json } = await gateway.get("/api/v1/subscriptions?tenant_id=_gateway");
    expect(json["data"]).toMatchObject([{ name: "bus", tenants: ["acme"], managed_by: "config" }]);
    await gateway.reload(YAML);
  });

  it("is rejected for a bound key, in a tenant's name, as a forward, and for one that is a tenant's", async () => {
    const wanted = { name: "bus", url: sink.url, events: ["*"], tenants: "*" };
    const bound = await tenants.acme.post("/api/v1/subscriptions", wanted);
    expect([bound.status, bound.json["detail"]]).toEqual([
      403,
      "tenants: only keys that are not bound to a tenant may subscribe for several; this key is bound to acme. Leave it out.",
    ]);
    const json = { "content-type": "application/json" };
    const put = await tenants.acme.request("PUT", "/api/v1/subscriptions/mine", {
      body: JSON.stringify(wanted),
      headers: json,
    });
    expect(put.status).toBe(403);
    const { id } = await tenants.acme.subscribe({ name: "own", url: sink.url, tenants: null });
    for (const client of [tenants.acme, gateway]) {
      const patch = await client.request("PATCH", `/api/v1/subscriptions/${id}`, {
        body: '{"tenants":"*"}',
        headers: json,
      });
      expect(patch.status).toBe(client === gateway ? 422 : 403);
      expect(patch.json["detail"]).toContain("acme");
    }
    for (const change of [{ tenant_id: "acme" }, { mode: "forward" }, { tenants: [] }, { tenants: "acme" }]) {
      const { status, json: problem } = await gateway.post("/api/v1/subscriptions", { ...wanted, ...change });
      expect([change, status]).toEqual([change, 422]);
      expect(String(problem["detail"])).toContain("tenants");
    }
  });

  it("takes another list of tenants, and what GET shows can be PUT back", async () => {
    const { id } = await gateway.subscribe({ name: "bus", url: sink.url, tenants: ["acme"] });
    const headers = { "content-type": "application/json" };
    const path = `/api/v1/subscriptions/${id}`;
    const patched = await gateway.request("PATCH", path, { body: '{"tenants":["farm"]}', headers });
    expect(patched.json["tenants"]).toEqual(["farm"]);
    await send(tenants.acme);
    await send(tenants.farm);
    await gateway.settled();
    expect(sink.requests).toHaveLength(1);
    const body = JSON.stringify({ name: "bus", url: sink.url, events: ["*"], tenant_id: "_gateway", tenants: "*" });
    expect((await gateway.request("PUT", path, { body, headers })).json["tenants"]).toBe("*");
  });
});

/** All that a tenant can read, with what changes from one look to the next left out. */
async function lookAround(client: ApiClient, eventIds: readonly string[]): Promise<string> {
  const lists = ["subscriptions", "deliveries", "dead-letters", "dead-letters/groups", "targets", "replays", "alerts"];
  const paths = [
    ...lists.map((list) => `/api/v1/${list}`),
    "/api/v1/events?unmatched=true",
    "/api/v1/events?unmatched=false",
    "/api/v1/events?status=FAILED",
    "/api/v1/events?status=PENDING",
    "/api/v1/events/export",
    "/api/v1/stats",
    "/api/v1/stats/series",
    "/api/v1/event-types",
    "/status",
    ...eventIds.map((id) => `/api/v1/events/${id}`),
  ];
  const answers = await Promise.all(paths.map(async (path) => `${path} ${(await client.get(path)).text}`));
  return answers.join("\n").replaceAll(/"(at|since|until|due_events|oldest_event_at|complete_until)":[^,}\]]+/g, "");
}

describe("a tenant whose events an operator's subscription gets", () => {
  it("sees nothing of it, whether it delivers, waits or fails", async () => {
    sink.answerWith({ status: 400 });
    const own = await tenants.acme.subscribe({ name: "own", url: `${sink.url}/own`, events: ["own.*"] });
    const publish = async () => [
      await send(tenants.acme, { ...EVENT, event_type: "own.event" }),
      await send(tenants.acme, { ...EVENT, event_type: "other.event" }),
    ];
    // The control: the same events, as they look while there is no such subscription.
    const alone = await publish();
    await gateway.settled();
    const before = (await lookAround(tenants.acme, alone)).replaceAll(alone[1] as string, "");
    expect(before).toContain(own.id);

    const bus = await gateway.subscribe({ name: "unseen-bus", url: `${sink.url}/unseen`, events: ["#"], tenants: "*" });
    const waiting = await gateway.subscribe({
      name: "unseen-too",
      url: `${sink.url}/unseen`,
      events: ["#"],
      tenants: "*",
    });
    await gateway.post(`/api/v1/subscriptions/${waiting.id}/pause`);
    const stream = await openStream(gateway.url, { key: keyOfAcme, query: "body=true" });
    const counted: unknown[] = [];
    const operators = await gateway.publish({ ...EVENT, event_type: "own.event", tenant_id: "acme" });
    counted.push(operators.json["deliveries"]);
    for (const type of ["own.event", "other.event"]) {
      counted.push((await tenants.acme.publish({ ...EVENT, event_type: type })).json["deliveries"]);
    }
    counted.push((await gateway.webhook("acme-shop", "{}")).json["deliveries"]);
    // All that operators' subscriptions get are counted for operators alone.
    expect(counted).toEqual([3, 1, 0, 0]);
    await until(async () => (await gateway.deadLetters(`subscription_id=${bus.id}`)).length === 4);
    await until(async () => (await tenants.acme.deadLetters()).length === 3);
    const ids = ((await tenants.acme.get("/api/v1/events?limit=4")).json["data"] as ShownEvent[]).map(
      (one) => one.event_id,
    );
    const seen = await lookAround(tenants.acme, ids);
    for (const mark of ["unseen", bus.id, waiting.id, "_gateway", '"status":"PENDING"'])
      expect(seen).not.toContain(mark);
    const shown = await Promise.all(ids.map((id) => tenants.acme.event(id)));
    const facts = shown.map((one) => [
      one["event_type"],
      one.status,
      one.unmatched,
      one["delivery_count"],
      one.deliveries.length,
    ]);
    expect(facts).toEqual([
      ["webhook.acme-shop", "COMPLETED", true, 0, 0],
      ["other.event", "COMPLETED", true, 0, 0],
      ["own.event", "FAILED", false, 1, 1],
      ["own.event", "FAILED", false, 1, 1],
    ]);
    const all = await Promise.all(ids.map((id) => gateway.event(id)));
    expect(all.map((one) => [one.status, one.unmatched, one["delivery_count"], one.deliveries.length])).toEqual([
      ["PENDING", false, 2, 2],
      ["PENDING", false, 2, 2],
      ["PENDING", false, 3, 3],
      ["PENDING", false, 3, 3],
    ]);
    const frames = await stream.received("event", 4);
    expect(frames.map((one) => one["delivery_count"])).toEqual([1, 1, 0, 0]);
    await stream.received("attempt", 2);
    expect(stream.text()).not.toMatch(/unseen|_gateway/);
    stream.close();
    for (const client of [tenants.acme, tenants.default]) {
      for (const { id } of [bus, waiting]) expect((await client.get(`/api/v1/subscriptions/${id}`)).status).toBe(404);
      const [dead] = await gateway.deadLetters(`subscription_id=${bus.id}`);
      expect((await client.get(`/api/v1/deliveries/${dead?.id}`)).status).toBe(404);
      expect((await client.post(`/api/v1/deliveries/${dead?.id}/retry`)).status).toBe(404);
      expect((await client.get("/api/v1/audit?limit=500")).text).not.toContain("unseen");
    }
    const stats = async (client: ApiClient) => (await client.get("/api/v1/stats")).json["events"];
    expect(await stats(tenants.acme)).toMatchObject({ unmatched: 3 });
    expect(await stats(gateway)).toMatchObject({ unmatched: 1 });
    const unmatched = async (client: ApiClient, query: string) =>
      ((await client.get(`/api/v1/events?limit=50&${query}`)).json["data"] as ShownEvent[]).length;
    expect(await unmatched(gateway, "unmatched=true&tenant_id=acme")).toBe(3);
    expect(await unmatched(gateway, "unmatched=true")).toBe(1);
    expect(await unmatched(gateway, "status=PENDING")).toBe(4);
    expect(await unmatched(tenants.acme, "status=PENDING")).toBe(0);
  });

  it("hears of no alert about it, whereas operators do", async () => {
    await gateway.restart({ env: ALERTING });
    sink.answerWith({ status: 400 });
    await gateway.subscribe({ name: "unseen-bus", url: sink.url, tenants: "*" });
    for (const client of Object.values(tenants)) await send(client);
    const alerts = async (client: ApiClient) => (await client.get("/api/v1/alerts")).text;
    await gateway.moveClockUntil(async () => (await alerts(gateway)).includes("unseen-bus"));
    for (const client of Object.values(tenants)) {
      expect(await alerts(client)).toContain('"data":[]');
      expect((await client.get("/api/v1/events?event_type=alert.fired")).text).not.toContain("unseen");
    }
    // One alert, and not another for the owner of the subscription.
    const { json } = await gateway.get("/api/v1/events?event_type=alert.fired");
    expect(json["data"]).toHaveLength(1);
  });

  it("cannot replay, purge, erase or be held up by what it does not see", async () => {
    sink.answerWith({ status: 400 });
    const bus = await gateway.subscribe({ name: "bus", url: `${sink.url}/bus`, tenants: "*" });
    const id = await send(tenants.acme);
    await until(async () => (await gateway.deadLetters()).length === 1);
    const replayed = await tenants.acme.post(`/api/v1/events/${id}/replay`);
    expect(replayed.json["deliveries"]).toEqual([]);
    expect((await tenants.acme.post(`/api/v1/events/${id}/replay`, { subscription_id: bus.id })).status).toBe(404);
    for (const [path, more] of [
      ["replay", {}],
      ["purge", { confirm: "purge" }],
    ] as const) {
      const { status, json } = await tenants.acme.post(`/api/v1/dead-letters/${path}`, { all: true, ...more });
      expect([path, status, json["total"]]).toEqual([path, 202, 0]);
    }
    await until(async () => (await gateway.get("/api/v1/replays?status=running")).text.includes('"data":[]'));
    expect(await gateway.deadLetters()).toMatchObject([{ attempt_count: 1, generation: 1 }]);

    await gateway.post(`/api/v1/subscriptions/${bus.id}/pause`);
    const held = await send(tenants.acme);
    const erased = await tenants.acme.request("DELETE", `/api/v1/events/${held}/body`);
    expect([erased.status, erased.json["ended_deliveries"]]).toEqual([200, 0]);
    expect(await gateway.deliveryOf(held)).toMatchObject({ status: "dead", dead_reason: "erased" });
  });

  it("is not charged for it: neither subscriptions nor open deliveries", async () => {
    await gateway.post("/api/v1/tenants", { id: "small", quotas: { subscriptions: 1, open_deliveries: 1 } });
    const small = gateway.as(await gateway.createKey(["admin"], "small"));
    const bus = await gateway.subscribe({ name: "bus", url: sink.url, tenants: "*" });
    await gateway.post(`/api/v1/subscriptions/${bus.id}/pause`);
    expect((await small.post("/api/v1/subscriptions", { name: "own", url: sink.url, events: ["own.*"] })).status).toBe(
      201,
    );
    for (let number = 0; number < 5; number++) expect((await small.publish(EVENT)).status).toBe(202);
    gateway.moveClock(5000);
    await until(async () => (await small.publish(EVENT)).status === 202);
    expect((await gateway.get("/api/v1/tenants/small")).json["usage"]).toMatchObject({ open_deliveries: 0 });
    expect((await gateway.deliveries("status=pending")).length).toBeGreaterThan(5);
  });
});

describe("an operator", () => {
  it("replays one event, dead letters and missed events of all tenants to it", async () => {
    const missed = await send(tenants.acme);
    const farm = await send(tenants.farm);
    const bus = await gateway.subscribe({ name: "bus", url: sink.url, tenants: ["acme"] });
    expect((await gateway.post(`/api/v1/events/${farm}/replay`, { subscription_id: bus.id })).status).toBe(404);
    const { json } = await gateway.post(`/api/v1/events/${missed}/replay`, { subscription_id: bus.id });
    expect(json["deliveries"]).toMatchObject([{ subscription_id: bus.id }]);
    const preview = (id: string) => gateway.post(`/api/v1/subscriptions/${bus.id}/preview`, { event_id: id });
    expect([(await preview(missed)).status, (await preview(farm)).status]).toEqual([200, 404]);
    await gateway.settled();
    expect(await gateway.event(missed)).toMatchObject({ status: "COMPLETED", delivery_count: 1 });
    expect(await tenants.acme.event(missed)).toMatchObject({ unmatched: true, delivery_count: 0 });

    sink.answerWith({ status: 400 });
    await send(tenants.acme);
    await until(async () => (await gateway.deadLetters()).length === 1);
    sink.answerWith({ status: 200 });
    const since = new Date(gateway.now() - 60_000).toISOString();
    const recovered = await gateway.post(`/api/v1/subscriptions/${bus.id}/recover`, { since, include: "all" });
    expect(recovered.status).toBe(202);
    await until(async () => (await gateway.deadLetters()).length === 0);
    await gateway.settled();
    const delivered = await gateway.deliveries(`subscription_id=${bus.id}&status=delivered`);
    // Events of acme alone, and each only once.
    const events = await Promise.all(delivered.map(({ event_id: id }) => gateway.event(id)));
    expect(new Set(events.map((one) => one["tenant_id"]))).toEqual(new Set(["acme"]));
    expect(new Set(delivered.map(({ event_id: id }) => id)).size).toBe(delivered.length);
  });

  it("gets the gateway's own events of all tenants where they are named, and tenants none of its own", async () => {
    await gateway.subscribe({ name: "all", url: `${sink.url}/all`, tenants: "*", events: ["*"] });
    await gateway.subscribe({ name: "own", url: `${sink.url}/named`, tenants: "*", events: ["webhook.delivery_dead"] });
    await tenants.farm.subscribe({ name: "dead", url: `${sink.url}/farm`, events: ["webhook.delivery_dead"] });
    await tenants.acme.subscribe({ name: "broken", url: `${sink.url}/broken`, events: ["order.created"] });
    sink.answerWith(({ path }) => ({ status: path === "/broken" ? 400 : 200 }));
    await send(tenants.acme);
    const named = () => sink.requests.filter(({ path }) => path === "/named");
    await until(() => named().length === 1);
    expect(JSON.parse(named()[0]?.body.toString() ?? "")).toMatchObject({ data: { name: "broken" } });
    // Of its own dead letters no tenant hears.
    sink.answerWith(({ path }) => ({ status: path === "/all" ? 400 : 200 }));
    await send(tenants.farm);
    await until(() => named().length === 2);
    await gateway.settled();
    expect(JSON.parse(named()[1]?.body.toString() ?? "")).toMatchObject({ data: { name: "all" } });
    expect(sink.requests.filter(({ path }) => path === "/farm")).toEqual([]);
    const wanted = sink.requests.filter(({ path }) => path === "/all").map(({ headers }) => headers["x-webhook-event"]);
    expect(new Set(wanted)).toEqual(new Set(["order.created"]));
  });

  it("erases with a tenant what it sent of that tenant's events, and nothing else", async () => {
    const bus = await gateway.subscribe({ name: "bus", url: sink.url, tenants: "*" });
    await gateway.publish({ ...EVENT, tenant_id: "gone" });
    const kept = await send(tenants.farm);
    await gateway.settled();
    await gateway.post(`/api/v1/subscriptions/${bus.id}/pause`);
    const open = await gateway.publish({ ...EVENT, tenant_id: "gone" });
    expect(await gateway.deliveries(`subscription_id=${bus.id}`)).toHaveLength(3);
    await gateway.post("/api/v1/tenants/gone/erase", { confirm: "gone" });
    await until(async () => (await gateway.get("/api/v1/tenants/gone/erase")).json["status"] === "completed");
    expect((await gateway.get(`/api/v1/events/${String(open.json["event_id"])}`)).status).toBe(404);
    const left = await gateway.deliveries(`subscription_id=${bus.id}`);
    expect(left).toMatchObject([{ event_id: kept }]);
    expect((await gateway.get(`/api/v1/subscriptions/${bus.id}`)).json["stats"]).toMatchObject({ open_count: 0 });
    expect((await gateway.get("/metrics")).text).toMatch(/posthorn_delivery_imbalance 0|imbalance\S* 0/);
  });
});
