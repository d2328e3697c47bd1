import { describe, expect, it } from "vitest";
import { parseMessage } from "../../../../src/queues/message.ts";
import { createHeaderSeal } from "../../../../src/queues/sealed-headers.ts";
import { readDetails } from "../../../../src/destinations/event-data.ts";
import { createHeaderChooser, writeEvent } from "../../../../src/destinations/queue/write-event.ts";
import { toQueueDestination } from "../../../../src/destinations/queue/settings.ts";
import type { Attempt } from "../../../../src/destinations/sender.ts";
import { writeKeptRequest } from "../../../../src/model/event.ts";

const KEY = "a key of sixteen or more";
const METADATA = '{"big": 12345678901234567890}';

const attempt = (change: Partial<Attempt> = {}): Attempt =>
  ({
    deliveryId: "dlv_1",
    number: 1,
    generation: 2,
    event: {
      id: "evt_1",
      type: "order.created",
      version: "1.0",
      source: "shop",
      tenantId: "default",
      priority: "high",
      orderingKey: "k",
      occurredAt: Date.UTC(2026, 0, 1),
      receivedAt: Date.UTC(2026, 0, 2),
      contentType: "application/json",
      body: Buffer.from('{"total": 1.0}'),
      origin: "webhook",
    },
    request: writeKeptRequest({
      method: "PUT",
      path: "/webhook/shop/a",
      query: "b=1",
      remote_address: "192.0.2.1",
      headers: { "x-shop": "1", authorization: "***", connection: "x-hop", "x-hop": "2", host: "a.example" },
      sealed: "sealed",
    }),
    details: `{"session_id":"ses","user_id":"u","metadata":${METADATA}}`,
    ...change,
  }) as Attempt;

const TRACE = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: undefined };

function write(given: Attempt, format: "raw" | "message" | "event" | "cloudevents", settings: object = {}) {
  const destination = toQueueDestination({ ...settings, format }, "queue");
  const chooseHeaders = createHeaderChooser(destination, () => ({ authorization: "Bearer canary", cookie: "c" }));
  const facts = {
    eventId: "evt_0",
    hops: 1,
    origin: "str_1",
    publishedAt: Date.UTC(2026, 0, 3),
    chooseHeaders,
    trace: TRACE,
  };
  return writeEvent(format, given, { ...facts, details: readDetails(given.details) });
}

function read(body: Uint8Array | undefined) {
  const parsed = parseMessage(Buffer.from(body ?? []));
  if (!("message" in parsed)) throw new Error(parsed.description);
  return parsed.message;
}

describe("what a message holds of an event", () => {
  it("is its bytes and its content type, as they came, when it is raw", () => {
    const given = attempt();
    expect(write(given, "raw")).toEqual({ body: given.event.body, contentType: "application/json" });
  });

  // shows: Q3, Q43
  it("is all of it, as a far gateway takes it up again", () => {
    const message = read(write(attempt(), "message")?.body);
    expect(message).toMatchObject({
      eventId: "evt_0",
      eventType: "order.created",
      source: "shop",
      orderingKey: "k",
      generation: 2,
      origin: "str_1",
      hops: 1,
      userId: "u",
      sessionId: "ses",
      method: "PUT",
      path: "/webhook/shop/a",
      query: "b=1",
      remoteAddress: "192.0.2.1",
      metadata: METADATA,
      headers: { "x-shop": "1" },
      sealedHeaders: undefined,
    });
    expect(message.content).toEqual({ body: Buffer.from('{"total": 1.0}') });
  });

  // shows: Q46
  it("has credentials sealed with the key and only those that are named, and without a key none", () => {
    const named = { forward_headers: ["authorization", "x-shop"] };
    const sealed = write(attempt(), "message", { ...named, message_key: KEY });
    const message = read(sealed?.body);
    expect(Buffer.from(sealed?.body ?? []).toString()).not.toContain("canary");
    expect(message.headers).toEqual({ "x-shop": "1" });
    const opened = createHeaderSeal(KEY).open(message.sealedHeaders ?? "", "evt_0");
    expect(opened).toEqual({ authorization: "Bearer canary" });
    const open = write(attempt(), "message", named);
    expect(read(open?.body).sealedHeaders).toBeUndefined();
    expect(Buffer.from(open?.body ?? []).toString()).not.toContain("canary");
  });

  it("is the Event of a bus, whose payload is its bytes; none when they are no JSON object", () => {
    const text = Buffer.from(write(attempt(), "event")?.body ?? []).toString();
    expect(text).toContain('"payload": {"total": 1.0}');
    expect(text).toContain(`"metadata": ${METADATA}`);
    expect(JSON.parse(text)).toMatchObject({ event_id: "evt_0", session_id: "ses", published_at: expect.any(String) });
    const list = attempt();
    expect(write({ ...list, event: { ...list.event, body: Buffer.from("[1]") } }, "event")).toBeUndefined();
  });

  it("is a CloudEvent where that is asked for", () => {
    const written = write(attempt(), "cloudevents");
    expect(written?.contentType).toContain("application/cloudevents+json");
    expect(JSON.parse(Buffer.from(written?.body ?? []).toString())).toMatchObject({ specversion: "1.0", id: "evt_1" });
  });
});
