import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { explainFilter, FILTER_LIMITS, matchFilter, parseFilter } from "../../../src/model/filter.ts";

const EVENT = {
  event_type: "order.created",
  source: "shop",
  tenant_id: "acme",
  priority: "high",
  headers: { "x-region": "eu", "set-cookie": ["a", "b"] },
  query: { dry: "1", tag: ["x", "y"] },
  metadata: { trace: "t-1" },
  data: {
    total: 99.5,
    name: "Zoë",
    paid: true,
    coupon: null,
    at: "2024-05-01T10:00:00Z",
    tags: ["new", "vip", 7],
    items: [{ sku: "a" }, { sku: "b", count: 2 }],
    customer: { tier: "gold", address: { city: "Bern" } },
  },
};

const onData = (condition: object) => ({ data: condition });

function matches(filter: unknown, event: object = EVENT): boolean {
  const parsed = parseFilter(filter);
  const failure = explainFilter(parsed, event);
  expect(failure === undefined).toBe(matchFilter(parsed, event));
  return failure === undefined;
}

function refusal(filter: unknown): [field: string | undefined, message: string] {
  try {
    parseFilter(filter);
  } catch (error) {
    if (error instanceof PosthornError && error.code === "invalid_field") return [error.field, error.message];
    throw error;
  }
  throw new Error("the filter was accepted");
}

describe("a filter", () => {
  it("sees the eight fields of an event", () => {
    for (const [name, value] of Object.entries(EVENT)) {
      expect(matches({ [name]: { $eq: value } })).toBe(true);
      expect(matches({ [name]: { $eq: "other" } })).toBe(false);
      expect(matches({ [name]: { $exist: false } })).toBe(false);
      expect(matches({ [name]: { $exist: false } }, {})).toBe(true);
    }
  });

  // shows: C24
  it("may be a string that holds JSON", () => {
    expect(matches('{"data":{"total":{"$gt":99}}}')).toBe(true);
    expect(matches('{"data":{"total":{"$gt":100}}}')).toBe(false);
  });

  it("lets everything through when it is empty", () => {
    expect(matches({})).toBe(true);
    expect(matches({}, {})).toBe(true);
  });

  it.each<[object, boolean]>([
    // A plain value means equality, of the same kind.
    [{ total: 99.5 }, true],
    [{ total: "99.5" }, false],
    [{ paid: true }, true],
    [{ paid: 1 }, false],
    [{ coupon: null }, true],
    [{ nothing: null }, false],
    // An object names members that must hold; others may stand beside them.
    [{ customer: { tier: "gold" } }, true],
    [{ customer: { tier: "gold", address: { city: "Bern" } } }, true],
    [{ customer: { tier: "gold", address: { city: "Basel" } } }, false],
    [{ customer: { $eq: { tier: "gold" } } }, false],
    [{ customer: { $eq: { address: { city: "Bern" }, tier: "gold" } } }, true],
    // A list equals a list with the same items in the same order.
    [{ tags: ["new", "vip", 7] }, true],
    [{ tags: ["vip", "new", 7] }, false],
    [{ tags: ["new", "vip"] }, false],
    [{ tags: "new" }, false],
    // An item by its place.
    [{ items: { 1: { sku: "b" } } }, true],
    [{ items: { 2: { sku: "b" } } }, false],
    [{ items: { "01": { $exist: true } } }, false],
    [{ items: { length: 2 } }, false],
    [{ name: { length: 3 } }, false],
    [{ total: { $neq: 99.5 } }, false],
    [{ total: { $neq: "99.5" } }, true],
    [{ total: { $gt: 99, $lt: 100 } }, true],
    [{ total: { $gt: 99, $lt: 99.5 } }, false],
    [{ total: { $gte: 99.5, $lte: 99.5 } }, true],
    [{ total: { $gt: "99" } }, false],
    [{ total: { $lte: "99" } }, false],
    [{ at: { $gte: "2024-05-01", $lt: "2024-05-02" } }, true],
    [{ at: { $gte: "2024-05-02" } }, false],
    [{ coupon: { $lte: 0 } }, false],
    [{ total: { $in: [1, 99.5] } }, true],
    [{ total: { $in: [] } }, false],
    [{ total: { $nin: [] } }, true],
    [{ total: { $nin: [1, 99.5] } }, false],
    [{ tags: { $in: [["new", "vip", 7]] } }, true],
    [{ coupon: { $in: [null] } }, true],
    [{ name: { $startsWith: "Zo" } }, true],
    [{ name: { $startsWith: "zo" } }, false],
    [{ name: { $endsWith: "ë" } }, true],
    [{ total: { $startsWith: "9" } }, false],
    [{ name: { $contains: "o" } }, true],
    [{ name: { $contains: "x" } }, false],
    [{ tags: { $contains: "vip" } }, true],
    [{ tags: { $contains: "vi" } }, false],
    [{ tags: { $contains: 7 } }, true],
    [{ items: { $contains: { sku: "a" } } }, true],
    [{ items: { $contains: { sku: "b" } } }, false],
    [{ customer: { $contains: "tier" } }, false],
    [{ coupon: { $exist: true } }, true],
    [{ nothing: { $exist: true } }, false],
    [{ total: { $or: [{ $lt: 10 }, { $gt: 90 }] } }, true],
    [{ total: { $or: [{ $lt: 10 }, 50] } }, false],
    [{ total: { $and: [{ $gt: 10 }, { $not: { $gt: 50 } }] } }, false],
    [{ total: { $not: 50 } }, true],
  ])("%j on the body: %s", (condition, expected) => {
    expect(matches(onData(condition))).toBe(expected);
  });

  it("takes what is missing as no match, but for $exist: false, $neq and $nin", () => {
    const conditions = [
      { $eq: null },
      { $gt: 0 },
      { $gte: 0 },
      { $lt: 0 },
      { $lte: "z" },
      { $in: [null] },
      { $contains: "" },
      { $startsWith: "" },
      { $endsWith: "" },
      { $exist: true },
    ];
    for (const path of ["x", "total.x", "coupon.x", "customer.x.y.z"]) {
      const at = (condition: object) =>
        onData(path.split(".").reduceRight<object>((inner, name) => ({ [name]: inner }), condition));
      for (const condition of conditions) expect(matches(at(condition))).toBe(false);
      for (const condition of [{ $exist: false }, { $neq: 1 }, { $nin: [1] }])
        expect(matches(at(condition))).toBe(true);
      // The opposite of a filter matches what the filter does not.
      expect(matches(at({ $not: { $eq: 1 } }))).toBe(true);
    }
  });

  it("joins conditions on the whole event", () => {
    const paid = { data: { paid: true } };
    const low = { priority: "low" };
    expect(matches({ $or: [low, paid] })).toBe(true);
    expect(matches({ $and: [low, paid] })).toBe(false);
    expect(matches({ event_type: "order.created", $not: low })).toBe(true);
    expect(matches({ event_type: "order.created", $not: paid })).toBe(false);
  });

  it("finds headers however their names are written", () => {
    expect(matches({ headers: { "X-Region": "eu" } })).toBe(true);
    expect(matches({ headers: { $or: [{ "X-REGION": "us" }, { "X-REGION": "eu" }] } })).toBe(true);
    expect(matches({ headers: { "Set-Cookie": { $contains: "b" } } })).toBe(true);
  });

  it("compares rightly with numbers that the event's reader rounds", () => {
    const event = { data: JSON.parse('{"id":9007199254740993,"huge":1e400,"tiny":-1e400}') as unknown };
    expect(matches(onData({ id: { $gt: Number.MAX_SAFE_INTEGER } }), event)).toBe(true);
    expect(matches(onData({ id: { $lte: Number.MAX_SAFE_INTEGER } }), event)).toBe(false);
    expect(matches(onData({ id: Number.MAX_SAFE_INTEGER }), event)).toBe(false);
    expect(matches(onData({ huge: { $gt: 1 }, tiny: { $lt: 1 } }), event)).toBe(true);
  });
});

describe("what a filter says when an event does not match", () => {
  it.each<[object, object]>([
    [{ total: { $gt: 1, $lt: 50 } }, { path: "data.total", operator: "$lt", expected: 50, found: 99.5 }],
    [{ total: 1 }, { path: "data.total", operator: "$eq", expected: 1, found: 99.5 }],
    [
      { paid: true, customer: { address: { zip: "3000" } } },
      { path: "data.customer.address.zip", operator: "$eq", expected: "3000", found: undefined },
    ],
    [{ total: { $or: [1, 2] } }, { path: "data.total", operator: "$or", expected: [1, 2], found: 99.5 }],
    [{ total: { $and: [99.5, { $exist: false }] } }, { path: "data.total", operator: "$exist", expected: false }],
    [{ paid: { $not: true } }, { path: "data.paid", operator: "$not", expected: true, found: true }],
  ])("%j", (condition, expected) => {
    expect(explainFilter(parseFilter(onData(condition)), EVENT)).toMatchObject(expected);
  });

  it("is the first thing, in the order of the filter", () => {
    const explain = (filter: object) => explainFilter(parseFilter(filter), EVENT)?.path;
    expect(explain({ source: "x", priority: "x" })).toBe("source");
    expect(explain({ priority: "x", source: "x" })).toBe("priority");
    expect(explain({ $or: [{ source: "x" }, { priority: "x" }] })).toBe("");
    expect(explain({ source: "shop" })).toBeUndefined();
  });
});

describe("a filter that is rejected", () => {
  it.each<[unknown, string]>([
    [[], "event_filter"],
    [7, "event_filter"],
    [null, "event_filter"],
    ["", "event_filter"],
    ["{", "event_filter"],
    ["[]", "event_filter"],
    [{ body: { a: 1 } }, "event_filter.body"],
    [{ constructor: 1 }, "event_filter.constructor"],
    [{ $eq: 1 }, "event_filter.$eq"],
    [onData({ total: { $regex: "a" } }), "event_filter.data.total.$regex"],
    [onData({ total: { $GT: 1 } }), "event_filter.data.total.$GT"],
    [onData({ $where: "1" }), "event_filter.data.$where"],
    [onData({ total: {} }), "event_filter.data.total"],
    [{ data: {} }, "event_filter.data"],
    [onData({ total: { $gt: true } }), "event_filter.data.total.$gt"],
    [onData({ total: { $lt: null } }), "event_filter.data.total.$lt"],
    [onData({ total: { $in: 1 } }), "event_filter.data.total.$in"],
    [onData({ total: { $nin: { a: 1 } } }), "event_filter.data.total.$nin"],
    [onData({ total: { $startsWith: 1 } }), "event_filter.data.total.$startsWith"],
    [onData({ total: { $endsWith: ["a"] } }), "event_filter.data.total.$endsWith"],
    [onData({ total: { $exist: "yes" } }), "event_filter.data.total.$exist"],
    [{ $or: [] }, "event_filter.$or"],
    [{ $and: { source: "a" } }, "event_filter.$and"],
    [{ $or: [{ source: "a" }, { sauce: "a" }] }, "event_filter.$or[1].sauce"],
    [{ $or: [{ source: "a" }, 7] }, "event_filter.$or[1]"],
    [{ $not: [] }, "event_filter.$not"],
    [onData({ id: 2 ** 53 }), "event_filter.data.id"],
    [onData({ id: { $in: [1, -(2 ** 60)] } }), "event_filter.data.id.$in[1]"],
    [onData({ id: { $eq: { a: [Number.NaN] } } }), "event_filter.data.id.$eq.a[0]"],
  ])("%j: at %s", (filter, field) => {
    expect(refusal(filter)[0]).toBe(field);
  });

  it("is told which operators there are", () => {
    expect(refusal(onData({ total: { $regex: "a" } }))[1]).toMatch(
      /"\$regex" is not an operator here; use \$eq, \$neq/,
    );
  });

  const nest = (levels: number, inner: unknown, name = "a") => {
    let filter = inner;
    for (let i = 0; i < levels; i++) filter = { [name]: filter };
    return filter;
  };

  it("is too deep, wherever the depth is", () => {
    const { maxDepth } = FILTER_LIMITS;
    // The event itself and `data` are two levels.
    expect(() => parseFilter({ data: nest(maxDepth - 2, 1) })).not.toThrow();
    expect(refusal({ data: nest(maxDepth - 1, 1) })[1]).toMatch(/deeper than 12 levels/);
    expect(refusal(nest(maxDepth, { source: "a" }, "$not"))[1]).toMatch(/deeper/);
    expect(refusal({ data: nest(maxDepth, 1, "$not") })[1]).toMatch(/deeper/);
    expect(refusal({ data: { $eq: nest(maxDepth, 1) } })[1]).toMatch(/deeper/);
    expect(refusal({ data: nest(100_000, 1) })[1]).toMatch(/deeper/);
    expect(refusal({ data: { $in: [nest(100_000, 1)] } })[1]).toMatch(/deeper/);
    expect(refusal(`{"data":${'{"a":'.repeat(1000)}1${"}".repeat(1001)}`)[1]).toMatch(/deeper/);
  });

  it("is too large, by its length or by its conditions", () => {
    const { maxLength, maxConditions } = FILTER_LIMITS;
    expect(() => parseFilter({ source: "a".repeat(maxLength - 20) })).not.toThrow();
    expect(refusal({ source: "a".repeat(maxLength) })[1]).toMatch(/longer than 8192/);
    expect(refusal(JSON.stringify({ source: "a".repeat(maxLength) }))[1]).toMatch(/longer than 8192/);
    const list = (count: number) => ({ $or: Array.from({ length: count }, () => ({ source: "a" })) });
    expect(() => parseFilter(list(maxConditions / 2 - 1))).not.toThrow();
    expect(refusal(list(maxConditions))[1]).toMatch(/one condition too many/);
    // A list of values is one condition.
    expect(() => parseFilter({ source: { $in: Array.from({ length: 1000 }, (_, i) => `s${i}`) } })).not.toThrow();
  });

  it("shows no more of a long name than is needed to find it", () => {
    expect(refusal({ ["x".repeat(5000)]: 1 })[0]).toHaveLength("event_filter.".length + 60);
  });
});
