import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type Answer, type ApiClient } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const PAST = "2020-01-01T00:00:00Z";
let number = 0;

describe("work on many deliveries", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  /** A subscription of its own type of event, at a path of its own. */
  async function subscribe(settings: object = {}, client: ApiClient = gateway) {
    const name = `many${number++}`;
    const type = `${name}.event`;
    const url = `${sink.url.replace(/\/$/, "")}/${name}`;
    const { id } = await client.subscribe({ name, url, events: [type], ...settings });
    const received = () => sink.requests.filter(({ path }) => path === `/${name}`);
    return { id, name, url, type, received, idsReceived: () => received().map(idOf).toSorted() };
  }

  const idOf = ({ headers }: { headers: Readonly<Record<string, unknown>> }) => String(headers["webhook-id"]);

  async function publish(type: string, count: number, extra: object = {}, client: ApiClient = gateway) {
    const events = Array.from({ length: count }, (_, n) => ({ event_type: type, payload: { n }, ...extra }));
    const { json } = await client.publish(events);
    return (json["events"] as { event_id: string }[]).map(({ event_id }) => event_id);
  }

  /** Too late when they came: dead letters that the destination has nothing to do with. */
  async function makeDead(count: number, settings: object = {}, client: ApiClient = gateway) {
    const subscription = await subscribe(settings, client);
    const ids = await publish(subscription.type, count, { expires_at: PAST }, client);
    const query = `subscription_id=${subscription.id}`;
    await until(async () => (await client.deadLetters(query)).length === count);
    return { ...subscription, ids: ids.toSorted(), dead: () => client.deadLetters(query) };
  }

  const show = async (id: unknown) => (await gateway.get(`/api/v1/replays/${String(id)}`)).json;

  async function ended(answer: Answer): Promise<Record<string, unknown>> {
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
    const { id } = answer.json;
    await until(async () => !["running", "paused"].includes(String((await show(id))["status"])));
    return show(id);
  }

  it("replays dead letters by filter, once each, and tells how far it is", async () => {
    const some = await makeDead(250);
    const filter = { subscription_id: some.id };
    const plan = await gateway.post("/api/v1/dead-letters/replay", { filter, plan: true });
    expect([plan.status, plan.json]).toMatchObject([200, { count: 250, exact: true }]);
    expect(await some.dead()).toHaveLength(250);
    const answer = await gateway.post("/api/v1/dead-letters/replay", { filter });
    expect(answer.json).toMatchObject({ status: "running", total: 250, total_exact: true, completed_at: null });
    const job = await ended(answer);
    expect(job).toMatchObject({ kind: "dead_letters", status: "completed", total: 250, done: 250, failed: 0 });
    expect(job["completed_at"]).toEqual(expect.any(String));
    await gateway.settled();
    expect(some.idsReceived()).toEqual(some.ids);
    expect(await some.dead()).toEqual([]);
  });

  it("finds dead letters and deliveries by the name of their subscription, in the caller's tenant", async () => {
    const [some, acme] = [await makeDead(2), gateway.as(await gateway.createKey(["admin", "publish"], "acme"))];
    const other = await makeDead(1, { name: some.name }, acme);
    const find = async (client: ApiClient, route: string, query: string) => {
      const { status, json } = await client.get(`/api/v1/${route}?${query}`);
      return [status, (json["data"] as unknown[] | undefined)?.length ?? json["field"]];
    };
    for (const route of ["dead-letters", "deliveries"]) {
      expect(await find(gateway, route, `subscription=${some.name}&tenant_id=default`)).toEqual([200, 2]);
      expect(await find(gateway, route, `subscription=${some.id}`)).toEqual([200, 2]);
      expect(await find(acme, route, `subscription=${some.name}`)).toEqual([200, 1]);
      expect(await find(acme, route, `subscription=${some.id}`)).toEqual([404, undefined]);
      expect(await find(gateway, route, `subscription=${some.name}`)).toEqual([422, "subscription"]);
      expect(await find(gateway, route, "subscription=nobody")).toEqual([404, undefined]);
      const both = `subscription=${other.id}&subscription_id=${other.id}`;
      expect(await find(acme, route, both)).toEqual([422, "subscription"]);
    }
    expect(await find(acme, "dead-letters/groups", `subscription=${some.name}`)).toEqual([200, 1]);
  });

  it("tells what became of them: delivered, failed again, or waiting still", async () => {
    const some = await makeDead(4, { retry_policy: { delays_s: [3600] } });
    const dead = await makeDead(1);
    sink.answerWith(({ path, headers }) => {
      if (path !== `/${some.name}`) return { status: 200 };
      if (headers["webhook-id"] === some.ids[0]) return { status: 400 };
      // Else the success of another would bring the retry forward.
      return headers["webhook-id"] === some.ids[1]
        ? { status: 503, headers: { "retry-after": "3600" } }
        : { status: 200 };
    });
    const answer = await gateway.post("/api/v1/dead-letters/replay", { filter: { subscription_id: some.id } });
    expect(await ended(answer)).toMatchObject({ done: 4 });
    await until(async () => some.received().length === 4);
    await until(async () => ((await show(answer.json["id"]))["results"] as { delivered: number }).delivered === 2);
    expect((await show(answer.json["id"]))["results"]).toEqual({
      delivered: 2,
      failed_again: 1,
      waiting: 1,
      cancelled: 0,
      counted: 4,
    });
    // What still waits would be waited for by the tests after this one.
    await gateway.request("DELETE", `/api/v1/subscriptions/${some.id}`);
    sink.answerWith({ status: 200 });
    const purge = { filter: { subscription_id: dead.id }, confirm: 1 };
    expect((await ended(await gateway.post("/api/v1/dead-letters/purge", purge)))["results"]).toBe(null);
  });

  // shows: C50
  it("finds dead letters by reason, type and time", async () => {
    const refused = await subscribe({ retry_policy: { delays_s: [] } });
    sink.answerWith(({ path }) => ({ status: path === `/${refused.name}` ? 400 : 200 }));
    const before = new Date().toISOString();
    await publish(refused.type, 2);
    await gateway.settled();
    sink.answerWith({ status: 200 });
    const expired = await makeDead(3);
    const reasons = async (query: string) => (await gateway.deadLetters(query)).map(({ dead_reason }) => dead_reason);
    const of = `subscription_id=${refused.id}`;
    expect(await reasons(of)).toEqual(["refused", "refused"]);
    expect(await reasons(`${of}&reason=expired`)).toEqual([]);
    expect(await reasons(`${of}&reason=refused&since=${before}`)).toHaveLength(2);
    expect(await reasons(`${of}&until=${before}`)).toEqual([]);
    expect(await reasons(`event_type=${expired.type}`)).toEqual(["expired", "expired", "expired"]);
    const filter = { event_type: refused.type, reason: "refused", since: before };
    const job = await ended(await gateway.post("/api/v1/replays", { kind: "dead_letters", filter }));
    expect(job).toMatchObject({ done: 2, filter });
    expect(await expired.dead()).toHaveLength(3);
  });

  it("replays the dead letters of an ordered subscription in their order", async () => {
    const ordered = await subscribe({ ordered: true, on_dead_head: "skip" });
    await publish(ordered.type, 30, { expires_at: PAST, ordering_key: "k" });
    await until(async () => (await gateway.deadLetters(`subscription_id=${ordered.id}`)).length === 30);
    await ended(await gateway.post("/api/v1/dead-letters/replay", { filter: { subscription_id: ordered.id } }));
    await gateway.settled();
    const numbers = ordered
      .received()
      .map(({ body }) => (JSON.parse(body.toString()) as { data: { n: number } }).data.n);
    expect(numbers).toEqual(Array.from({ length: 30 }, (_, n) => n));
  });

  it("replays events to the subscriptions that had them, or to one subscription that wants them", async () => {
    const first = await subscribe();
    const second = await subscribe({ events: [first.type] });
    const ids = (await publish(first.type, 5)).toSorted();
    await gateway.settled();
    const late = await subscribe({ events: [first.type], event_filter: { data: { n: { $gte: 3 } } } });
    const filter = { event_type: first.type };
    expect(await ended(await gateway.post("/api/v1/replays", { kind: "events", filter }))).toMatchObject({ done: 10 });
    await gateway.settled();
    expect(first.idsReceived()).toEqual([...ids, ...ids].toSorted());
    expect(second.received()).toHaveLength(10);
    expect(late.received()).toHaveLength(0);
    const only = { ...filter, subscription_id: late.id };
    expect(await ended(await gateway.post("/api/v1/replays", { kind: "events", filter: only }))).toMatchObject({
      done: 2,
    });
    await gateway.settled();
    expect([first.received().length, late.received().length]).toEqual([10, 2]);
  });

  it("recovers what a subscription missed: what is dead, what it never had, or both", async () => {
    const since = new Date(Date.now() - 60_000).toISOString();
    const type = `recovered${number++}.event`;
    const early = await publish(type, 6);
    await publish(type, 1, { expires_at: PAST });
    const filter = { data: { n: { $lt: 4 } } };
    const some = await subscribe({ events: [type], event_filter: filter });
    const dead = await publish(type, 3, { expires_at: PAST });
    await until(async () => (await gateway.deadLetters(`subscription_id=${some.id}`)).length === 3);
    const recover = (body: object) => gateway.post(`/api/v1/subscriptions/${some.id}/recover`, { since, ...body });
    const plans = { failed: 3, missing: 4, all: 7 };
    for (const [include, count] of Object.entries(plans)) {
      expect((await recover({ include, plan: true })).json).toMatchObject({ count, exact: true });
    }
    expect((await recover({ include: "all", until: since.replace(/^2/, "1"), plan: true })).status).toBe(422);
    expect(await ended(await recover({ include: "missing" }))).toMatchObject({ kind: "recover", done: 4 });
    await gateway.settled();
    expect(some.idsReceived()).toEqual(early.slice(0, 4).toSorted());
    expect(await ended(await recover({}))).toMatchObject({ done: 3, filter: { subscription_id: some.id, since } });
    await gateway.settled();
    expect(some.idsReceived()).toEqual([...early.slice(0, 4), ...dead].toSorted());
    expect((await recover({ include: "all", plan: true })).json).toMatchObject({ count: 0 });
  });

  it("cancels open deliveries by filter and leaves the others", async () => {
    const held = await subscribe({ status: "inactive", events: ["cancelled.one", "cancelled.two"] });
    await publish("cancelled.one", 5);
    await publish("cancelled.two", 4);
    const filter = { subscription_id: held.id, event_type: "cancelled.one", status: "pending" };
    const plan = await gateway.post("/api/v1/deliveries/cancel", { filter, plan: true });
    expect(plan.json).toMatchObject({ kind: "cancel", count: 5, exact: true });
    expect(await ended(await gateway.post("/api/v1/deliveries/cancel", { filter }))).toMatchObject({ done: 5 });
    const states = (await gateway.deliveries(`subscription_id=${held.id}`)).map(({ status }) => status).toSorted();
    expect(states).toEqual([...Array(5).fill("cancelled"), ...Array(4).fill("pending")]);
    await ended(await gateway.post("/api/v1/deliveries/cancel", { filter: { subscription_id: held.id } }));
    await gateway.settled();
  });

  it("purges dead letters only when that is confirmed, and keeps its books", async () => {
    const some = await makeDead(4);
    const filter = { subscription_id: some.id };
    for (const confirm of [undefined, 3]) {
      const asked = await gateway.post("/api/v1/dead-letters/purge", { filter, confirm });
      expect([asked.status, asked.json]).toMatchObject([409, { code: "confirmation_required", count: 4, exact: true }]);
    }
    expect(await some.dead()).toHaveLength(4);
    const job = await ended(await gateway.post("/api/v1/dead-letters/purge", { filter, confirm: 4 }));
    expect(job).toMatchObject({ kind: "purge", done: 4 });
    expect(await some.dead()).toEqual([]);
    const [purged] = await gateway.deliveries(`subscription_id=${some.id}`);
    expect(purged).toMatchObject({ status: "cancelled", last_error: "purged from the dead letters" });
    expect((await gateway.get("/metrics")).text).toContain("posthorn_conservation_imbalance 0");
    const word = await gateway.post("/api/v1/dead-letters/purge", { filter, confirm: "purge" });
    expect(await ended(word)).toMatchObject({ done: 0, total: 0 });
  });

  it("purges one dead letter by its id, at once and once", async () => {
    const some = await makeDead(2);
    const [first, second] = await some.dead();
    const purge = (id: unknown) => gateway.post("/api/v1/dead-letters/purge", { id });
    const purged = await purge(first?.["id"]);
    expect([purged.status, purged.json]).toMatchObject([
      200,
      { id: first?.["id"], status: "cancelled", last_error: "purged from the dead letters" },
    ]);
    expect((await some.dead()).map(({ id }) => id)).toEqual([second?.["id"]]);
    const again = await purge(first?.["id"]);
    expect([again.status, again.json["code"]]).toEqual([409, "illegal_transition"]);
    expect((await purge("dlv_unknown")).status).toBe(404);
    const { data } = (await gateway.get("/api/v1/audit?act=delivery.purge")).json as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual([first?.["id"]]);
    expect((await gateway.get("/metrics")).text).toContain("posthorn_conservation_imbalance 0");
  });

  it.each(["filter", "id"])("lets the followers of a dead letter that was purged by %s go", async (by) => {
    const ordered = await subscribe({ ordered: true, retry_policy: { delays_s: [] } });
    sink.answerWith(({ path }) => ({ status: path === `/${ordered.name}` ? 400 : 200 }));
    await publish(ordered.type, 3, { ordering_key: "k" });
    await until(async () => (await gateway.deadLetters(`subscription_id=${ordered.id}`)).length === 1);
    sink.answerWith({ status: 200 });
    expect(ordered.received()).toHaveLength(1);
    const [letter] = await gateway.deadLetters(`subscription_id=${ordered.id}`);
    const which = by === "id" ? { id: letter?.["id"] } : { filter: { subscription_id: ordered.id }, confirm: 1 };
    expect((await gateway.post("/api/v1/dead-letters/purge", which)).status).toBe(by === "id" ? 200 : 202);
    await until(async () => (await gateway.deadLetters(`subscription_id=${ordered.id}`)).length === 0);
    await gateway.settled();
    expect(ordered.received()).toHaveLength(3);
  });

  it("waits for a paused subscription, can itself be paused, and goes on after a restart", async () => {
    const some = await makeDead(300);
    const other = await makeDead(5);
    await gateway.post(`/api/v1/subscriptions/${some.id}/pause`);
    const { json } = await gateway.post("/api/v1/dead-letters/replay", { filter: { reason: "expired" } });
    const path = `/api/v1/replays/${String(json["id"])}`;
    await until(() => other.received().length === 5);
    expect(await show(json["id"])).toMatchObject({ status: "running" });
    expect((await gateway.post(`${path}/pause`)).json).toMatchObject({ status: "paused" });
    await gateway.post(`/api/v1/subscriptions/${some.id}/resume`);
    await gateway.restart();
    expect(await some.dead()).toHaveLength(300);
    expect((await gateway.post(`${path}/resume`)).json).toMatchObject({ status: "running" });
    await until(() => some.received().length >= 64);
    await gateway.restart();
    await until(async () => (await show(json["id"]))["status"] === "completed");
    await gateway.settled();
    expect(some.idsReceived()).toEqual(some.ids);
    const over = await gateway.post(`${path}/cancel`);
    expect([over.status, over.json["code"]]).toEqual([409, "conflict"]);
    const { data } = (await gateway.get("/api/v1/replays?status=completed&limit=500")).json as {
      data: { id: string }[];
    };
    expect(data.map(({ id }) => id)).toContain(json["id"]);
  });

  it("stops where it is when it is cancelled", async () => {
    const some = await makeDead(3);
    await gateway.post(`/api/v1/subscriptions/${some.id}/pause`);
    const { json } = await gateway.post("/api/v1/dead-letters/replay", { filter: { subscription_id: some.id } });
    const cancelled = await gateway.post(`/api/v1/replays/${String(json["id"])}/cancel`);
    expect(cancelled.json).toMatchObject({ status: "cancelled", done: 0, completed_at: expect.any(String) });
    await gateway.post(`/api/v1/subscriptions/${some.id}/resume`);
    expect(await some.dead()).toHaveLength(3);
  });

  it("ends what a deleted subscription left open, over a restart too, and cannot be kept from it", async () => {
    const held = await subscribe({ status: "inactive" });
    for (let n = 0; n < 4; n++) await publish(held.type, 900);
    const { json } = await gateway.request("DELETE", `/api/v1/subscriptions/${held.id}`);
    expect(json).toMatchObject({ cancelled_deliveries: 3600, job_id: expect.stringMatching(/^rpl_/) });
    const path = `/api/v1/replays/${String(json["job_id"])}`;
    expect((await gateway.post(`${path}/pause`)).status).toBe(409);
    await gateway.restart();
    await until(async () => (await gateway.get(path)).json["status"] === "completed");
    const filter = { subscription_id: held.id };
    expect((await gateway.get(path)).json).toMatchObject({ kind: "cancel", done: 3600, total: 3600, filter });
    await gateway.settled();
    expect((await gateway.get("/metrics")).text).toContain("posthorn_conservation_imbalance 0");
    const few = await subscribe({ status: "inactive" });
    await publish(few.type, 3);
    const small = await gateway.request("DELETE", `/api/v1/subscriptions/${few.id}`);
    expect(small.json).toEqual({ id: few.id, cancelled_deliveries: 3, job_id: null });
  });

  it("does what is asked for once, when the request is sent again with its key", async () => {
    const some = await makeDead(2);
    const send = (filter: object) =>
      gateway.request("POST", "/api/v1/dead-letters/replay", {
        body: JSON.stringify({ filter }),
        headers: { "content-type": "application/json", "idempotency-key": `again-${some.id}` },
      });
    const [first, second] = [await send({ subscription_id: some.id }), await send({ subscription_id: some.id })];
    expect(second.json["id"]).toBe(first.json["id"]);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    const other = await send({ event_type: some.type });
    expect([other.status, other.json["code"]]).toEqual([409, "idempotency_key_reused"]);
    await ended(first);
  });

  it("goes over its own tenant only, with a key that is bound to one", async () => {
    const client = gateway.as(await gateway.createKey(["admin"], "bound"));
    const mine = await makeDead(2, {}, client);
    const others = await makeDead(2);
    const plan = await client.post("/api/v1/dead-letters/replay", { all: true, plan: true });
    expect(plan.json).toMatchObject({ count: 2 });
    const answer = await client.post("/api/v1/dead-letters/replay", { all: true });
    expect(answer.json).toMatchObject({ tenant_id: "bound", total: 2 });
    expect(await ended(answer)).toMatchObject({ done: 2 });
    await gateway.settled();
    expect([mine.received().length, others.received().length]).toEqual([2, 0]);
    const { data } = (await client.get("/api/v1/replays")).json as { data: object[] };
    expect(data).toHaveLength(1);
  });

  it.each([
    ["/api/v1/replays", { kind: "everything" }, "kind"],
    ["/api/v1/replays", { kind: "purge", filter: {} }, "kind"],
    ["/api/v1/replays", { kind: "events" }, "filter"],
    ["/api/v1/replays", { kind: "events", filter: { reason: "gone" } }, "filter.reason"],
    ["/api/v1/replays", { kind: "dead_letters", filter: { source: "a" } }, "filter.source"],
    ["/api/v1/replays", { kind: "dead_letters", filter: { reason: "tired" } }, "filter.reason"],
    ["/api/v1/replays", { kind: "events", filter: { event_type: "a b" } }, "filter.event_type"],
    ["/api/v1/replays", { kind: "events", filter: { source: "a\0b" } }, "filter.source"],
    ["/api/v1/replays", { kind: "events", filter: { since: "yesterday" } }, "filter.since"],
    ["/api/v1/replays", { kind: "recover", filter: { since: PAST } }, "filter.subscription_id"],
    ["/api/v1/replays", { kind: "cancel", filter: { status: "dead" } }, "filter.status"],
    ["/api/v1/replays", { kind: "cancel", filter: { status: "pending" } }, "filter"],
    ["/api/v1/dead-letters/replay", {}, "filter"],
    ["/api/v1/dead-letters/replay", { all: true, filter: {} }, "filter"],
    ["/api/v1/dead-letters/replay", { all: false }, "all"],
    ["/api/v1/dead-letters/purge", { all: true, confirm: "yes" }, "confirm"],
    ["/api/v1/dead-letters/purge", { id: "dlv_1", all: true, confirm: "purge" }, "id"],
    ["/api/v1/deliveries/cancel", {}, "filter"],
    ["/api/v1/deliveries/cancel", { filter: { source: "a" } }, "filter.source"],
  ])("rejects at %s what cannot be meant: %j", async (path, body, field) => {
    const before = (await gateway.get("/api/v1/replays?limit=500")).text;
    const answer = await gateway.post(path, body);
    expect([answer.status, answer.json]).toMatchObject([422, { code: "invalid_field", field }]);
    expect((await gateway.get("/api/v1/replays?limit=500")).text).toBe(before);
  });
});
