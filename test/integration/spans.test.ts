import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  ParentBasedSampler,
  AlwaysOnSampler,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OutgoingMessage, Publisher } from "../../src/queues/broker.ts";
import type { PartMakers } from "../../src/gateway/start.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN_ID = "00f067aa0ba902b7";
const SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-01`;
const UNSAMPLED = `00-${TRACE_ID}-${SPAN_ID}-00`;
const SECRET = "s3cret-of-the-path";
const PAYLOAD = "what-the-body-says";

const exporter = new InMemorySpanExporter();
let gateway: TestGateway;
let sink: SinkServer;

function register(sampler: Sampler = new ParentBasedSampler({ root: new AlwaysOnSampler() })): void {
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler, spanProcessors }));
}

async function start(options: TestGatewayOptions = {}): Promise<void> {
  gateway = await startTestGateway(options);
  await gateway.post("/api/v1/subscriptions", {
    name: "books",
    url: `${sink.url}/hook/${SECRET}?token=${SECRET}`,
    events: ["webhook.#"],
    retry_policy: { delays_s: [0] },
  });
}

async function send(headers: Record<string, string> = {}): Promise<void> {
  const sent = await gateway.request("POST", "/webhook/shop", {
    body: JSON.stringify({ note: PAYLOAD }),
    headers: { "content-type": "application/json", "x-posthorn-hops": "2", ...headers },
  });
  expect(sent.status).toBe(202);
  await gateway.settled();
}

const spansOf = (name: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => span.name === name);
const accepts = () => spansOf("accept webhook.shop");
const attempts = () => spansOf("deliver books");
const sentParent = (index: number) => String(sink.requests[index]?.headers["traceparent"]);

beforeEach(async () => {
  sink = await openSinkServer();
});
afterEach(async () => {
  await gateway.close();
  await sink.close();
  trace.disable();
  exporter.reset();
});

describe("with an OpenTelemetry SDK", () => {
  it("an event is a span of the trace that it came with, and each attempt is one that is linked to it", async () => {
    register();
    await start();
    sink.answerWith((_, index) => ({ status: index === 0 ? 503 : 200 }));
    await send({ traceparent: SAMPLED, tracestate: "congo=t61" });

    const [accept] = accepts();
    expect(accept).toMatchObject({
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.UNSET },
      parentSpanContext: { traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true },
      attributes: {
        "messaging.system": "posthorn",
        "messaging.operation.type": "process",
        "messaging.destination.name": "webhook.shop",
        "posthorn.source": "shop",
        "posthorn.outcome": "stored",
        "posthorn.deliveries": 1,
      },
    });
    const own = accept?.spanContext();
    const [failed, delivered] = attempts();
    for (const [index, span] of [failed, delivered].entries()) {
      const { traceId, spanId } = span?.spanContext() ?? {};
      expect(sentParent(index)).toBe(`00-${TRACE_ID}-${spanId}-01`);
      expect(sink.requests[index]?.headers["tracestate"]).toBe("congo=t61");
      expect(sink.requests[index]?.headers["x-posthorn-hops"]).toBe("3");
      expect([traceId, span?.kind, span?.parentSpanContext?.spanId]).toEqual([
        TRACE_ID,
        SpanKind.PRODUCER,
        own?.spanId,
      ]);
      expect(span?.links).toMatchObject([{ context: { traceId: TRACE_ID, spanId: own?.spanId } }]);
      expect(span?.attributes).toMatchObject({
        "messaging.operation.type": "send",
        "messaging.destination.name": "books",
        "messaging.message.id": accept?.attributes["messaging.message.id"],
        "posthorn.attempt": index + 1,
        "server.address": "127.0.0.1",
      });
    }
    expect(failed).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: "answered 503" },
      attributes: { "http.response.status_code": 503, "error.type": "503" },
    });
    expect(delivered).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { "http.response.status_code": 200, "posthorn.outcome": "delivered" },
    });
    expect(attempts()).toHaveLength(2);

    const eventId = String(accept?.attributes["messaging.message.id"]);
    const shown = (await gateway.deliveryOf(eventId)).attempts;
    expect(shown).toMatchObject([
      { request_headers: { traceparent: sentParent(0) } },
      { request_headers: { traceparent: sentParent(1) } },
    ]);
    const told = JSON.stringify(
      exporter.getFinishedSpans().map(({ name, attributes, status, events }) => ({ name, attributes, status, events })),
    );
    expect(told).not.toContain(SECRET);
    expect(told).not.toContain(PAYLOAD);
  });

  it("an event that came without a trace begins one, which its attempts belong to, also after a restart", async () => {
    register();
    await start();
    sink.answerWith(() => ({ status: 200 }));
    await send();
    const [accept] = accepts();
    expect(accept?.parentSpanContext).toBeUndefined();
    const { traceId, spanId } = accept?.spanContext() ?? {};
    expect(attempts()[0]).toMatchObject({ parentSpanContext: { traceId, spanId } });

    const { json } = await gateway.get("/api/v1/subscriptions");
    const path = `/api/v1/subscriptions/${String((json["data"] as { id: string }[])[0]?.id)}`;
    await gateway.post(`${path}/pause`, {});
    await gateway.request("POST", "/webhook/shop", { body: "{}", headers: { "content-type": "application/json" } });
    await gateway.restart();
    await gateway.post(`${path}/resume`, {});
    await gateway.settled();
    const later = accepts()[1]?.spanContext();
    expect(attempts()[1]?.links).toMatchObject([{ context: { traceId: later?.traceId, spanId: later?.spanId } }]);
    expect(sentParent(1)).toBe(`00-${later?.traceId}-${attempts()[1]?.spanContext().spanId}-01`);
  });

  it("control: where the event forgets its trace, attempts have no link and a trace of their own", async () => {
    register();
    await start({ broken: { forgetHops: true } });
    await send({ traceparent: SAMPLED });
    const [attempt] = attempts();
    expect([attempt?.links, attempt?.parentSpanContext]).toEqual([[], undefined]);
    const { traceId, spanId } = attempt?.spanContext() ?? {};
    expect(traceId).not.toBe(TRACE_ID);
    expect(sentParent(0)).toBe(`00-${traceId}-${spanId}-01`);
    const { attempts: shown } = await gateway.deliveryOf(String(attempt?.attributes["messaging.message.id"]));
    expect(shown).toMatchObject([{ request_headers: { traceparent: sentParent(0) } }]);
  });

  it("a message to a queue carries the id of its attempt's span", async () => {
    register();
    const messages: OutgoingMessage[] = [];
    const publisher: Publisher = {
      publish(message) {
        messages.push(message);
        return Promise.resolve({ outcome: "confirmed" });
      },
      close: () => Promise.resolve(),
    };
    const createConnections: NonNullable<PartMakers["createConnections"]> = (create) => (options) => {
      const connections = create(options);
      return {
        ...connections,
        find(kind, name) {
          const connection = connections.find(kind, name);
          return connection && Object.assign(connection, { openPublisher: () => publisher });
        },
      };
    };
    await start({ env: { AMQP_URL: "amqp://127.0.0.1:1/" }, makers: { createConnections } });
    const queue = { name: "far", kind: "amqp", events: ["webhook.#"], destination: { queue: "q", format: "raw" } };
    expect((await gateway.post("/api/v1/subscriptions", queue)).status).toBe(201);
    await send({ traceparent: SAMPLED });
    const [attempt] = spansOf("deliver far");
    expect(attempt?.attributes).toMatchObject({ "posthorn.kind": "amqp", "posthorn.outcome": "delivered" });
    expect(messages).toMatchObject([
      { properties: { traceparent: `00-${TRACE_ID}-${attempt?.spanContext().spanId}-01` } },
    ]);
  });

  it("a destination that is not there is an error with its reason", async () => {
    register();
    await start();
    const { json } = await gateway.get("/api/v1/subscriptions");
    const id = String((json["data"] as { id: string }[])[0]?.id);
    await gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
      body: JSON.stringify({ url: "http://127.0.0.1:1/" }),
      headers: { "content-type": "application/json" },
    });
    await send({ traceparent: SAMPLED });
    const [first] = attempts();
    expect(first).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "connection_error" },
    });
    expect(first?.status.message).toMatch(/ECONNREFUSED|refused/i);
    expect(first?.attributes["http.response.status_code"]).toBeUndefined();
  });

  it("a trace that is not sampled stays so, and goes on", async () => {
    register();
    await start();
    await send({ traceparent: UNSAMPLED });
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(sentParent(0)).toMatch(new RegExp(`^00-${TRACE_ID}-(?!${SPAN_ID})[0-9a-f]{16}-00$`));
  });

  it("a sampler that leaves a trace out takes the flag away", async () => {
    register(new AlwaysOffSampler());
    await start();
    await send({ traceparent: SAMPLED });
    expect(sentParent(0)).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  });

  it("a sampler that throws loses no event, and is told once", async () => {
    const shouldSample = () => {
      throw new Error("out of order");
    };
    register({ shouldSample, toString: () => "broken" });
    await start();
    await send({ traceparent: SAMPLED });
    await send({ traceparent: SAMPLED });
    expect(sentParent(1)).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
    expect(gateway.log.filter(({ msg }) => msg.startsWith("the OpenTelemetry SDK failed"))).toHaveLength(1);
  });

  it("what the SDK holds back is exported when the gateway stops", async () => {
    const spanProcessors = [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 })];
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
    await start();
    await send();
    expect(attempts()).toHaveLength(0);
    await gateway.stop();
    expect(attempts()).toHaveLength(1);
  });
});

describe("without an SDK", () => {
  it("the trace goes on by its headers", async () => {
    await start();
    await send({ traceparent: SAMPLED });
    expect(sentParent(0)).toMatch(new RegExp(`^00-${TRACE_ID}-(?!${SPAN_ID})[0-9a-f]{16}-01$`));
    expect(gateway.log.some(({ msg }) => msg.includes("OpenTelemetry"))).toBe(false);
  });

  it("one that was registered with an older API is told, not used", async () => {
    const place = Symbol.for("opentelemetry.js.api.1");
    const globals = globalThis as Record<symbol, unknown>;
    const before = globals[place];
    globals[place] = { version: "1.4.0", trace: { getTracer: () => expect.unreachable() } };
    try {
      await start();
    } finally {
      globals[place] = before;
    }
    await send();
    expect(gateway.log).toContainEqual(expect.objectContaining({ level: "warn", version: "1.4.0" }));
  });
});
