import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

describe("filters", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;
  let type = "";

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  beforeEach(() => {
    type = `filtered.type_${number++}`;
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const subscribe = (eventFilter: unknown, more: object = {}) =>
    gateway.subscribe({
      name: `${type} ${number++}`,
      url: sink.url,
      events: [type],
      event_filter: eventFilter,
      ...more,
    });
  const publish = async (payload: object, more: object = {}) =>
    (await gateway.publish({ event_type: type, payload, ...more })).json as { event_id: string; deliveries: number };
  const wanting = async (eventId: string) =>
    (await gateway.event(eventId)).deliveries.map(({ subscription_id: id }) => id).sort();
  const test = (body: object, client: Pick<TestGateway, "post"> = gateway) => client.post("/api/v1/filters/test", body);
  const patch = (id: string, body: object) =>
    gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });

  it("deliver an event to those it is for, and its bytes as they came", async () => {
    const large = await subscribe({ data: { total: { $gte: 100 } } });
    const small = await subscribe('{"data":{"total":{"$lt":100}}}');
    const all = await subscribe(null);
    const before = sink.requests.length;
    const { event_id: id, deliveries } = await publish({ total: 250, id: 1 });
    expect(deliveries).toBe(2);
    expect(await wanting(id)).toEqual([large.id, all.id].sort());
    expect(await wanting((await publish({ total: 5 })).event_id)).toEqual([small.id, all.id].sort());
    const requests = await sink.received(before + 4);
    expect(requests.slice(before).filter(({ body }) => body.includes('"total":250'))).toHaveLength(2);
  });

  it("keep an event that all of them exclude, as unmatched", async () => {
    await subscribe({ data: { total: { $gte: 100 } } });
    const { event_id: id, deliveries } = await publish({ total: 5 });
    expect(deliveries).toBe(0);
    expect(await gateway.event(id)).toMatchObject({ unmatched: true, status: "COMPLETED", deliveries: [] });
  });

  it("see metadata, priority, tenant and source of what is published", async () => {
    const one = await subscribe({
      metadata: { region: { $in: ["eu", "ch"] } },
      priority: { $neq: "low" },
      source: "billing",
      tenant_id: "default",
      event_type: { $startsWith: "filtered." },
    });
    const sent = { source: "billing", priority: "high", metadata: { region: "ch" } };
    expect(await wanting((await publish({}, sent)).event_id)).toEqual([one.id]);
    for (const change of [{ source: "x" }, { priority: "low" }, { metadata: { region: "us" } }, { metadata: null }]) {
      expect((await publish({}, { ...sent, ...change })).deliveries).toBe(0);
    }
  });

  it("see headers, query and body of a received webhook, and no secret in it", async () => {
    const source = `shop-${number}`;
    type = `webhook.${source}`;
    const one = await subscribe({ headers: { "X-Topic": "orders/paid" }, query: { shop: "a b" }, data: { n: 1 } });
    const noData = await subscribe({ data: { $exist: false } });
    const oracle = await subscribe({ headers: { authorization: { $contains: "hunter2" } } });
    const send = async (path: string, body: string, headers: Record<string, string>) =>
      wanting((await gateway.webhook(`${source}${path}`, body, headers)).json["event_id"] as string);
    const topic = { "x-topic": "orders/paid", authorization: "Bearer hunter2" };
    expect(await send("?shop=a%20b", '{"n":1}', topic)).toEqual([one.id]);
    expect(await send("?shop=b", '{"n":1}', topic)).toEqual([]);
    expect(await send("?shop=a+b", '{"n":2}', topic)).toEqual([]);
    expect(await send("?shop=a+b", '{"n":1}', { ...topic, "content-type": "text/plain" })).toEqual([noData.id]);
    expect(oracle.id).toMatch(/^sub_/);
  });

  it("are shown as they were given, changed and taken away", async () => {
    const text = '{ "data": {"a": 1} }';
    const created = await subscribe(text);
    expect(created["event_filter"]).toBe(text);
    expect((await publish({ a: 2 })).deliveries).toBe(0);
    const changed = await patch(created.id, { event_filter: { data: { a: 2 } } });
    expect([changed.status, changed.json["event_filter"]]).toEqual([200, { data: { a: 2 } }]);
    expect((await publish({ a: 2 })).deliveries).toBe(1);
    expect((await patch(created.id, { name: `${type} renamed` })).json["event_filter"]).toEqual({ data: { a: 2 } });
    expect((await patch(created.id, { event_filter: null })).json["event_filter"]).toBeNull();
    expect((await publish({ a: 3 })).deliveries).toBe(1);
  });

  it.each([
    [{ data: { total: { $regex: "a" } } }, "event_filter.data.total.$regex", "is not an operator"],
    [{ data: { total: { $gt: [1] } } }, "event_filter.data.total.$gt", "must be a number or a text"],
    [{ body: 1 }, "event_filter.body", "is not a field"],
    ["{", "event_filter", "not JSON"],
    [
      JSON.parse(`{"data":${'{"a":'.repeat(50)}1${"}".repeat(51)}`) as unknown,
      `event_filter.data${".a".repeat(11)}`,
      "deeper than 12",
    ],
    [{ source: "x".repeat(9000) }, "event_filter", "longer than 8192"],
    [7, "event_filter", "must be"],
  ])("are rejected with the place and the reason, and nothing is stored: %j", async (filter, field, reason) => {
    const name = `${type} bad`;
    const answer = await gateway.post("/api/v1/subscriptions", {
      name,
      url: sink.url,
      events: [type],
      event_filter: filter,
    });
    expect([answer.status, answer.json["code"]]).toEqual([422, "invalid_field"]);
    expect(answer.json["field"]).toBe(field);
    expect(answer.json["detail"]).toContain(reason);
    expect((await gateway.get("/api/v1/subscriptions?limit=500")).text).not.toContain(name);

    const good = await subscribe({ data: { a: 1 } });
    expect((await patch(good.id, { event_filter: filter })).status).toBe(422);
    expect((await gateway.get(`/api/v1/subscriptions/${good.id}`)).json["event_filter"]).toEqual({ data: { a: 1 } });
  });

  it("survive a restart, and may stand in the configuration", async () => {
    const url = `${sink.url}/declared`;
    const declared = (total: number) => `
subscriptions:
  - name: declared
    url: ${url}
    events: [declared.event]
    event_filter:
      data:
        total: { $gt: ${total} }
        tags: { $contains: vip }
      priority: { $in: [normal, high] }
`;
    const own = await startTestGateway({ yaml: declared(10) });
    try {
      const send = async (total: number) =>
        (await own.publish({ event_type: "declared.event", payload: { total, tags: ["vip"] } })).json["deliveries"];
      const stored = { name: "stored", url, events: ["stored.event"], event_filter: { priority: "high" } };
      await own.subscribe(stored);
      expect([await send(10), await send(11)]).toEqual([0, 1]);
      await own.reload(declared(20));
      expect([await send(11), await send(21)]).toEqual([0, 1]);
      await own.restart();
      expect([await send(11), await send(21)]).toEqual([0, 1]);
      const high = await own.publish({ event_type: "stored.event", payload: {}, priority: "high" });
      const low = await own.publish({ event_type: "stored.event", payload: {}, priority: "low" });
      expect([high.json["deliveries"], low.json["deliveries"]]).toEqual([1, 0]);
      await expect(own.reload(declared(20).replace("$contains", "$match"))).rejects.toThrow(
        /event_filter\.data\.tags\.\$match.*not an operator/s,
      );
      await own.settled();
    } finally {
      await own.close();
    }
  });

  it("that cost too much do not match, are counted and are told once", async () => {
    await subscribe({ data: { $not: { a: 1 } } });
    const payload = { list: Array.from({ length: 200_000 }, () => []) };
    for (let i = 0; i < 2; i++) expect((await publish(payload)).deliveries).toBe(0);
    expect((await gateway.get("/metrics")).text).toContain("posthorn_filters_too_costly_total 2");
    const told = gateway.log.filter(({ msg, event_type: about }) => /cost too much/.test(msg) && about === type);
    expect(told).toHaveLength(1);
  });

  describe("on trial", () => {
    it("say whether a made-up event matches, and what keeps it from it", async () => {
      const filter = { data: { total: { $gt: 100 }, vip: true }, headers: { "X-Region": "eu" } };
      const event = { data: { total: 150, vip: true }, headers: { "X-REGION": "eu" } };
      expect((await test({ filter, event })).json).toEqual({ match: true });
      expect((await test({ filter: JSON.stringify(filter), event })).json).toEqual({ match: true });
      const low = await test({ filter, event: { ...event, data: { total: 50, vip: true } } });
      expect([low.status, low.json]).toEqual([
        200,
        { match: false, failed: { path: "data.total", operator: "$gt", expected: 100, found: 50 } },
      ]);
      expect((await test({ filter, event: { data: { total: 150 } } })).json["failed"]).toEqual({
        path: "data.vip",
        operator: "$eq",
        expected: true,
      });
      const about = { event_type: "a.b", source: "s", priority: "low", metadata: { m: 1 }, query: "q=1" };
      const all = { event_type: "a.b", source: "s", priority: "low", metadata: { m: 1 }, query: { q: "1" } };
      expect((await test({ filter: { ...all, tenant_id: "default" }, event: about })).json).toEqual({ match: true });
    });

    it("show a large value in part", async () => {
      const data = { text: "x".repeat(5000), list: Array.from({ length: 500 }, () => [[[[[1]]]]]) };
      const answer = await test({ filter: { data: { $eq: 1 } }, event: { data } });
      expect(answer.text.length).toBeLessThan(2000);
      expect(answer.json).toMatchObject({ match: false, failed: { path: "data" } });
    });

    it("work on an event that was received, if it is the caller's", async () => {
      const { event_id: id } = await publish({ total: 7 }, { tenant_id: "acme", metadata: { a: 1 } });
      const body = { filter: { data: { total: 7 }, metadata: { a: 1 }, tenant_id: "acme" }, event_id: id };
      expect((await test(body)).json).toEqual({ match: true });
      const acme = gateway.as(await gateway.createKey(["read"], "acme"));
      expect((await test(body, acme)).json).toEqual({ match: true });
      expect((await test({ ...body, filter: { data: { total: 8 } } }, acme)).json).toMatchObject({
        match: false,
        failed: { path: "data.total", found: 7 },
      });
      const other = gateway.as(await gateway.createKey(["read"], "other"));
      const refused = await test(body, other);
      expect([refused.status, refused.json["code"]]).toEqual([404, "not_found"]);
      expect((await test({ ...body, event_id: "nothing" })).status).toBe(404);
    });

    it("need a key that may read", async () => {
      const body = { filter: {}, event: {} };
      expect((await test(body, gateway.as(undefined))).status).toBe(401);
      expect((await test(body, gateway.as(await gateway.createKey(["publish"])))).status).toBe(403);
    });

    it.each([
      [{ filter: { data: { $foo: 1 } }, event: {} }, "filter.data.$foo"],
      [{ filter: "no", event: {} }, "filter"],
      [{ event: {} }, "filter"],
      [{ filter: {} }, "event"],
      [{ filter: {}, event: {}, event_id: "a" }, "event"],
      [{ filter: {}, event: { body: 1 } }, "event.body"],
      [{ filter: {}, event: { priority: "urgent" } }, "event.priority"],
    ])("are rejected with the place: %j", async (body, field) => {
      const answer = await test(body);
      expect([answer.status, answer.json["field"]]).toEqual([422, field]);
    });
  });
});
