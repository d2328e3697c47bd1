import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../src/model/filter.ts";
import type { Subscription } from "../../../src/model/subscription.ts";
import { createFilterFacts, type FilteredEvent, createRouter } from "../../../src/accept/router.ts";

function subscription(seq: number, filter?: object, change: Partial<Subscription> = {}): Subscription {
  const parsed = filter === undefined ? undefined : parseFilter(filter);
  return { seq, tenantId: "default", events: ["#"], ordered: false, filter: parsed, ...change } as Subscription;
}

function event(change: Partial<FilteredEvent> = {}): FilteredEvent {
  return {
    type: "order.paid",
    source: "shop",
    tenantId: "default",
    priority: "normal",
    contentType: "application/json",
    request: undefined,
    details: undefined,
    body: undefined,
    ...change,
  };
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const seqs = (found: readonly Subscription[]) => found.map(({ seq }) => seq);

/** An event that fails the test when its body, its request or its details are looked at. */
function untouchable(): FilteredEvent {
  const touch = () => {
    throw new Error("the event was looked at");
  };
  const parts = { body: { get: touch }, request: { get: touch }, details: { get: touch } };
  const { body: _, request: __, details: ___, ...rest } = event();
  return Object.defineProperties(rest, parts) as FilteredEvent;
}

describe("routing by filter", () => {
  it("takes those whose filter matches and those who have none, in their order", () => {
    const router = createRouter();
    router.update([
      subscription(1, { data: { total: { $gt: 100 } } }),
      subscription(2),
      subscription(3, { data: { total: { $lte: 100 } } }, { ordered: true }),
      subscription(4, { data: { total: 50 } }, { events: ["invoice.*"] }),
    ]);
    expect(seqs(router.select(event({ body: json({ total: 50 }) })))).toEqual([3, 2]);
    expect(seqs(router.select(event({ body: json({ total: 500 }) })))).toEqual([1, 2]);
    expect(seqs(router.match("default", "order.paid"))).toEqual([3, 1, 2]);
  });

  it("does not look at an event when none of those who want its type has a filter", () => {
    const router = createRouter();
    const all = [subscription(1), subscription(2, { data: { a: 1 } }, { events: ["invoice.*"] })];
    router.update(all);
    expect(router.select(untouchable())).toBe(router.match("default", "order.paid"));
    router.update([...all, subscription(3, { source: "shop", priority: "normal" })]);
    expect(seqs(router.select(untouchable()))).toEqual([1, 3]);
    router.update([subscription(4, { data: { a: 1 } })]);
    expect(() => router.select(untouchable())).toThrow("looked at");
  });

  it("reads the body once, however many filters ask for it", () => {
    let reads = 0;
    const one = Object.defineProperty(event(), "body", {
      get() {
        reads++;
        return json({ total: 1 });
      },
    });
    const router = createRouter();
    router.update([1, 2, 3].map((seq) => subscription(seq, { data: { total: seq } })));
    expect(seqs(router.select(one))).toEqual([1]);
    expect(reads).toBe(1);
  });

  it("tells of filters that would cost too much, and takes them as no match", () => {
    const told: [string, number][] = [];
    const router = createRouter({ onTooCostly: ({ type }, filters) => told.push([type, filters]) });
    router.update([
      subscription(1, { data: { $exist: false } }),
      subscription(2, { $not: { data: 7 } }),
      subscription(3, { source: "shop" }),
    ]);
    const body = Buffer.from(`[${"[],".repeat(300_000)}0]`);
    expect(seqs(router.select(event({ body })))).toEqual([3]);
    expect(told).toEqual([["order.paid", 2]]);
  });
});

describe("what a filter sees of an event", () => {
  it("is what came with it", () => {
    const request = { method: "POST", query: "a=1&b=2&b=3&__proto__=x&c", headers: { "x-a": "1" } };
    const facts = createFilterFacts(
      event({
        request: JSON.stringify(request),
        details: '{"user_id":"u","metadata":{"trace":"t"}}',
        body: json([1]),
      }),
    );
    expect({ ...facts }).toEqual({
      event_type: "order.paid",
      source: "shop",
      tenant_id: "default",
      priority: "normal",
      headers: { "x-a": "1" },
      query: JSON.parse('{"a":"1","b":["2","3"],"__proto__":"x","c":""}') as unknown,
      metadata: { trace: "t" },
      data: [1],
    });
  });

  it("has nothing where nothing came", () => {
    const { headers, query, metadata, data } = createFilterFacts(event());
    expect([headers, query, metadata, data]).toEqual([undefined, undefined, undefined, undefined]);
    expect(createFilterFacts(event({ details: '{"user_id":"u"}' })).metadata).toBeUndefined();
  });

  it.each([
    ["application/json", "{", undefined],
    ["application/json; charset=utf-8", "[1]", [1]],
    ["application/vnd.api+JSON", "[1]", [1]],
    ["application/json", "\ufeff[1]", [1]],
    [undefined, "[1]", [1]],
    ["", "[1]", [1]],
    [undefined, "a=1", undefined],
    ["text/plain", "[1]", undefined],
    ["application/xml", "<a/>", undefined],
    ["application/jsonlines", "[1]", undefined],
  ])("has data only when the body is JSON: %s, %s", (contentType, text, expected) => {
    expect(createFilterFacts(event({ contentType, body: Buffer.from(text) })).data).toEqual(expected);
  });

  it("reads a part of a larger buffer as that part", () => {
    const body = Buffer.from('xx{"a":1}yy').subarray(2, 9);
    expect(createFilterFacts(event({ body: new Uint8Array(body.buffer, body.byteOffset, 7) })).data).toEqual({ a: 1 });
  });
});
