import { afterAll, beforeAll, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let sink: SinkServer;

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  await gateway.subscribe({ name: "raw", url: sink.url, events: ["*"], format: "raw" });
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

function replay(id: string, body: string) {
  const headers = { "content-type": "application/json" };
  return gateway.request("POST", `/api/v1/events/${id}/replay`, { body, headers });
}

it("sends what was edited as a new event that names the old one, byte for byte, and says who did it", async () => {
  await gateway.publish({
    event_type: "order.paid",
    payload: { n: 1 },
    event_id: "first",
    user_id: "u1",
    metadata: { a: 1 },
  });
  await sink.received(1);
  const payload = '{ "n": 12345678901234567890,  "text": "\\u00e9" }';
  const answer = await replay("first", `{"payload": ${payload}}`);
  expect(answer).toMatchObject({ status: 201, json: { replay_of: "first", delivery_count: 1 } });
  const id = String(answer.json["event_id"]);
  const [, second] = await sink.received(2);
  expect(second?.body.toString()).toBe(payload);
  expect(await gateway.event(id)).toMatchObject({
    replay_of: "first",
    event_type: "order.paid",
    user_id: "u1",
    metadata: { a: 1 },
  });
  // The fact stays as it was.
  expect(await gateway.event("first")).toMatchObject({ payload: { n: 1 } });
  expect(await gateway.event("first")).not.toHaveProperty("replay_of");
  const { data } = (await gateway.get("/api/v1/audit?act=event.replay_edited")).json as { data: object[] };
  expect(data[0]).toMatchObject({ id: "first", actor: "key:config", details: { event_id: id } });
});

it("sends what was edited only to those who are chosen", async () => {
  const at = (path: string) => sink.requests.filter((request) => request.path.endsWith(path)).length;
  const [one, two] = await Promise.all(
    ["/one", "/two", "/three"].map((path) =>
      gateway.subscribe({ name: path, url: `${sink.url}${path}`, events: ["chosen.*"] }),
    ),
  );
  await gateway.publish({ event_type: "chosen.first", payload: { n: 1 }, event_id: "chosen" });
  await gateway.settled();
  expect([at("/one"), at("/two"), at("/three")]).toEqual([1, 1, 1]);
  const edited = await replay("chosen", `{"payload": {"n": 2}, "subscription_ids": ["${one?.id}", "${two?.id}"]}`);
  expect(edited).toMatchObject({ status: 201, json: { delivery_count: 2 } });
  await gateway.settled();
  expect([at("/one"), at("/two"), at("/three")]).toEqual([2, 2, 1]);
  expect(await replay("chosen", `{"payload": {"n": 3}, "subscription_id": "${one?.id}"}`)).toMatchObject({
    status: 201,
    json: { delivery_count: 1 },
  });
  await gateway.settled();
  expect([at("/one"), at("/two"), at("/three")]).toEqual([3, 2, 1]);
});

it("sends it to nobody when one of the chosen is another tenant's", async () => {
  const theirs = await gateway.subscribe({ name: "theirs", url: sink.url, events: ["x"], tenant_id: "other" });
  const before = (await gateway.get("/api/v1/events?event_type=chosen.first")).json["data"] as unknown[];
  expect((await replay("chosen", `{"payload": {}, "subscription_ids": ["${theirs.id}"]}`)).status).toBe(404);
  expect((await gateway.get("/api/v1/events?event_type=chosen.first")).json["data"]).toHaveLength(before.length);
});

it("edits a received webhook, and keeps how it was sent", async () => {
  const { json } = await gateway.webhook("shop?from=test", '{"a":1}', { "x-shop": "yes" });
  const answer = await replay(String(json["event_id"]), '{"payload": [1, 2]}');
  const edited = await gateway.event(String(answer.json["event_id"]));
  expect(edited).toMatchObject({
    source: "shop",
    payload: [1, 2],
    headers: { "x-shop": "yes" },
    request: { method: "POST", path: "/webhook/shop", query: "from=test" },
  });
});

it("rejects what it cannot send, and goes on without a payload as before", async () => {
  expect((await replay("first", '{"payload": {}, "subscription_id": "sub_1"}')).status).toBe(404);
  expect((await replay("first", '{"payload": {}, "subscription_ids": []}')).status).toBe(422);
  expect(
    (await replay("first", '{"payload": {}, "subscription_id": "sub_1", "subscription_ids": ["sub_2"]}')).status,
  ).toBe(422);
  expect((await replay("first", '{"subscription_ids": ["sub_2"]}')).status).toBe(422);
  expect((await replay("first", '{"payload": {"a": }}')).status).toBe(400);
  expect(
    (await replay("first", `{"payload": ${"[".repeat(200)}${"]".repeat(200)}}`)).json["status"],
  ).toBeGreaterThanOrEqual(400);
  expect((await replay("first", '{"other": 1}')).status).toBe(422);
  expect((await replay("nothing", '{"payload": {}}')).status).toBe(404);
  await gateway.settled();
  expect((await replay("first", "{}")).status).toBe(202);
  expect((await gateway.post("/api/v1/events/first/replay")).status).toBe(202);
});

it("lists rejected requests of all sources, by source, cause and time", async () => {
  await gateway.webhook("one", "{broken");
  gateway.moveClock(60_000);
  await gateway.webhook("two", "{broken");
  const list = async (query: string) => {
    const { json } = await gateway.get(`/api/v1/requests?${query}`);
    return (json["data"] as { source: string }[]).map(({ source }) => source);
  };
  await expect.poll(() => list("")).toEqual(["two", "one"]);
  expect(await list("source=one")).toEqual(["one"]);
  expect(await list("cause=unreadable_body&outcome=rejected")).toEqual(["two", "one"]);
  expect(await list("cause=bad_signature")).toEqual([]);
  const between = new Date(gateway.now() - 30_000).toISOString();
  expect(await list(`since=${between}`)).toEqual(["two"]);
  expect(await list(`until=${between}`)).toEqual(["one"]);
  const { json } = await gateway.get("/api/v1/requests?limit=1");
  expect(await list(`limit=1&cursor=${String(json["next_cursor"])}`)).toEqual(["one"]);
  expect((await gateway.get(`/api/v1/requests?since=${between}&until=${between}`)).status).toBe(422);
});
