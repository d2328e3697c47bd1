import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN_ID = "00f067aa0ba902b7";
const traceparent = `00-${TRACE_ID}-${SPAN_ID}-01`;
const JSON_TYPE = { "content-type": "application/json" };

describe("a trace that a request belongs to", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  let path: string;
  beforeEach(async () => {
    sink = await openSinkServer();
    gateway = await startTestGateway();
    const made = await gateway.post("/api/v1/subscriptions", {
      name: "a",
      url: `${sink.url}/hook`,
      events: ["#"],
      retry_policy: { delays_s: [0, 0] },
    });
    path = `/api/v1/subscriptions/${String(made.json["id"])}`;
  });
  afterEach(async () => {
    await gateway.close();
    await sink.close();
  });

  const publish = (headers: Record<string, string>, id = "e1") =>
    gateway.request("POST", "/api/v1/events", {
      body: JSON.stringify({ event_type: "order.created", event_id: id, payload: {}, metadata: { a: 1 } }),
      headers: { ...JSON_TYPE, ...headers },
    });
  const traceOf = (index: number) => String(sink.requests[index]?.headers["traceparent"]);

  it("goes on with each attempt, as a span of its own, and is shown with the attempt", async () => {
    sink.answerWith((_, index) => ({ status: index === 0 ? 503 : 200 }));
    expect((await publish({ traceparent, tracestate: "congo=t61" })).status).toBe(202);
    await gateway.settled();
    const sent = sink.requests.map(({ headers }) => [headers["traceparent"], headers["tracestate"]]);
    expect(sent).toHaveLength(2);
    for (const [parent, state] of sent) {
      expect(parent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
      expect([String(parent).includes(SPAN_ID), state]).toEqual([false, "congo=t61"]);
    }
    expect(traceOf(0)).not.toBe(traceOf(1));
    const { attempts } = await gateway.deliveryOf("e1");
    expect(attempts).toMatchObject([
      { request_headers: { traceparent: traceOf(0), tracestate: "congo=t61" } },
      { request_headers: { traceparent: traceOf(1) } },
    ]);
  });

  it("goes on at the gateway of an SMS", async () => {
    const destination = { gateway: "generic-http", url: `${sink.url}/sms`, to: "+491511234567", text: "Hello" };
    await gateway.post("/api/v1/subscriptions", { name: "sms", kind: "sms", events: ["#"], destination });
    await publish({ traceparent, tracestate: "congo=t61" });
    await gateway.settled();
    await publish({}, "untraced");
    await gateway.settled();
    const sent = sink.requests.filter(({ path: of }) => of === "/sms").map(({ headers }) => headers);
    expect(sent).toMatchObject([
      { traceparent: expect.stringMatching(new RegExp(`^00-${TRACE_ID}-(?!${SPAN_ID})[0-9a-f]{16}-01$`)) as string },
      { traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) as string },
    ]);
    expect(sent.map(({ tracestate }) => tracestate)).toEqual(["congo=t61", undefined]);
    // What comes without a trace has one of its own, the same at each destination.
    const traceIds = sink.requests.slice(-2).map(({ headers }) => String(headers["traceparent"]).slice(3, 35));
    expect(new Set(traceIds).size).toBe(1);
  });

  it("goes on for webhooks too, and after a restart", async () => {
    await gateway.post(`${path}/pause`, {});
    const sent = await gateway.request("POST", "/webhook/shop", {
      body: "{}",
      headers: { ...JSON_TYPE, traceparent, "x-posthorn-hops": "2" },
    });
    expect(sent.status).toBe(202);
    await gateway.restart();
    await gateway.post(`${path}/resume`, {});
    await gateway.settled();
    expect(traceOf(0)).toMatch(new RegExp(`^00-${TRACE_ID}-`));
    expect(sink.requests[0]?.headers["x-posthorn-hops"]).toBe("3");
  });

  it("is not believed when it is not in order: the event has a trace of its own", async () => {
    await publish({ traceparent: `00-${"0".repeat(32)}-${SPAN_ID}-01`, tracestate: "congo=t61" });
    await gateway.settled();
    expect(traceOf(0)).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(sink.requests[0]?.headers["tracestate"]).toBeUndefined();
  });
});
