import { describe, expect, it } from "vitest";
import { writeMessage, type EventMessage } from "../../../src/queues/message.ts";
import { createHeaderSeal } from "../../../src/queues/sealed-headers.ts";
import type { Source } from "../../../src/model/source.ts";
import { openMessage, type OpenedMessage } from "../../../src/intake/messages/open-message.ts";
import type { TakenMessage } from "../../../src/queues/broker.ts";
import { readPullSettings } from "../../../src/sources/pull-options.ts";

const NOON = 1_760_000_000_000;
const STORE = "str_0123456789abcdef0123456789abcdef";
const OWN_STORE = "str_fedcba9876543210fedcba9876543210";
const KEY = "a key that both gateways have";
const SOURCE = { name: "queue", tenantId: "acme", maxBytes: 1000 } as Source;

interface Given extends Partial<TakenMessage> {
  headers?: Record<string, string>;
  queuePlace?: string;
}

function open({ headers = {}, queuePlace, ...message }: Given, options: Record<string, unknown> = {}) {
  const whole = { id: "m-1", body: Buffer.from("{}"), deliveryCount: 1, ...message } as TakenMessage;
  const settings = readPullSettings({ queue: "q", ...options });
  const from = { source: SOURCE, settings, queuePlace, headers };
  return openMessage(whole, { ...from, maxDepth: 64, receivedAt: NOON, storeId: OWN_STORE });
}

function opened(...args: Parameters<typeof open>): OpenedMessage {
  const result = open(...args);
  if ("park" in result) throw new Error(`parked: ${JSON.stringify(result.park)}`);
  return result;
}

function parkedAs(...args: Parameters<typeof open>): string | undefined {
  const result = open(...args);
  return "park" in result ? result.park.code : undefined;
}

const detailsOf = ({ facts }: OpenedMessage) => JSON.parse(facts.details ?? "{}") as Record<string, unknown>;

const MESSAGE: EventMessage = {
  eventId: "evt-7",
  eventType: "order.created",
  eventVersion: "2",
  source: "shop",
  tenantId: "somebody-else",
  priority: "high",
  orderingKey: "customer-1",
  generation: 1,
  origin: STORE,
  hops: 1,
  occurredAt: NOON - 5,
  receivedAt: NOON - 4,
  userId: "u-1",
  metadata: '{"n":12345678901234567890}',
  method: "PUT",
  path: "/webhook/shop/a",
  query: "b=c",
  remoteAddress: "203.0.113.9",
  headers: { "X-Shop": "7" },
  contentType: "text/plain",
  content: { body: Buffer.from([0xff, 0, 1]) },
};
const whole = (change: Partial<EventMessage> = {}) => ({ body: writeMessage({ ...MESSAGE, ...change }) });
const AS_MESSAGE = { body: "message" };

/** As `json.dumps(event.__dict__, default=str)` writes it. */
const PYTHON_EVENT =
  '{"event_id": "evt-9", "event_type": "milk.collected", "event_version": "1.0", ' +
  '"timestamp": "2026-01-31 12:00:00.250000", "published_at": "2026-01-31 12:00:01", "source": "iot", ' +
  '"source_id": null, "tenant_id": 42, "user_id": null, "session_id": null, ' +
  '"payload": {"litres": 12345678901234567890, "text": "\\u00e4"}, "metadata": {}, "priority": "high"}';
const AS_EVENT = { body: "event" };

describe("a raw message", () => {
  // shows: Q8
  it("is its event's bytes, named by the source and its own id", () => {
    const first = opened({ body: Buffer.from("any"), headers: { "content-type": "text/plain" } });
    expect([first.body.toString(), first.facts.adopted]).toEqual(["any", undefined]);
    expect(first.facts.eventId).toMatch(/^msg_/);
    expect(opened({ body: Buffer.from("other") }).facts.eventId).toBe(first.facts.eventId);
    expect(opened({ id: "m-2" }).facts.eventId).not.toBe(first.facts.eventId);
    expect(opened({ id: undefined }).facts).toMatchObject({ eventId: undefined, isHeld: false });
  });

  // shows: Q10
  it("without an id is never held until it is delivered: nobody could tell that it came again", () => {
    const until = { acknowledge: "delivered" };
    expect(opened({}, until).facts.isHeld).toBe(true);
    expect(opened({ id: undefined }, until).facts.isHeld).toBe(false);
  });

  // shows: Q3, Q6
  it("says by its properties which gateway sent it, and only if that is one", () => {
    const sent = { origin: STORE, event_id: "evt-7", hops: "2", generation: "3" };
    const again = opened({ id: "evt-7:3", headers: sent });
    expect(again).toMatchObject({ origin: STORE, hops: 2, facts: { generation: 3 } });
    expect(detailsOf(again)).toEqual({ hops: 2, origin_event_id: "evt-7", origin: STORE, generation: 3 });
    // Whatever its generation: it is the same event.
    expect(again.facts.eventId).toBe(opened({ id: "evt-7" }).facts.eventId);
    const foreign = opened({ headers: { ...sent, origin: "our shop" } });
    expect([foreign.origin, foreign.facts.generation, foreign.facts.details]).toEqual([undefined, 1, undefined]);
    const hostile = opened({ headers: { ...sent, generation: "1e9", hops: "-1", event_id: "a b" } });
    expect([hostile.facts.generation, hostile.hops]).toEqual([1, 0]);
  });

  it("keeps where it was pulled from", () => {
    expect(detailsOf(opened({ queuePlace: "amqp:default:queue:q" }))).toEqual({
      pulled_from: ["amqp:default:queue:q"],
    });
  });
});

describe("a whole event", () => {
  // shows: Q44, Q48
  it("is adopted with its source, type, priority and key, and its bytes; its tenant is the source's", () => {
    const { facts, ...request } = opened(whole(), AS_MESSAGE);
    expect(request).toMatchObject({
      method: "PUT",
      path: "/webhook/shop/a",
      query: "b=c",
      remoteAddress: "203.0.113.9",
      headers: { "x-shop": "7", "content-type": "text/plain" },
      origin: STORE,
      hops: 1,
    });
    expect([...request.body]).toEqual([0xff, 0, 1]);
    expect(facts.adopted).toMatchObject({
      type: "order.created",
      version: "2",
      source: "shop",
      priority: "high",
      orderingKey: "customer-1",
      occurredAt: NOON - 5,
      origin: "webhook",
      tenantId: undefined,
      isChecked: true,
    });
    expect(facts.details).toContain('"metadata":{"n":12345678901234567890}');
    expect(facts.details).toContain('"origin_event_id":"evt-7"');
  });

  it("is the same event whatever its message is called, and whatever its generation", () => {
    const first = opened({ ...whole(), id: "a" }, AS_MESSAGE).facts;
    const second = opened({ ...whole({ generation: 2 }), id: undefined }, AS_MESSAGE).facts;
    expect([second.eventId, first.generation, second.generation]).toEqual([first.eventId, 1, 2]);
  });

  it("has its credentials, where the source has the key; with another key it is parked", () => {
    const sealedHeaders = createHeaderSeal(KEY).seal({ Authorization: "Bearer x" }, "evt-7");
    const sealed = whole({ sealedHeaders });
    expect(opened(sealed, { ...AS_MESSAGE, message_key: KEY }).headers).toMatchObject({ authorization: "Bearer x" });
    expect(opened(sealed, AS_MESSAGE).headers).not.toHaveProperty("authorization");
    expect(parkedAs(sealed, { ...AS_MESSAGE, message_key: "quite another key" })).toBe("sealed_otherwise");
  });

  it.each<[string, Partial<TakenMessage>, string]>([
    ["garbage", { body: Buffer.from([0xff, 0xfe]) }, "not_json"],
    ["another version", { body: Buffer.from('{"v":9}') }, "unknown_version"],
    ["a field that is none", { body: Buffer.from('{"v":1,"x":1}') }, "invalid_field"],
    ["10 MB", { body: Buffer.alloc(10_000_000, "a") }, "too_large"],
    ["deep nesting", { body: Buffer.from(`{"v":1,"metadata":${"[".repeat(99)}${"]".repeat(99)}}`) }, "invalid_field"],
  ])("of %s is parked with its reason", (_, message, code) => {
    expect(parkedAs(message, AS_MESSAGE)).toBe(code);
  });
});

describe("an Event of a bus", () => {
  it("is taken as Python writes it, byte for byte, for the source's tenant", () => {
    const { facts, body } = opened({ body: Buffer.from(PYTHON_EVENT) }, AS_EVENT);
    expect(body.toString()).toBe('{"litres": 12345678901234567890, "text": "\\u00e4"}');
    expect(facts).toMatchObject({
      eventId: "evt-9",
      adopted: {
        type: "milk.collected",
        source: "iot",
        priority: "high",
        tenantId: undefined,
        occurredAt: Date.UTC(2026, 0, 31, 12, 0, 0, 250),
        deliverAt: undefined,
        isChecked: false,
      },
    });
  });

  // shows: Q48
  it("is its own tenant's only where the source trusts it", () => {
    const message = { body: Buffer.from(PYTHON_EVENT) };
    expect(opened(message, { ...AS_EVENT, trust_tenant: true }).facts.adopted?.tenantId).toBe("42");
  });

  // shows: Q9
  it("is named by its event_id over all queues, and by the message where it has none", () => {
    const unnamed = Buffer.from('{"event_type":"a.b","payload":{}}');
    expect(opened({ body: Buffer.from(PYTHON_EVENT), id: "x" }, AS_EVENT).facts.eventId).toBe("evt-9");
    expect(opened({ body: unnamed, id: "x" }, AS_EVENT).facts.eventId).toMatch(/^msg_/);
    expect(opened({ body: unnamed, id: undefined }, AS_EVENT).facts.eventId).toBeUndefined();
  });

  it("that this gateway sent itself is a new one that names its origin, the same whenever it comes", () => {
    const from = (origin: string, id: string) => {
      const headers = { origin, event_id: "evt-9", hops: "1" };
      return opened({ body: Buffer.from(PYTHON_EVENT), id, headers }, AS_EVENT);
    };
    const own = from(OWN_STORE, "x");
    expect([own.facts.eventId, detailsOf(own)["origin_event_id"]]).toEqual([expect.stringMatching(/^msg_/), "evt-9"]);
    expect(from(OWN_STORE, "y").facts.eventId).toBe(own.facts.eventId);
    const foreign = from(STORE, "x");
    expect([foreign.facts.eventId, detailsOf(foreign)["origin_event_id"]]).toEqual(["evt-9", undefined]);
  });

  // shows: Q62
  it.each([
    ["5000", NOON + 5000],
    ["-5000", undefined],
    ["0", undefined],
    ["soon", undefined],
  ])("with an x-delay of %s is delivered when it has waited", (delay, deliverAt) => {
    const { facts } = opened({ body: Buffer.from(PYTHON_EVENT), headers: { "x-delay": delay } }, AS_EVENT);
    expect(facts.adopted?.deliverAt).toBe(deliverAt);
  });

  it.each<[string, string, string]>([
    ["no JSON", "{broken", "unreadable_body"],
    ["a list", "[]", "invalid_field"],
    ["no payload", '{"event_type":"a.b"}', "invalid_field"],
    ["a retry of another program", '{"delivery_id":"d","attempt":1}', "foreign_retry"],
    ["a payload beyond the source's limit", `{"event_type":"a.b","payload":{"a":"${"x".repeat(1000)}"}}`, "too_large"],
  ])("of %s is parked with its reason", (_, body, code) => {
    expect(parkedAs({ body: Buffer.from(body) }, AS_EVENT)).toBe(code);
  });

  it("of a field of nobody's is kept in the metadata, or parked where the source says so", () => {
    const body = Buffer.from('{"event_type":"a.b","payload":{},"x":1}');
    expect(parkedAs({ body }, AS_EVENT)).toBeUndefined();
    expect(parkedAs({ body }, { ...AS_EVENT, unknown_fields: "reject" })).toBe("invalid_field");
  });
});
