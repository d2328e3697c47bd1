import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { verifyPlain } from "../support/verify-signature.ts";

describe("templates of http subscriptions", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let number = 0;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    const versions = [
      {
        version: "1.0",
        schema: { type: "object", properties: { total: { type: "number" }, name: { type: "string" } } },
      },
    ];
    await gateway.post("/api/v1/event-types", { name: "order.created", enforce: false, versions });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const settings = (more: object) => ({
    name: `t-${++number}`,
    url: sink.url,
    events: [`kind-${number}.made`],
    ...more,
  });

  const send = (method: string, path: string, body: object) =>
    gateway.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });

  /** Subscribes with the settings, publishes, and answers what arrived. */
  async function deliver(more: object, payload: unknown, published: object = {}) {
    const subscription = await gateway.subscribe(settings(more));
    const before = sink.requests.length;
    const { json } = await gateway.post("/api/v1/events", {
      event_type: `kind-${number}.made`,
      source: "shop",
      payload,
      ...published,
    });
    await sink.received(before + 1);
    const request = sink.requests[before];
    return { subscription, request, text: String(request?.body), eventId: String(json["event_id"]) };
  }

  /** The same where nothing arrives. */
  async function fail(more: object, payload: unknown): Promise<Record<string, unknown>> {
    const { id } = await gateway.subscribe(settings(more));
    const before = sink.requests.length;
    const { json } = await gateway.post("/api/v1/events", { event_type: `kind-${number}.made`, payload });
    await expect.poll(async () => (await gateway.deliveryOf(String(json["event_id"])))?.["status"]).toBe("dead");
    expect(sink.requests.length).toBe(before);
    return { subscription: id, ...(await gateway.deliveryOf(String(json["event_id"]))) };
  }

  it("make body, content type, headers and URL, and the signature is over what was sent", async () => {
    const template = {
      body: '{"order":"{{ data.id }}","n":{{ data.n }},"of":"{{ event.source }}","try":{{ delivery.attempt }}}',
      content_type: "application/vnd.erp+json",
      headers: { "X-Order": "{{ data.id | upcase }}", "X-Empty": "{{ data.none }}" },
      url: `${sink.url}/orders/{{ data.id }}?name={{ data.name }}`,
    };
    const { request, subscription, text } = await deliver({ template }, { id: "a-1", n: 5, name: "A & B/C" });
    expect(text).toBe('{"order":"a-1","n":5,"of":"shop","try":1}');
    expect(request?.headers).toMatchObject({ "content-type": "application/vnd.erp+json", "x-order": "A-1" });
    expect(request?.headers["x-empty"]).toBeUndefined();
    expect(request?.path).toBe("/orders/a-1?name=A%20%26%20B%2FC");
    expect(request?.headers["x-webhook-signature"]).toBe(verifyPlain(subscription.secret, request?.body));
  });

  it("leave alone what they do not say", async () => {
    const { text, request } = await deliver({ template: { headers: { "X-Type": "{{ event.type }}" } } }, { a: 1 });
    expect(JSON.parse(text)).toMatchObject({ event: `kind-${number}.made`, data: { a: 1 } });
    expect(request?.headers["x-type"]).toBe(`kind-${number}.made`);
  });

  it("know the request of a webhook and the metadata of a published event", async () => {
    const template = { body: "{{ metadata.trace }} {{ headers.any }}", content_type: "text/plain" };
    const { text } = await deliver({ template }, {}, { metadata: { trace: "t-1" } });
    expect(text).toBe("t-1 ");

    await gateway.post("/api/v1/sources", { name: "hooks" });
    const ofRequest = { body: "{{ headers['x-shop'] }} {{ query.a }} {{ data }}", content_type: "text/plain" };
    await gateway.subscribe({ ...settings({ template: ofRequest }), events: ["webhook.hooks"] });
    const before = sink.requests.length;
    await fetch(`${gateway.url}/webhook/hooks?a=1`, {
      method: "POST",
      headers: { "x-shop": "s-1", "content-type": "text/plain" },
      body: "plain",
    });
    await sink.received(before + 1);
    expect(String(sink.requests[before]?.body)).toBe("s-1 1 plain");
  });

  it("keep numbers as they were published", async () => {
    const subscription = settings({ template: { body: '{"n":{{ data.n }},"all":{{ data | json }}}' } });
    await gateway.subscribe(subscription);
    const before = sink.requests.length;
    const body = `{"event_type":"kind-${number}.made","payload":{"n":12345678901234567890,"p":1.50}}`;
    await gateway.request("POST", "/api/v1/events", { body, headers: { "content-type": "application/json" } });
    await sink.received(before + 1);
    expect(String(sink.requests[before]?.body)).toBe(
      '{"n":12345678901234567890,"all":{"n":12345678901234567890,"p":1.50}}',
    );
  });

  it.each([
    ["a header with a line break", { headers: { "X-Name": "{{ data.name }}" } }, "a\r\nX-Evil: 1", /control character/],
    ["a header that HTTP cannot say", { headers: { "X-Name": "{{ data.name }}" } }, "Grüße", /printable ASCII/],
    ["no JSON", { body: '{% if data.name %}{"a":{% endif %}' }, "x", /template\.body does not produce JSON/],
    [
      "more than 256 KB",
      { body: "[{% for i in (1..data.n) %}{{ data.name | json }},{% endfor %}1]" },
      "x".repeat(999),
      /256 KB/,
    ],
    [
      "steps without end",
      { body: "{% for i in (1..data.n) %}{% for j in (1..data.n) %}{% endfor %}{% endfor %}1" },
      "",
      /end/,
    ],
  ])("are a dead letter with a reason where they make %s", async (_, template, name, reason) => {
    const delivery = await fail({ template }, { name, n: 1000 });
    expect(delivery).toMatchObject({
      dead_reason: "refused",
      last_error: expect.stringMatching(reason),
      attempt_count: 1,
    });
    expect(delivery["attempts"]).toMatchObject([{ result: "error", request_headers: {} }]);
  });

  it("lead to no other place than the URL", async () => {
    const other = `${sink.url.replace("127.0.0.1", "localhost")}/x`;
    const delivery = await fail({ template: { url: `{% if data.a %}${other}{% endif %}` } }, { a: 1 });
    expect(delivery["last_error"]).toMatch(/template\.url gives .*, which is not at /);
  });

  it.each([
    [
      "an unknown field",
      { body: "{{ data.totl }}" },
      "template.body",
      "data.totl is not in the schema of order.created; did you mean data.total?",
    ],
    ["an unknown name", { body: "{{ dta.total }}" }, "template.body", "dta is not known here; did you mean data?"],
    ["an unknown filter", { body: "{{ data.total | mony }}" }, "template.body", "has an unknown filter mony"],
    ["an unknown tag", { body: "{% include 'x' %}" }, "template.body", "has an unknown tag include"],
    ["no end", { body: "{% for i in (1..99999999) %}x{% endfor %}" }, "template.body", "too large"],
    ["100 MB", { body: `{% for i in (1..99999) %}${"x".repeat(1050)}{% endfor %}` }, "template.body", "256 KB"],
    [
      "deep tags",
      { body: "{% if 1 %}".repeat(200) + "{% endif %}".repeat(200) },
      "template.body",
      "is nested more than 100 tags deep",
    ],
    [
      "prototypes",
      { body: "{{ data.constructor.constructor }}" },
      "template.body",
      "data.constructor is not in the schema",
    ],
    ["a line break", { headers: { "X-A": "a\r\nb" } }, "template.headers.X-A", "control character"],
    ["a header of ours", { headers: { "webhook-id": "x" } }, "template.headers.webhook-id", "is set by the gateway"],
    ["a host", { url: "https://{{ data.name }}/" }, "template.url", "scheme, host or port"],
    ["no JSON", { body: '{"a":' }, "template.body", "does not produce JSON"],
    ["a type alone", { content_type: "text/plain" }, "template.content_type", "needs a `body` beside it"],
  ])("are rejected when they are saved: %s", async (_, template, field, message) => {
    const { status, json } = await gateway.post("/api/v1/subscriptions", {
      ...settings({ template }),
      events: ["order.created"],
    });
    expect([status, json["field"]]).toEqual([422, field]);
    expect(json["detail"]).toContain(message);
  });

  it("are asked for fields only where every type that the patterns name has a schema", async () => {
    const template = { body: "{{ data.whatever }}", content_type: "text/plain" };
    for (const events of [["*"], ["order.created", "order.other"], ["#.created"]]) {
      const { status } = await gateway.post("/api/v1/subscriptions", { ...settings({ template }), events });
      expect(status).toBe(201);
    }
    const { status } = await gateway.post("/api/v1/subscriptions", { ...settings({ template }), events: ["order.*"] });
    expect(status).toBe(422);
  });

  it("are rejected in a change too, and not asked again where they stay", async () => {
    const template = { body: "{{ data.total }}" };
    const { id } = await gateway.subscribe({ ...settings({ template }), events: ["order.created"] });
    const path = `/api/v1/subscriptions/${id}`;
    expect((await send("PATCH", path, { template: { body: "{{ data.totl }}" } })).status).toBe(422);
    const schema = { type: "object", properties: { sum: {} } };
    expect((await send("PUT", "/api/v1/event-types/order.created/versions/1.0", { schema })).status).toBe(200);
    expect((await send("PATCH", path, { description: "still the same" })).status).toBe(200);
    expect((await send("PATCH", path, { template: { body: "{{ data.total }} " } })).status).toBe(422);
    expect((await gateway.get(path)).json).toMatchObject({ template, preset: null });
  });

  it.each([
    [{ preset: "slack", template: { body: "x" } }, "template.body"],
    [{ preset: "slack", format: "envelope" }, "format"],
    [{ preset: "slack", mode: "forward" }, "preset"],
    [{ preset: "irc" }, "preset"],
  ])("fit together with the rest: %j", async (more, field) => {
    const { status, json } = await gateway.post("/api/v1/subscriptions", settings(more));
    expect([status, json["field"]]).toEqual([422, field]);
  });

  it("are declared in the configuration, which is rejected as a whole when one is wrong", async () => {
    const yaml = (body: string) =>
      `subscriptions:\n  - { name: declared, url: "${sink.url}", events: [a.b], template: { body: '${body}' } }\n`;
    await expect(gateway.reload(yaml("{{ dta.a }}"))).rejects.toThrow(/template\.body: dta is not known here/);
    await gateway.reload(yaml("{{ data.a | json }}"));
    const { json } = await gateway.get("/api/v1/subscriptions?limit=200");
    const names = (json["data"] as { name: string }[]).map(({ name }) => name);
    expect(names).toContain("declared");
  });
});
