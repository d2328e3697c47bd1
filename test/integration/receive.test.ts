import { readdirSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const YAML = `
sources:
  - name: shop
    event_type: shop.order
    id_from: header:X-Order-Event-Id
    ordering_key_from: body:/order/id
    priority_from: header:X-Priority
  - name: bank
    id_from: body:/transfer/number
    priority_from: body:/urgency
  - name: sensor
    methods: [PUT, PATCH]
  - name: quiet
    status: paused
  - name: retired
    status: closed
  - name: plain
`;

describe("receiving webhooks", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway({ yaml: YAML }), openSinkServer()]);
    await gateway.subscribe({ name: "all", url: sink.url });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const eventOf = async (answer: { json: Record<string, unknown> }) => gateway.event(String(answer.json["event_id"]));

  // shows: B3
  it("answers 202 with the event's id and how many deliveries it makes", async () => {
    const answer = await gateway.webhook("anything", '{"a":1}');
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ status: "queued", event_id: expect.stringMatching(/^evt_/), deliveries: 1 });
    const event = await eventOf(answer);
    expect(event).toMatchObject({ event_type: "webhook.anything", source: "anything", tenant_id: "default", size: 7 });
  });

  it("keeps the sub-path and the query with the request", async () => {
    const answer = await gateway.webhook("anything/deep/er?x=1&y=%20", "{}");
    const { json } = await gateway.get(`/api/v1/requests/${String(answer.json["event_id"]).replace("evt_", "req_")}`);
    expect(json).toMatchObject({
      source: "anything",
      path: "/webhook/anything/deep/er",
      query: "x=1&y=%20",
      method: "POST",
      outcome: "accepted",
      remote_address: "127.0.0.1",
    });
  });

  // shows: B53
  it("takes JSON and XML by their types, sniffs a body without a type, and takes any other as it is", async () => {
    const cases: [string | undefined, string, number][] = [
      ["application/json", "{} ", 202],
      ["application/vnd.api+json; charset=utf-8", "[1]", 202],
      ["text/xml", "<a/>", 202],
      ["application/atom+xml", "<a>1</a>", 202],
      ["text/plain", "{not json", 202],
      ["application/x-www-form-urlencoded", "a=1&b=<", 202],
      ["application/json", "{not json", 400],
      ["application/vnd.api+json", "", 400],
      ["text/xml", "<a>", 400],
      [undefined, "{not json", 400],
      [undefined, "<not xml", 400],
      [undefined, "plain words", 202],
    ];
    for (const [type, body, status] of cases) {
      const bytes = new TextEncoder().encode(body);
      const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
      const answer = await gateway.request("POST", "/webhook/anything", { body: bytes, headers });
      expect([type, body, answer.status]).toEqual([type, body, status]);
    }
  });

  // shows: B24
  it("rejects unreadable text with the place where it stops being readable", async () => {
    const json = await gateway.webhook("anything", '{"a":\n  tru}');
    expect(json.status).toBe(400);
    expect(json.headers.get("content-type")).toBe("application/problem+json");
    expect(json.json).toMatchObject({ code: "unreadable_body", line: 2, column: 6, position: 11 });
    expect(json.json["detail"]).toContain("line 2, column 6");
    const xml = await gateway.webhook("anything", "<a>\n<b></a>", { "content-type": "application/xml" });
    expect(xml.status).toBe(400);
    expect(xml.json).toMatchObject({ code: "unreadable_body", line: 2 });
  });

  it("takes an empty body where the type does not say otherwise", async () => {
    const answer = await gateway.webhook("anything", "", { "content-type": "application/octet-stream" });
    expect(answer.status).toBe(202);
    expect(await eventOf(answer)).toMatchObject({ size: 0 });
  });

  it("reads identity, ordering key and priority from where the source says", async () => {
    const headers = { "x-order-event-id": "e-1", "x-priority": "HIGH" };
    const answer = await gateway.webhook("shop", '{"order":{"id":9007199254740993123}}', headers);
    expect(await eventOf(answer)).toMatchObject({
      event_type: "shop.order",
      ordering_key: "9007199254740993123",
      priority: "high",
    });
    const again = await gateway.webhook("shop", '{"order":{"id":2}}', headers);
    expect(again.status).toBe(200);
    expect(again.json).toEqual({ status: "duplicate", event_id: answer.json["event_id"] });
  });

  it("tells ids beyond 2^53 apart that a float would make equal", async () => {
    const first = await gateway.webhook("bank", '{"transfer":{"number":9007199254740992},"urgency":"critical"}');
    const second = await gateway.webhook("bank", '{"transfer":{"number":9007199254740993},"urgency":"soonish"}');
    expect([first.status, second.status]).toEqual([202, 202]);
    expect((await eventOf(first))["priority"]).toBe("critical");
    expect((await eventOf(second))["priority"]).toBe("normal");
    expect((await gateway.webhook("bank", '{"transfer":{"number":9007199254740993}}')).status).toBe(200);
  });

  it("takes every webhook whose id is not there, and trusts no usual header on a declared source", async () => {
    const headers = { "webhook-id": "same", "idempotency-key": "same" };
    for (const source of ["bank", "plain"]) {
      expect((await gateway.webhook(source, "{}", headers)).status).toBe(202);
      expect((await gateway.webhook(source, "{}", headers)).status).toBe(202);
    }
  });

  it("on an undeclared source takes the usual ids together with the body, and never X-Request-Id", async () => {
    const send = async (name: string, body: string) => (await gateway.webhook("loose", body, { [name]: "one" })).status;
    expect(await send("webhook-id", '{"n":1}')).toBe(202);
    expect(await send("webhook-id", '{"n":1}')).toBe(200);
    expect(await send("webhook-id", '{"n":2}')).toBe(202);
    expect(await send("idempotency-key", '{"n":3}')).toBe(202);
    expect(await send("idempotency-key", '{"n":3}')).toBe(200);
    expect(await send("x-request-id", '{"n":4}')).toBe(202);
    expect(await send("x-request-id", '{"n":4}')).toBe(202);
  });

  it("keeps ids of different sources apart", async () => {
    const headers = { "webhook-id": "shared" };
    expect((await gateway.webhook("left", "{}", headers)).status).toBe(202);
    expect((await gateway.webhook("right", "{}", headers)).status).toBe(202);
  });

  it("takes other methods where the source names them, and says which otherwise", async () => {
    expect((await gateway.request("PUT", "/webhook/sensor", { body: "1" })).status).toBe(202);
    expect((await gateway.request("PATCH", "/webhook/sensor", { body: "1" })).status).toBe(202);
    const refused = await gateway.webhook("sensor", "{}");
    expect(refused.status).toBe(405);
    expect(refused.headers.get("allow")).toBe("PUT, PATCH");
    expect(refused.json["code"]).toBe("method_not_allowed");
    const get = await gateway.get("/webhook/anything");
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("answers 503 for a paused source and 410 for a closed one", async () => {
    const paused = await gateway.webhook("quiet", "{}");
    expect([paused.status, paused.json["code"]]).toEqual([503, "source_paused"]);
    expect(Number(paused.headers.get("retry-after"))).toBeGreaterThan(0);
    const closed = await gateway.webhook("retired", "{}");
    expect([closed.status, closed.json["code"]]).toEqual([410, "gone"]);
  });

  it("logs what it rejected or ignored, with the cause, and masks credentials", async () => {
    const headers = {
      authorization: "Bearer sender-canary",
      "x-hook-token": "token-canary",
      "x-order-event-id": "log-1",
    };
    await gateway.webhook("shop", "{broken", headers);
    await gateway.webhook("shop", "{}", headers);
    await gateway.webhook("shop", "{}", headers);
    await gateway.webhook("shop", "{}", { ...headers, "content-encoding": "gzip" });
    await gateway.webhook("shop", '{"order":{"id":"a\\u0000b"}}', { "x-order-event-id": "log-2" });
    // The log is written behind the answers.
    await until(async () => (await gateway.rejected("shop"))[0]?.cause === "invalid_field");
    const requests = await gateway.rejected("shop");
    expect(requests.map(({ outcome, cause }) => `${outcome} ${cause}`).slice(0, 4)).toEqual([
      "rejected invalid_field",
      "rejected unsupported_encoding",
      "ignored duplicate",
      "rejected unreadable_body",
    ]);
    expect(JSON.stringify(requests)).not.toContain("canary");
    const one = await gateway.get(`/api/v1/requests/${requests[2]?.id}`);
    expect(one.json["events"]).toEqual([{ event_id: expect.any(String), outcome: "ignored", cause: "duplicate" }]);
  });
});

describe("names of sources", () => {
  let gateway: TestGateway;
  const put = (endpoint: string, schema: object) =>
    gateway.request("PUT", `/validations/${endpoint}`, {
      body: JSON.stringify(schema),
      headers: { "content-type": "application/json" },
    });

  beforeAll(async () => {
    const sources = "[{ name: shop, auth: { header: X-Gate, token: 0123456789abcdef-token } }, { name: new.Item }]";
    gateway = await startTestGateway({ yaml: `sources: ${sources}` });
  });
  afterAll(() => gateway.close());

  it("are those that n8n has: with capitals, and with dots between words", async () => {
    for (const name of ["newOrder", "new.order", "new.Item", "A", "v1.2-x_y"]) {
      const answer = await gateway.webhook(name, "{}");
      expect([name, answer.status]).toEqual([name, 202]);
      const event = await gateway.event(String(answer.json["event_id"]));
      expect(event).toMatchObject({ source: name, event_type: `webhook.${name}` });
    }
  });

  it("are never a way out of a folder, nor hidden files", async () => {
    for (const name of [".orders", "a..b", "a.", "-a", "a%2Fb", "a b", "a".repeat(65), "newOrder%00"]) {
      const answer = await gateway.webhook(encodeURI(name), "{}");
      expect([name, answer.status]).toEqual([name, 404]);
      expect(answer.json["detail"]).toContain("is not the name of a source");
    }
  });

  it("do not let a sender pass by the checks of a declared source in other letters", async () => {
    for (const name of ["Shop", "SHOP", "NEW.item"]) {
      const answer = await gateway.webhook(name, "{}");
      expect([name, answer.status]).toEqual([name, 404]);
      expect(answer.json["detail"]).toContain("any_source");
    }
    expect((await gateway.webhook("later", "{}")).status).toBe(202);
    expect((await gateway.post("/api/v1/sources", { name: "Later" })).status).toBe(201);
    expect((await gateway.webhook("later", "{}")).status).toBe(404);
    expect((await gateway.webhook("Later", "{}")).status).toBe(202);
  });

  it("have validations of their own, each in its file", async () => {
    const needs = (name: string) => ({ type: "object", required: [name] });
    expect((await put("newOrder", needs("a"))).json).toMatchObject({ endpoint: "newOrder" });
    expect((await put("new.order", needs("b"))).json).toMatchObject({ endpoint: "new.order" });
    expect((await put("new", needs("c"))).status).toBe(200);
    const folder = join(gateway.dataDir, "..", "validations");
    expect(readdirSync(folder).sort()).toEqual(["new.json", "new.order.json", "newOrder.json"]);
    await gateway.restart();
    const passes = [
      ["newOrder", '{"a":1}', 202],
      ["newOrder", '{"b":1}', 422],
      ["new.order", '{"b":1}', 202],
      ["new.order", '{"a":1}', 422],
      ["new", '{"c":1}', 202],
      ["new", '{"a":1}', 422],
    ] as const;
    for (const [name, body, status] of passes) {
      expect([name, body, (await gateway.webhook(name, body)).status]).toEqual([name, body, status]);
    }
    expect((await gateway.get("/validations/new.order/versions")).json["data"]).toMatchObject([
      { format: "json", version: 1 },
    ]);
    const lookalike = await put("NewOrder", {});
    expect([lookalike.status, lookalike.json["detail"]]).toEqual([
      422,
      expect.stringContaining("newOrder only in upper"),
    ]);
  });
});

describe("without the * source", () => {
  it("knows declared sources only", async () => {
    const gateway = await startTestGateway({ yaml: "any_source: false\nsources: [{ name: shop }]" });
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    for (const name of ["other", "SHOP", "", "shop%00", "../shop", "__proto__", "constructor"]) {
      const answer = await gateway.webhook(name, "{}");
      expect([name, answer.status]).toEqual([name, 404]);
      expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    }
    expect((await gateway.webhook("other", "{}")).json).toMatchObject({
      code: "unknown_source",
      detail: expect.stringContaining("any_source: true"),
    });
    await gateway.close();
  });
});

it("rejects a page of another site on this machine, and takes it where a proxy passes on a public name", async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.close());
  const post = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { method: "POST", headers: { "content-type": "text/plain", ...headers } };
      const request = httpRequest(`${gateway.url}/webhook/orders`, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject).end("{}");
    });
  const crossSite = { "sec-fetch-site": "cross-site" };
  expect([
    await post(crossSite),
    await post({ ...crossSite, host: `localhost:${gateway.port}` }),
    await post({ ...crossSite, host: "hooks.example.org" }),
    await post({ "sec-fetch-site": "same-origin" }),
    await post({}),
  ]).toEqual([403, 403, 202, 202, 202]);
  const loopback = [
    "x.localhost:8080",
    "localhost.",
    "X.LocalHost.:8080",
    "127.1",
    "127.0.0.1:80",
    "[::1]:8080",
    "0.0.0.0:8080",
  ];
  for (const host of loopback) expect([host, await post({ ...crossSite, host })]).toEqual([host, 403]);
  for (const host of ["localhost.example.org", "notlocalhost", "128.0.0.1"]) {
    expect([host, await post({ ...crossSite, host })]).toEqual([host, 202]);
  }
});
