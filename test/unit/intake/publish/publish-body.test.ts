import * as fc from "fast-check";
import { Value } from "typebox/value";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import {
  parsePublishBody,
  DEFAULT_PUBLISH_LIMITS,
  type PublishItem,
  PUBLISH_FIELDS,
} from "../../../../src/intake/publish/publish-body.ts";
import { PublishInput } from "../../../../src/intake/publish/publish-schema.ts";

function publish(body: unknown): PublishItem | PosthornError {
  const [first] = parsePublishBody(Buffer.from(typeof body === "string" ? body : JSON.stringify(body))).items;
  if (first === undefined) throw new Error("no item");
  return first;
}

function accepted(body: unknown): PublishItem {
  const item = publish(body);
  if (item instanceof PosthornError) throw item;
  return item;
}

const minimal = { event_type: "order.created", payload: { id: 1 } };

describe("fields that an event does not have", () => {
  const keep = (text: string) => {
    const [item] = parsePublishBody(Buffer.from(text), { ...DEFAULT_PUBLISH_LIMITS, keepsUnknown: true }).items;
    return item instanceof PosthornError ? item.message : item?.metadata;
  };
  const FIELDS = '"event_type":"a.b","payload":{}';

  it("are rejected, or kept in the metadata, byte for byte", () => {
    expect(publish({ ...minimal, region: "north" })).toBeInstanceOf(PosthornError);
    expect(keep(`{${FIELDS}}`)).toBeUndefined();
    expect(keep(`{${FIELDS},"region":"north", "herd": {"id": 12345678901234567890}}`)).toBe(
      '{"region":"north","herd":{"id": 12345678901234567890}}',
    );
    expect(keep(`{"region":null,${FIELDS},"metadata":{ }}`)).toBe('{"region":null}');
    expect(keep(`{"region":"north",${FIELDS},"metadata":{"phone": "1"} }`)).toBe('{"phone": "1","region":"north"}');
    expect(keep(`{"a\\"b":1,${FIELDS}}`)).toBe('{"a\\"b":1}');
  });

  it("do not replace what the metadata says", () => {
    expect(keep(`{${FIELDS},"region":"north","metadata":{"region":"south"}}`)).toBe('{"region":"south"}');
  });

  it("do not make up for those that are missing", () => {
    expect(keep('{"delivery_id":"d","attempt":1}')).toMatch(/event_type is missing/);
  });
});

describe("a published body", () => {
  it("fills in the defaults", () => {
    expect(accepted(minimal)).toEqual({
      eventType: "order.created",
      payload: Buffer.from('{"id":1}'),
      eventId: undefined,
      eventVersion: "1.0",
      source: "api",
      sourceId: undefined,
      tenantId: undefined,
      userId: undefined,
      sessionId: undefined,
      timestamp: undefined,
      priority: "normal",
      orderingKey: undefined,
      deliverAt: undefined,
      expiresAt: undefined,
      metadata: undefined,
    });
  });

  it("reads every field", () => {
    const at = "2026-01-31T12:00:00Z";
    const unixMs = Date.UTC(2026, 0, 31, 12);
    expect(
      accepted({
        ...minimal,
        event_id: "a:b_c-1",
        event_version: "2.1",
        source: "shop",
        source_id: "o/1",
        tenant_id: "acme",
        user_id: "u",
        session_id: "s",
        timestamp: at,
        priority: "high",
        ordering_key: "k 😀",
        deliver_at: at,
        expires_at: at,
        metadata: { a: 1 },
      }),
    ).toMatchObject({
      eventId: "a:b_c-1",
      eventVersion: "2.1",
      source: "shop",
      sourceId: "o/1",
      tenantId: "acme",
      userId: "u",
      sessionId: "s",
      timestamp: unixMs,
      priority: "high",
      orderingKey: "k 😀",
      deliverAt: unixMs,
      expiresAt: unixMs,
      metadata: '{"a":1}',
    });
    expect(accepted({ ...minimal, timestamp: unixMs / 1000 }).timestamp).toBe(unixMs);
  });

  it("keeps the payload's bytes as they were written", () => {
    const payload = '{ "n":12345678901234567890.10,"\\u0061" : [1 , 2],"a":"\\ud800" }';
    const body = Buffer.from(`\ufeff\n{"metadata":{"x" : 1e2},"payload": ${payload} ,"event_type":"a"}`);
    const [item] = parsePublishBody(body).items as PublishItem[];
    expect(item?.payload.toString()).toBe(payload);
    expect(item?.payload.buffer).toBe(body.buffer);
    expect(item?.metadata).toBe('{"x" : 1e2}');
  });

  it.each([
    ["2026-01-31 12:00:00", Date.UTC(2026, 0, 31, 12)],
    ["2026-01-31T12:00:00.123456", Date.UTC(2026, 0, 31, 12, 0, 0, 123)],
    ["2026-01-31 12:00:00.5+06:00", Date.UTC(2026, 0, 31, 6, 0, 0, 500)],
  ])("takes %s for its time, in UTC unless it says otherwise", (timestamp, expected) => {
    expect(accepted({ ...minimal, timestamp, published_at: timestamp })).toEqual({
      ...accepted(minimal),
      timestamp: expected,
    });
  });

  // shows: C19
  it("keeps every digit of an integer id", () => {
    const item = accepted('{"event_type":"a","payload":{},"tenant_id":42,"user_id":-9007199254740993}');
    expect(item).toMatchObject({ tenantId: "42", userId: "-9007199254740993" });
  });

  it("takes null for a field that is not given, and the last of repeated fields", () => {
    const nulls = Object.fromEntries(PUBLISH_FIELDS.map((field) => [field, null]));
    expect(accepted({ ...nulls, ...minimal })).toEqual(accepted(minimal));
    expect(accepted('{"event_type":7,"payload":{},"source":"a","source":null,"event_type":"b"}')).toMatchObject({
      eventType: "b",
      source: "api",
    });
  });

  it.each([
    ["event_type", { event_type: undefined }],
    ["event_type", { event_type: null }],
    ["event_type", { event_type: "a..b" }],
    ["event_type", { event_type: "" }],
    ["event_type", { event_type: "a".repeat(256) }],
    ["event_type", { event_type: "a\u0000b" }],
    ["payload", { payload: undefined }],
    ["payload", { payload: [1] }],
    ["payload", { payload: "{}" }],
    ["event_id", { event_id: "a.b" }],
    ["event_id", { event_id: 1 }],
    ["event_version", { event_version: "1 0" }],
    ["source", { source: "a\u0007" }],
    ["source_id", { source_id: "\u0085" }],
    ["tenant_id", { tenant_id: 1.5 }],
    ["tenant_id", { tenant_id: true }],
    ["tenant_id", { tenant_id: "" }],
    ["user_id", { user_id: "\ud800" }],
    ["session_id", { session_id: "x\udc00" }],
    ["ordering_key", { ordering_key: "é".repeat(256) }],
    ["ordering_key", { ordering_key: "a\u0000" }],
    ["timestamp", { timestamp: 1_769_860_800_000 }],
    ["timestamp", { timestamp: "yesterday" }],
    ["timestamp", { timestamp: -1 }],
    ["timestamp", { timestamp: "2026-02-30 12:00:00" }],
    ["timestamp", { timestamp: "2026-01-31  12:00:00" }],
    ["published_at", { published_at: "just now" }],
    ["published_at", { published_at: 1_769_860_800 }],
    ["priority", { priority: "urgent" }],
    ["deliver_at", { deliver_at: 1_769_860_800 }],
    ["deliver_at", { deliver_at: "2026-01-31 12:00:00Z" }],
    ["expires_at", { expires_at: "2026-01-31T12:00:00" }],
    ["metadata", { metadata: [] }],
    ["colour", { colour: 1 }],
    ["__proto__", { ["__proto__"]: 1 }],
  ])("is rejected for a bad %s: %j", (field, change) => {
    const error = publish({ ...minimal, ...change });
    expect(error).toBeInstanceOf(PosthornError);
    expect(error).toMatchObject({ code: "invalid_field", field });
  });

  it("may have 255 characters in its key, however many bytes they take", () => {
    expect(accepted({ ...minimal, ordering_key: "😀".repeat(255) }).orderingKey).toHaveLength(510);
    expect(publish({ ...minimal, ordering_key: "😀".repeat(256) })).toMatchObject({ field: "ordering_key" });
  });

  it("may have a payload up to the limit and no byte more", () => {
    const limits = { ...DEFAULT_PUBLISH_LIMITS, maxPayloadBytes: 20 };
    const parse = (text: string): unknown =>
      parsePublishBody(Buffer.from(`{"event_type":"a","payload":{"a":"${text}"}}`), limits).items[0];
    expect(parse("x".repeat(12))).not.toBeInstanceOf(PosthornError);
    expect(parse("x".repeat(13))).toMatchObject({ code: "too_large", field: "payload" });
  });

  it("is unreadable when it is not JSON, and invalid when it is something else than events", () => {
    expect(() => publish('{"event_type":')).toThrow(expect.objectContaining({ code: "unreadable_body" }));
    expect(() => publish("[{},")).toThrow(expect.objectContaining({ code: "unreadable_body" }));
    expect(() => publish("")).toThrow(expect.objectContaining({ code: "unreadable_body" }));
    for (const body of ["1", '"a"', "null", "true"]) expect(publish(body)).toMatchObject({ code: "invalid_field" });
  });

  it("keeps the good events of a batch and says which are bad", () => {
    const { batch, items } = parsePublishBody(
      Buffer.from(JSON.stringify([minimal, { ...minimal, source: "" }, 7, minimal])),
    );
    expect(batch).toBe(true);
    expect(items).toHaveLength(4);
    expect(items[0]).toEqual(items[3]);
    expect(items[1]).toMatchObject({ code: "invalid_field", field: "source", details: { index: 1 } });
    expect(items[2]).toMatchObject({ code: "invalid_field", details: { index: 2 } });
    expect(parsePublishBody(Buffer.from(" [ ] "))).toEqual({ batch: true, items: [] });
    expect(publish(minimal)).not.toHaveProperty("details");
  });

  it("is too large with more than 1,000 events", () => {
    const batch = (count: number): Buffer => Buffer.from(JSON.stringify(Array.from({ length: count }, () => minimal)));
    expect(parsePublishBody(batch(1000)).items).toHaveLength(1000);
    expect(() => parsePublishBody(batch(1001))).toThrow(expect.objectContaining({ code: "too_large" }));
  });
});

describe("the rules of publishing", () => {
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.constantFrom(
      "",
      "a.b",
      "a..b",
      "1.0",
      "x".repeat(128),
      "x".repeat(129),
      "é".repeat(255),
      "é".repeat(256),
      "😀".repeat(200),
    ),
    fc.constantFrom(
      "2026-01-31T12:00:00Z",
      "2026-02-30T12:00:00Z",
      "2026-01-31 12:00:00.123456",
      "2026-01-31T12:00:00",
      "2026-01-31 12:00:00+06:00",
      "2026-02-30 12:00:00",
      "2026-01-31",
      "high",
      "low",
      "none",
      "\ud800",
      "a\u0000",
    ),
    fc.integer(),
    fc.double({ min: -1e15, max: 1e15, noNaN: true }),
    fc.constantFrom(253_402_300_799, 253_402_300_800, 0),
    fc.constant(null),
    fc.boolean(),
    fc.constant([]),
    fc.dictionary(fc.string(), fc.integer()),
  );
  const field = fc.constantFrom(...PUBLISH_FIELDS, "other", "constructor");
  const event = fc
    .tuple(fc.dictionary(field, odd, { maxKeys: 4, noNullPrototype: true }), fc.boolean())
    .map(([fields, isWhole]): unknown => (isWhole ? { ...minimal, ...fields } : fields));

  it("and the schema accept the same events", () => {
    let acceptedCount = 0;
    fc.assert(
      fc.property(event, (input) => {
        const text = JSON.stringify(input);
        const isAccepted = !(publish(text) instanceof PosthornError);
        if (isAccepted) acceptedCount++;
        expect(isAccepted).toBe(Value.Check(PublishInput, JSON.parse(text)));
      }),
      { numRuns: 4000 },
    );
    expect(acceptedCount).toBeGreaterThan(100);
  });

  it("and the schema know the same fields", () => {
    expect([...PUBLISH_FIELDS].sort()).toEqual(Object.keys(PublishInput.properties).sort());
  });
});
