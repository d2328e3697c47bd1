import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function openGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ yaml: "sources: [{ name: loop }]", ...options });
  opened.push(gateway);
  return gateway;
}

async function openSink(...options: Parameters<typeof openSinkServer>): Promise<SinkServer> {
  const sink = await openSinkServer(...options);
  opened.push(sink);
  return sink;
}

const backTo = (gateway: TestGateway, name: string) =>
  gateway.subscribe({ name, url: `${gateway.url}/webhook/loop`, events: ["webhook.loop"], allow_own_url: true });

const hopsOf = (sink: SinkServer) => sink.requests.map(({ headers }) => String(headers["x-posthorn-hops"]));

describe("an event that comes back", () => {
  it("ends after eight hops, as a request that is kept with its cause and a dead letter", async () => {
    const gateway = await openGateway();
    await backTo(gateway, "back");
    expect((await gateway.webhook("loop", "{}")).status).toBe(202);
    await until(async () => (await gateway.deadLetters()).length === 1);
    await gateway.settled();
    const deliveries = await gateway.deliveries();
    expect(deliveries).toHaveLength(9);
    expect(deliveries.map(({ status }) => status).toSorted()).toEqual([
      ...Array(1).fill("dead"),
      ...Array(8).fill("delivered"),
    ]);
    const [dead] = await gateway.deadLetters();
    expect(dead).toMatchObject({
      dead_reason: "refused",
      attempt_count: 1,
      last_error: expect.stringContaining("loop"),
    });
    const { attempts } = await gateway.delivery(dead?.id ?? "");
    expect(attempts[0]).toMatchObject({ response_code: 508, request_headers: { "X-Posthorn-Hops": "9" } });
    const rejected = (await gateway.rejected("loop")).filter(({ outcome }) => outcome === "rejected");
    expect(rejected).toMatchObject([{ cause: "loop" }]);
  });

  it("ends also where two subscriptions send it back, and each makes two of one", async () => {
    const gateway = await openGateway();
    await backTo(gateway, "one");
    await backTo(gateway, "two");
    await gateway.webhook("loop", "{}");
    // Both are suspended by their dead letters before all of them have come back.
    await until(async () => (await gateway.deadLetters()).length >= 11, 120_000);
    const sent = (await gateway.deliveries()).flatMap(({ status }) => status);
    expect(sent.length).toBeLessThanOrEqual(1022);
    const causes = new Set(
      (await gateway.rejected("loop")).map(({ cause }) => cause).filter((cause) => cause !== null),
    );
    expect(causes).toEqual(new Set(["loop"]));
  });

  it("goes on without the count (control)", async () => {
    const gateway = await openGateway({ broken: { forgetHops: true } });
    await backTo(gateway, "back");
    await gateway.webhook("loop", "{}");
    await until(async () => (await gateway.deliveries()).length > 30);
    expect(await gateway.deadLetters()).toEqual([]);
  });
});

describe("the count of hops", () => {
  it("is one more than the highest that came, for webhooks and published events", async () => {
    const gateway = await openGateway();
    const sink = await openSink();
    await gateway.subscribe({ name: "sink", url: sink.url });
    const event = { event_type: "order.created", payload: {}, metadata: { hops: 7 } };
    const publish = (hops: string) =>
      gateway.request("POST", "/api/v1/events", { body: JSON.stringify(event), headers: { "x-posthorn-hops": hops } });
    await gateway.webhook("loop", "{}");
    await gateway.webhook("loop", "{}", { "x-posthorn-hops": "3, 5 ,4" });
    await gateway.webhook("loop", "{}", { "x-posthorn-hops": "nonsense, -1, 1e1" });
    await gateway.publish(event);
    expect((await publish("8")).status).toBe(202);
    await sink.received(5);
    expect(hopsOf(sink).toSorted()).toEqual(["1", "1", "1", "6", "9"]);
    for (const hops of ["9", "1, 9", "99999999999999999999999"]) {
      expect(await publish(hops)).toMatchObject({ status: 508, json: { code: "loop" } });
      const refused = await gateway.webhook("loop", "{}", { "x-posthorn-hops": hops });
      expect(refused).toMatchObject({ status: 508, json: { code: "loop" } });
    }
  });

  it("is kept with the event: a retry after a restart says the same, and so does one that forwards", async () => {
    const gateway = await openGateway();
    const sink = await openSink({ answer: { status: 503 } });
    const retry = { retry_policy: { delays_s: [1, 1, 1, 1, 1, 1, 1, 1] } };
    await gateway.subscribe({ name: "plain", url: `${sink.url}/plain`, ...retry });
    await gateway.subscribe({ name: "forwarding", url: `${sink.url}/forward`, mode: "forward", ...retry });
    await gateway.webhook("loop", "{}", { "x-posthorn-hops": "4" });
    await sink.received(2);
    await gateway.restart();
    const before = sink.requests.length;
    sink.answerWith({ status: 200 });
    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    expect(sink.requests.length).toBeGreaterThan(before);
    expect(new Set(hopsOf(sink))).toEqual(new Set(["5"]));
    expect(new Set(sink.requests.slice(before).map(({ path }) => path)).size).toBe(2);
  });
});

describe("a destination at the gateway itself", () => {
  it("is rejected unless the subscription says that it may be", async () => {
    const gateway = await openGateway({ env: { PUBLIC_URL: "https://Hooks.example/in/" } });
    const make = (url: string, more: object = {}) =>
      gateway.post("/api/v1/subscriptions", { name: url, url, events: ["*"], ...more });
    const own = [
      `${gateway.url}/webhook/loop`,
      `http://localhost:${gateway.port}/`,
      `http://127.0.0.1:${gateway.port}/api/v1/events`,
      `http://[::ffff:127.0.0.1]:${gateway.port}/`,
      "https://hooks.example/in/webhook/{source}",
      "http://hooks.example./in/webhook/a",
      "https://hooks.example/in",
      "https://hooks.example//in/webhook/a",
      "https://hooks.example/%69n/webhook/a",
    ];
    for (const url of own) {
      expect([url, await make(url)]).toMatchObject([url, { status: 422, json: { field: "url" } }]);
      expect([url, (await make(url, { allow_own_url: true })).status]).toEqual([url, 201]);
    }
    const others = [
      `http://127.0.0.1:${gateway.port + 1}/`,
      "https://hooks.example/other",
      "https://hooks.example/inside",
      "https://hooks.example:8443/in/webhook/a",
      "https://not-hooks.example/in/",
    ];
    for (const url of others) expect([url, (await make(url)).status]).toEqual([url, 201]);
  });

  it("is nowhere that a redirect may lead, unless the subscription says so", async () => {
    const gateway = await openGateway();
    const sink = await openSink();
    sink.answerWith({ redirectTo: `${gateway.url}/webhook/loop`, status: 307 });
    await gateway.subscribe({ name: "around", url: sink.url, events: ["a.b"] });
    await gateway.publish({ event_type: "a.b", payload: {}, event_id: "around" });
    await until(async () => (await gateway.deadLetters()).length === 1);
    expect(await gateway.deadLetters()).toMatchObject([
      { dead_reason: "blocked", last_error: expect.stringContaining("leads back to this gateway") },
    ]);
    await gateway.subscribe({ name: "allowed", url: sink.url, events: ["c.d"], allow_own_url: true });
    await gateway.publish({ event_type: "c.d", payload: {}, event_id: "allowed" });
    await until(async () => (await gateway.deliveryOf("allowed")).status === "delivered");
  });

  it("is nothing that a change can bring, and is blocked where the gateway came to be there later", async () => {
    const gateway = await openGateway();
    const made = await gateway.subscribe({ name: "a", url: "https://later.example/in" });
    const path = `/api/v1/subscriptions/${made.id}`;
    const change = (body: object) => gateway.request("PATCH", path, { body: JSON.stringify(body), headers: JSON_TYPE });
    expect(await change({ url: `${gateway.url}/webhook/loop` })).toMatchObject({ status: 422, json: { field: "url" } });
    await gateway.restart({ yaml: "sources: [{ name: loop }]", env: { PUBLIC_URL: "https://later.example" } });
    await gateway.publish({ event_type: "a.b", payload: {} });
    await until(async () => (await gateway.deadLetters()).length === 1);
    expect(await gateway.deadLetters()).toMatchObject([
      { dead_reason: "blocked", last_error: expect.stringContaining("allow_own_url") },
    ]);
    const allowed = await change({ allow_own_url: true });
    expect(allowed).toMatchObject({ status: 200, json: { allow_own_url: true } });
  });
});

const JSON_TYPE = { "content-type": "application/json" };
