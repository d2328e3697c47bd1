import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { readApiDocument } from "../support/api-document.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { openStream, type TestStream, type TestStreamOptions } from "../support/stream-client.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const DAY_MS = 86_400_000;

describe("the live stream", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let streams: TestStream[] = [];

  beforeEach(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterEach(async () => {
    for (const stream of streams) stream.close();
    streams = [];
    await Promise.all([gateway.close(), sink.close()]);
  });

  async function open(options?: TestStreamOptions): Promise<TestStream> {
    const stream = await openStream(gateway.url, options);
    streams.push(stream);
    if (stream.status === 200) await stream.received("ready", 1);
    return stream;
  }
  async function publish(type: string, more: object = {}): Promise<string> {
    const answer = await gateway.publish({ event_type: type, payload: { a: 1 }, ...more });
    expect(answer.status).toBe(202);
    return answer.json["event_id"] as string;
  }
  const idsOf = (stream: TestStream, name = "event") => stream.of(name).map((data) => data.event_id);

  // shows: C5
  it("shows events and attempts as they come, as the lists show them", async () => {
    await gateway.subscribe({ name: "sink", url: sink.url });
    const stream = await open();
    expect(stream.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const id = await publish("order.created");
    const [attempt] = await stream.received("attempt", 1);
    const [event] = stream.of("event");
    const listed = (await gateway.get("/api/v1/events")).json["data"] as object[];
    expect({ ...event, status: "COMPLETED" }).toEqual(listed[0]);
    const [delivery] = await gateway.deliveries();
    expect(attempt).toMatchObject({ ...delivery, source: "api", subscription_name: "sink" });
    expect(attempt?.attempt).toMatchObject({ number: 1, result: "success", response_code: 200, trigger: "first" });
    expect(event?.event_id).toBe(id);
    expect(stream.frames.map(({ name }) => name)).toEqual(["ready", "event", "attempt"]);
    const document = readApiDocument((await gateway.get("/openapi.json")).json);
    const described = { ready: "StreamReady", event: "StreamEvent", attempt: "StreamAttempt" };
    for (const { name, data } of stream.frames) {
      const schema = `/components/schemas/${described[name as keyof typeof described]}`;
      expect(document.check(schema, data)).toBeUndefined();
      expect(document.check(schema, { ...data, more: 1 })).toMatch(/additional/);
    }
  });

  it("shows modes with what they say, whatever is asked of bodies", async () => {
    await gateway.subscribe({ name: "sink", url: sink.url });
    const stream = await open({ query: "types=mode" });
    await publish("order.created");
    const targets = (await gateway.get("/api/v1/targets")).json["data"] as { name: string }[];
    const name = encodeURIComponent(targets[0]?.name ?? "");
    expect((await gateway.post(`/api/v1/targets/${name}/mode`, { mode: "QUEUE" })).status).toBe(200);
    const [mode] = await stream.received("mode", 1);
    expect(mode).toMatchObject({ event_type: "gateway.mode_changed", payload: { mode: "QUEUE", forced: true } });
    expect(stream.of("event")).toEqual([]);
  });

  it("shows alerts with what they say", async () => {
    sink.answerWith({ status: 400 });
    await gateway.restart({ env: ALERTING });
    await gateway.subscribe({ name: "sink", url: sink.url, events: ["order.*"] });
    const stream = await open({ query: "types=alert" });
    await publish("order.created");
    await gateway.moveClockUntil(() => stream.of("alert").length > 0);
    const [alert] = stream.of("alert");
    expect(alert).toMatchObject({ event_type: "alert.fired", payload: { rule: "dead_letters", count: 1 } });
    const counts: Record<string, number> = {};
    for (const query of ["rule=dead_letters", "severity=warning", "rule=disk_low", "severity=critical"]) {
      const past = await open({ query: `follow=false&since=1970-01-01T00:00:00Z&${query}` });
      await past.ended();
      counts[query] = past.frames.filter(({ name }) => name !== "ready" && name !== "end").length;
    }
    // One for the gateway, and one for the tenant.
    expect(counts).toEqual({
      "rule=dead_letters": 2,
      "severity=warning": 2,
      "rule=disk_low": 0,
      "severity=critical": 0,
    });
  });

  it("goes on where a client was, over a restart of the gateway, without a gap and without a repeat", async () => {
    await gateway.subscribe({ name: "sink", url: sink.url });
    const stream = await open();
    const ids = [await publish("a.b"), await publish("a.b")];
    await stream.received("attempt", 2);
    stream.close();
    ids.push(await publish("a.b"));
    await gateway.restart();
    ids.push(await publish("a.b"));
    await gateway.settled();
    const again = await open({ lastEventId: stream.lastEventId() });
    ids.push(await publish("a.b"));
    await again.received("attempt", 3);
    expect([...idsOf(stream), ...idsOf(again)]).toEqual(ids);
    expect([...idsOf(stream, "attempt"), ...idsOf(again, "attempt")].sort()).toEqual([...ids].sort());
    // From the middle of what came: frame by frame the same as before.
    const [, second] = stream.frames.filter(({ name }) => name === "event");
    const middle = await open({ lastEventId: second?.id, query: "follow=false" });
    await middle.ended();
    expect(idsOf(middle)).toEqual(ids.slice(2));
    expect(middle.frames.at(-1)).toMatchObject({ name: "end", data: { reason: "caught_up" } });
  });

  it("takes the id from the query too, for clients that cannot send a header", async () => {
    const begin = (await open()).lastEventId() ?? "";
    const id = await publish("a.b");
    const stream = await open({ query: `follow=false&last_event_id=${begin}` });
    await stream.ended();
    expect(idsOf(stream)).toEqual([id]);
  });

  it("shows what the lists show with the same filters", async () => {
    const begin = (await open()).lastEventId();
    const taking = await gateway.subscribe({ name: "orders", url: sink.url, events: ["order.*"] });
    const refusing = await openSinkServer({ answer: { status: 400 } });
    await gateway.subscribe({ name: "all", url: refusing.url });
    for (const type of ["order.created", "order.paid", "milk.collected"]) {
      for (const tenant of ["default", "other"]) {
        await publish(type, {
          event_id: `${type}:${tenant}`.replaceAll(".", "-"),
          tenant_id: tenant,
          source: tenant === "other" ? "erp" : "api",
          ordering_key: type,
          metadata: { farm: tenant, type },
        });
      }
    }
    await gateway.settled();
    async function shown(query: string): Promise<TestStream> {
      const stream = await open({ query: `follow=false&${query}`, lastEventId: begin });
      await stream.ended();
      return stream;
    }
    for (const query of [
      "",
      "event_type=order.created",
      "event_type=order.%23",
      "source=erp",
      "tenant_id=other&event_type=*",
      "id=order-paid:other",
      "id=order-*",
      "ordering_key=order.paid",
      "label=farm",
      "label=farm%3Dother&label=type%3Dorder.paid",
      "label=nobody",
      "unmatched=true",
      "unmatched=false",
    ]) {
      const listed = (await gateway.get(`/api/v1/events?limit=500&${query}`)).json["data"] as { event_id: string }[];
      expect(listed.length > 0).toBe(query !== "label=nobody");
      expect(idsOf(await shown(query))).toEqual(listed.map((event) => event.event_id).reverse());
    }
    for (const query of ["", "status=dead", "status=delivered", `subscription_id=${taking.id}`]) {
      const listed = await gateway.deliveries(query);
      const stream = await shown(`types=attempt&${query}`);
      expect(
        stream
          .of("attempt")
          .map(({ id }) => String(id))
          .sort(),
      ).toEqual(listed.map(({ id }) => id).sort());
    }
    const ofOne = await shown(`subscription_id=${taking.id}`);
    const events = (await gateway.get("/api/v1/events?event_type=order.*&tenant_id=default")).json["data"] as object[];
    expect(ofOne.of("event").length).toBe(events.length);
    expect((await shown("status=dead")).of("event")).toEqual([]);
    const attemptsOf = async (query: string) => idsOf(await shown(query), "attempt").length;
    const dead = (await gateway.get("/api/v1/dead-letters?reason=refused")).json["data"] as object[];
    expect([await attemptsOf("reason=refused"), await attemptsOf("reason=expired")]).toEqual([dead.length, 0]);
    expect(dead.length).toBeGreaterThan(0);
    expect(await attemptsOf("ordering_key=order.paid")).toBe(2);
    expect(await attemptsOf("id=order-paid:default")).toBe(2);
    // What only events and alerts have leaves attempts out.
    for (const query of ["label=farm", "unmatched=false", "rule=dead_letters"]) expect(await attemptsOf(query)).toBe(0);
    await refusing.close();
  });

  it("gives bodies when they are asked for, as JSON and byte for byte, up to a limit", async () => {
    const [plain, exact] = [await open({ query: "body=true" }), await open({ query: "body=base64" })];
    const body = '{ "n": 12345678901234567890,\r\n "text": "\\r\\ndata: no frame" }';
    await gateway.webhook("shop", body);
    await gateway.webhook("shop", "plain\r\n\r\nevent: gap\ndata: {}\n\n", { "content-type": "text/plain" });
    await gateway.webhook("shop", JSON.stringify("x".repeat(300_000)));
    const shown = await plain.received("event", 3);
    expect(plain.text()).toContain('"n": 12345678901234567890');
    expect(shown[1]?.["payload"]).toBe("plain\r\n\r\nevent: gap\ndata: {}\n\n");
    expect([shown[2]?.["payload_omitted"], shown[2]?.["payload"]]).toEqual([true, undefined]);
    const [first] = await exact.received("event", 3);
    expect(Buffer.from(String(first?.["payload_base64"]), "base64").toString()).toBe(body);
    expect(first?.["request"]).toMatchObject({ method: "POST", path: "/webhook/shop" });
  });

  it("cannot be broken by what senders write", async () => {
    const stream = await open({ query: "body=true" });
    const hostile = "\r\n\r\nid: 1\nevent: dropped\ndata: {}\n\n\u2028\u2029\u0000\ufeff";
    for (const text of [hostile, `"${hostile}`, `{"a":"${"\\r\\n".repeat(100_000)}"}`]) {
      await publish("a.b", { payload: { text }, metadata: { note: hostile } });
      expect((await gateway.webhook("shop", text, { "content-type": "text/plain" })).status).toBe(202);
    }
    const events = await stream.received("event", 6);
    expect(stream.frames.map(({ name }) => name)).toEqual(["ready", ...events.map(() => "event")]);
    expect(events.map(({ payload }) => JSON.stringify(payload)).join()).toContain(JSON.stringify(hostile).slice(1, -1));
  });

  it("sends a heartbeat every 15 seconds, with the place that the client has reached", async () => {
    const stream = await open({ query: "types=alert" });
    const begin = stream.lastEventId();
    await publish("a.b");
    gateway.moveClock(15_000);
    await until(() => stream.lastEventId() !== begin || stream.text().includes(": heartbeat"));
    await until(() => {
      gateway.moveClock(15_000);
      return stream.lastEventId() !== begin;
    });
    // Nothing that it did not ask for, but what follows is not searched again.
    expect(stream.frames.length).toBe(1);
    const next = await open({ query: "follow=false", lastEventId: stream.lastEventId() });
    await next.ended();
    expect(next.of("event")).toEqual([]);
  });

  it("tells a client that comes after retention what it has missed, and one of another store that it is lost", async () => {
    const begin = (await open()).lastEventId();
    await publish("a.b");
    gateway.moveClock(40 * DAY_MS);
    const last = await publish("a.b");
    await gateway.post("/api/v1/jobs/prune-events/run");
    await until(async () => ((await gateway.get("/api/v1/events")).json["data"] as object[]).length === 1);
    const late = await open({ lastEventId: begin, query: "follow=false" });
    await late.ended();
    const { received_at: receivedAt } = await gateway.event(last);
    expect(late.of("gap")).toEqual([{ reason: "deleted", complete_since: receivedAt }]);
    expect(idsOf(late)).toEqual([last]);
    for (const lastEventId of ["00000000.1.1", (begin ?? "").replace(/\.\d+\.\d+$/, ".999.999")]) {
      const lost = await open({ lastEventId, query: "follow=false" });
      await lost.ended();
      expect(lost.of("gap")).toEqual([{ reason: "unknown_position", complete_since: null }]);
    }
    const wrong = await open({ lastEventId: "what?" });
    expect(wrong.status).toBe(422);
  });

  it("drops a client that does not read, tells it why, and loses nothing for it", async () => {
    await gateway.restart({ yaml: "limits: { stream_buffer_bytes: 65536 }" });
    const [slow, quick] = [await open({ query: "body=true" }), await open({ query: "body=true" })];
    slow.pause();
    const payload = { filler: "x".repeat(200_000) };
    let published = 0;
    while (!gateway.logText().includes('"reason":"too_slow"')) {
      await publish("a.b", { payload });
      published++;
    }
    slow.resume();
    await slow.ended();
    expect(slow.frames.at(-1)).toMatchObject({ name: "dropped", data: { reason: "too_slow" } });
    await quick.received("event", published);
    const again = await open({ lastEventId: slow.lastEventId(), query: "body=true" });
    await again.received("event", published - slow.of("event").length);
    expect([...idsOf(slow), ...idsOf(again)]).toEqual(idsOf(quick));
  });

  it("drops a client that takes nothing for two heartbeats while it catches up", async () => {
    const begin = (await open()).lastEventId();
    for (let i = 0; i < 60; i++) await publish("a.b", { payload: { filler: "x".repeat(250_000) } });
    const stalled = await open({ lastEventId: begin, query: "body=true" });
    stalled.pause();
    await until(() => {
      gateway.moveClock(15_000);
      return gateway.logText().includes('"reason":"stalled"');
    });
    stalled.resume();
    await stalled.ended();
    expect(stalled.frames.at(-1)).toMatchObject({ name: "dropped", data: { reason: "stalled" } });
  });

  it("is open to so many with one key, and so many in all", async () => {
    await gateway.restart({ yaml: "limits: { max_streams: 3, max_streams_per_key: 2 }" });
    const key = await gateway.createKey(["read"]);
    const [first] = [await open({ key }), await open({ key })];
    const refused = await open({ key });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
    await open();
    expect((await open()).status).toBe(429);
    first?.close();
    await until(async () => (await openStream(gateway.url, { key, query: "follow=false" })).status === 200);
  });

  it("ends for a key that is revoked, before anything more is told", async () => {
    const made = (await gateway.post("/api/v1/keys", { name: "reader", scopes: ["read"] })).json as Record<
      string,
      string
    >;
    const stream = await open({ key: made["key"] ?? "" });
    await gateway.request("DELETE", `/api/v1/keys/${made["id"]}`);
    await publish("a.b");
    await stream.ended();
    expect(stream.of("event")).toEqual([]);
    expect(stream.frames.at(-1)).toMatchObject({ name: "dropped", data: { reason: "key_revoked" } });
  });

  it("tells its clients to come again when the gateway stops, and does not keep it from stopping", async () => {
    const [reading, paused] = [await open(), await open()];
    paused.pause();
    await gateway.stop();
    await reading.ended();
    expect(reading.frames.at(-1)).toMatchObject({ name: "end", data: { reason: "shutting_down" } });
    expect(reading.text()).toContain("retry: ");
  });

  it("asks nothing of the store while nobody is there", async () => {
    let reads = 0;
    await gateway.restart({
      makers: {
        openStore: (open) => async (url, options) => {
          const store = await open(url, options);
          const readLog: typeof store.reads.readLog = (...args) => {
            reads++;
            return store.reads.readLog(...args);
          };
          return { ...store, reads: { ...store.reads, readLog } };
        },
      },
    });
    const stream = await open();
    await publish("a.b");
    await stream.received("event", 1);
    stream.close();
    let [before, still] = [-1, 0];
    await until(() => {
      gateway.moveClock(1000);
      still = before === reads ? still + 1 : 0;
      before = reads;
      return still === 20;
    });
    await publish("a.b");
    expect(reads).toBe(before);
  });
});
