import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeMessage, type EventMessage, parseMessage, sessionIdOf, wireIdOf } from "../../../src/queues/message.ts";
import { PRIORITIES } from "../../../src/model/event.ts";

const sample: EventMessage = {
  eventId: "evt_1",
  eventType: "order.created",
  eventVersion: "1.0",
  source: "shop",
  tenantId: "default",
  priority: "normal",
  generation: 1,
  origin: "store_1",
  hops: 0,
  occurredAt: 1_771_407_000_123,
  receivedAt: 1_771_407_001_000,
  content: { body: Buffer.from('{"a":1}') },
};

function parsed(message: EventMessage): EventMessage {
  const result = parseMessage(writeMessage(message));
  if ("reason" in result) throw new Error(result.description);
  return result.message;
}

function parseText(change: (fields: Record<string, unknown>) => unknown) {
  return parseMessage(Buffer.from(JSON.stringify(change(JSON.parse(writeMessage(sample).toString())))));
}

describe("a message", () => {
  it("is JSON that people and workflows can read", () => {
    expect(JSON.parse(writeMessage({ ...sample, orderingKey: "k", metadata: '{"shift":"late"}' }).toString())).toEqual({
      v: 1,
      event_id: "evt_1",
      event_type: "order.created",
      event_version: "1.0",
      source: "shop",
      tenant_id: "default",
      priority: "normal",
      ordering_key: "k",
      generation: 1,
      origin: "store_1",
      hops: 0,
      occurred_at: "2026-02-18T09:30:00.123Z",
      received_at: "2026-02-18T09:30:01.000Z",
      metadata: { shift: "late" },
      body: '{"a":1}',
    });
  });

  it("brings back every byte of any body", () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      fc.string({ unit: "binary", maxLength: 500 }).map((text) => new TextEncoder().encode(text)),
      fc.json().map((text) => new TextEncoder().encode(text)),
      fc.constantFrom("\uFEFF{}", "\u2028", "\0", "", '"', "\\u0000").map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        const { content } = parsed({ ...sample, content: { body } });
        expect("body" in content && Buffer.compare(content.body, body)).toBe(0);
      }),
      { numRuns: 1000 },
    );
  });

  // shows: Q43
  it("brings back everything else", () => {
    const plain = fc.stringMatching(/^[\x20-\x7e]{1,60}$/);
    const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
    const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const messages = fc.record({
      eventId: fc.stringMatching(/^[A-Za-z0-9_:-]{1,128}$/),
      eventType: fc.constantFrom("order.created", "a", "a_b.c-d"),
      eventVersion: plain.map((text) => text.slice(0, 32)),
      source: plain,
      tenantId: plain,
      priority: fc.constantFrom(...PRIORITIES),
      orderingKey: maybe(plain),
      generation: fc.integer({ min: 1, max: 1000 }),
      origin: plain,
      hops: fc.nat(9),
      occurredAt: time,
      receivedAt: time,
      deliverAt: maybe(time),
      expiresAt: maybe(time),
      userId: maybe(plain),
      sessionId: maybe(plain),
      remoteAddress: maybe(fc.constantFrom("127.0.0.1", "::1")),
      method: maybe(fc.constantFrom("POST", "PUT")),
      path: maybe(plain),
      query: maybe(plain),
      headers: maybe(fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.stringMatching(/^[\x20-\x7e]{0,60}$/))),
      contentType: maybe(plain),
      metadata: maybe(fc.constantFrom('{"n":9007199254740993}', "{ }", '{"metadata":{"a":[1]}}')),
      content: fc.constant({ body: Buffer.from("x") }),
    });
    fc.assert(
      fc.property(messages, (message) => {
        expect(parsed(message)).toEqual(message);
      }),
    );
  });

  it("keeps a claim in place of a body", () => {
    const claim = { container: "posthorn-bodies", blob: "dlv_1-1", size: 3, sha256: "a".repeat(64) };
    expect(parsed({ ...sample, content: { claim } }).content).toEqual({ claim });
  });
});

describe("what is no message of ours", () => {
  it("is a value with a reason, whatever it is", () => {
    const cases: [Buffer | string, string][] = [
      ["", "not_json"],
      ["garbage", "not_json"],
      [Buffer.from([0xff, 0xfe, 0x00]), "not_json"],
      ["[]", "not_json"],
      ["null", "not_json"],
      ["{}", "unknown_version"],
      ['{"v":2}', "unknown_version"],
      ['{"v":"1"}', "unknown_version"],
      [`{"v":${"[".repeat(5000)}${"]".repeat(5000)}}`, "unknown_version"],
      ['{"v":1}', "invalid_field"],
      [`{"v":1,"metadata":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`, "invalid_field"],
      [Buffer.alloc(10 * 1024 * 1024, 0x20), "too_large"],
    ];
    for (const [bytes, reason] of cases) expect(parseMessage(Buffer.from(bytes))).toMatchObject({ reason });
  });

  it("never throws for bytes at random", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          expect(parseMessage(Buffer.from(bytes))).toHaveProperty("reason");
        },
      ),
    );
  });

  it("never throws for a message in which one field was changed at random", () => {
    const fields = Object.keys(JSON.parse(writeMessage({ ...sample, headers: {} }).toString()) as object);
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
        const result = parseText((message) => ({ ...message, [field]: value }));
        expect("reason" in result || "message" in result).toBe(true);
      }),
    );
  });

  it("names the field that is wrong", () => {
    const wrong: [string, unknown][] = [
      ["event_id", "a.b"],
      ["event_type", "a b"],
      ["tenant_id", "a\nb"],
      ["hops", -1],
      ["generation", 0],
      ["occurred_at", "yesterday"],
      ["received_at", "2026-02-30T00:00:00.000Z"],
      ["priority", "urgent"],
      ["claim", { container: "a b", blob: "../x", size: 1, sha256: "x" }],
      ["headers", { "x-a": "1\r\nx-b: 2" }],
      ["headers", { "a b": "1" }],
      ["body", "\ud800"],
      ["body_base64", "e30="],
      ["unknown", 1],
      ["__proto__", { polluted: true }],
    ];
    for (const [field, value] of wrong) {
      const text = JSON.stringify(JSON.parse(writeMessage(sample).toString())).slice(0, -1);
      const result = parseMessage(Buffer.from(`${text},${JSON.stringify(field)}:${JSON.stringify(value)}}`));
      expect(result).toMatchObject({ reason: "invalid_field" });
    }
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("the id on the wire", () => {
  // shows: A28, Q11
  it("is the event's, and another for every replay", () => {
    expect(wireIdOf("evt_1", 1)).toBe("evt_1");
    expect(wireIdOf("evt_1", 2)).toBe("evt_1:2");
    expect(wireIdOf("evt_1", 3)).not.toBe(wireIdOf("evt_1", 2));
  });

  // shows: Q13
  it("never exceeds what brokers take, and still tells events apart", () => {
    const longest = "x".repeat(128);
    expect(wireIdOf(longest, 1)).toBe(longest);
    expect(wireIdOf(longest, 2)).toHaveLength(50);
    expect(wireIdOf(longest, 2)).not.toBe(wireIdOf(longest, 3));
    expect(wireIdOf(longest, 2)).toBe(wireIdOf(longest, 2));
  });
});

describe("the id of a session", () => {
  // shows: A27, Q14
  it("is the ordering key, and without one the message's own id", () => {
    expect(sessionIdOf("order-1", "evt_1")).toBe("order-1");
    expect(sessionIdOf(undefined, "evt_1:2")).toBe("evt_1:2");
    expect(sessionIdOf("k".repeat(255), "evt_1")).toHaveLength(50);
  });
});
