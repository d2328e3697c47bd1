import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/model/errors.ts";
import { explainFilter, matchFilter, parseFilter } from "../../../src/model/filter.ts";
import { createFilterBudget } from "../../../src/model/filter-operators.ts";
import { cutOff } from "../../support/cut-off.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The definition, with no care for speed: undefined is what is not there. */
function naiveMatch(condition: unknown, value: unknown): boolean {
  if (typeof condition !== "object" || condition === null || Array.isArray(condition)) return same(condition, value);
  return Object.entries(condition).every(([name, operand]) => naiveTest(name, operand, value));
}

function naiveTest(name: string, operand: unknown, value: unknown): boolean {
  const list = operand as unknown[];
  const order = <Kind extends number | string>(kind: string, holds: (a: Kind, b: Kind) => boolean) =>
    typeof value === kind && typeof operand === kind && holds(value as Kind, operand as Kind);
  const compare = (holds: (a: number | string, b: number | string) => boolean) =>
    order<number>("number", holds) || order<string>("string", holds);
  switch (name) {
    case "$eq":
      return same(operand, value);
    case "$neq":
      return !same(operand, value);
    case "$gt":
      return compare((a, b) => a > b);
    case "$gte":
      return compare((a, b) => a >= b);
    case "$lt":
      return compare((a, b) => a < b);
    case "$lte":
      return compare((a, b) => a <= b);
    case "$in":
      return list.some((one) => same(one, value));
    case "$nin":
      return !list.some((one) => same(one, value));
    case "$startsWith":
      return typeof value === "string" && value.indexOf(String(operand)) === 0;
    case "$endsWith":
      return typeof value === "string" && value.slice(value.length - String(operand).length) === operand;
    case "$contains":
      if (Array.isArray(value)) return value.some((one) => same(operand, one));
      if (typeof value !== "string" || typeof operand !== "string") return false;
      return Array.from({ length: value.length + 1 }, (_, i) => value.slice(i)).some((end) => end.startsWith(operand));
    case "$exist":
      return (value !== undefined) === operand;
    case "$and":
      return list.every((one) => naiveMatch(one, value));
    case "$or":
      return list.some((one) => naiveMatch(one, value));
    case "$not":
      return !naiveMatch(operand, value);
    default: {
      const isContainer = typeof value === "object" && value !== null;
      const isThere = isContainer && Object.keys(value).includes(name);
      return naiveMatch(operand, isThere ? (value as Record<string, unknown>)[name] : undefined);
    }
  }
}

/** By their texts, with the members in one order. */
function same(a: unknown, b: unknown): boolean {
  return b !== undefined && canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? ["members", ...Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))]
      : inner,
  );
}

/** The answer, or where the filter was refused. */
function tryFilter(filter: unknown, data: unknown): string {
  try {
    return String(matchFilter(parseFilter(filter), { data }));
  } catch (error) {
    if (error instanceof PosthornError && error.code === "invalid_field") return String(error.field);
    throw error;
  }
}

/** Few and small, so that things are often equal; some that have a meaning to JavaScript. */
const name = fc.constantFrom("a", "b", "0", "1", "length", "__proto__", "constructor", "toString");
const plain = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, 2, 1.5, "", "a", "ab", "aab", "b"),
  fc.constantFrom("[object Object]", "undefined"),
);
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    plain as fc.Arbitrary<Json>,
    fc.array(tie("value"), { maxLength: 3 }),
    members(tie("value"), 0) as fc.Arbitrary<Json>,
  ),
}));

/** Own members, also `__proto__`, as JSON.parse makes them. */
function members<Value>(value: fc.Arbitrary<Value>, minLength: number): fc.Arbitrary<object> {
  return fc
    .uniqueArray(fc.tuple(name, value), { minLength, maxLength: 3, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));
}

const { condition } = fc.letrec<{ condition: unknown }>((tie) => {
  const one = <Operand>(operator: string, operand: fc.Arbitrary<Operand>) =>
    operand.map((value) => ({ [operator]: value }));
  const several = fc.array(tie("condition"), { minLength: 1, maxLength: 3 });
  const comparable = fc.constantFrom(0, 1, 2, 1.5, "", "a", "ab");
  const text = fc.constantFrom("", "a", "b", "ab", "aab");
  return {
    condition: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      plain,
      fc.array(json, { maxLength: 2 }),
      one("$eq", json),
      one("$neq", json),
      ...["$gt", "$gte", "$lt", "$lte"].map((operator) => one(operator, comparable)),
      ...["$in", "$nin"].map((operator) => one(operator, fc.array(json, { maxLength: 3 }))),
      ...["$startsWith", "$endsWith"].map((operator) => one(operator, text)),
      one("$contains", json),
      one("$exist", fc.boolean()),
      members(tie("condition"), 1),
      ...["$and", "$or"].map((operator) => one(operator, several)),
      one("$not", tie("condition")),
      fc.tuple(members(tie("condition"), 1), one("$or", several)).map(([left, right]) => ({ ...left, ...right })),
    ),
  };
});

describe("filters in general", () => {
  it("agree with the plain definition, and the explanation with both", () => {
    let matched = 0;
    fc.assert(
      fc.property(condition, json, (onData, data) => {
        const filter = parseFilter({ data: onData });
        const expected = naiveMatch(onData, data);
        if (expected) matched++;
        expect(matchFilter(filter, { data })).toBe(expected);
        expect(explainFilter(filter, { data }) === undefined).toBe(expected);
      }),
      { numRuns: 4000 },
    );
    // Neither side may be the only one that was tried.
    expect(matched).toBeGreaterThan(500);
    expect(matched).toBeLessThan(3500);
  });

  it("mean the same as a string, and after a detour through JSON", () => {
    fc.assert(
      fc.property(condition, json, (onData, data) => {
        const text = JSON.stringify({ data: onData });
        const copy = JSON.parse(JSON.stringify({ data })) as object;
        expect(matchFilter(parseFilter(text), copy)).toBe(matchFilter(parseFilter({ data: onData }), { data }));
      }),
      { numRuns: 1000 },
    );
  });

  it("are rejected with a place, or work on anything: they never throw otherwise", () => {
    const odd = fc.oneof(
      fc.anything(),
      fc.object({ key: fc.constantFrom("data", "$or", "$not", "$in", "$gt", "headers", "a", "__proto__") }),
    );
    fc.assert(
      fc.property(odd, fc.anything(), (value, data) => {
        expect(tryFilter(value, data)).toMatch(/^event_filter|^true$|^false$/);
      }),
      { numRuns: 3000 },
    );
  });

  it("cannot be made to see, or to change, what is not in the event", () => {
    const before = Object.getOwnPropertyNames(Object.prototype).length;
    for (const path of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"]) {
      const exists = parseFilter(`{"data":{${JSON.stringify(path)}:{"$exist":true}}}`);
      for (const data of [{}, [], "text", 7, true, null]) expect(matchFilter(exists, { data })).toBe(false);
      const own = JSON.parse(`{${JSON.stringify(path)}:1}`) as unknown;
      expect(matchFilter(exists, { data: own })).toBe(true);
      expect(matchFilter(parseFilter({ data: { $eq: own } }), { data: {} })).toBe(false);
    }
    parseFilter('{"data":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":{"$eq":1}}}}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(before);
  });
});

describe("the step budget", () => {
  const contains = (operand: unknown) => parseFilter({ data: { $contains: operand } });
  const many = Array.from({ length: 2_000_000 }, () => "x");

  it("lets a filter look through a large list, and no match be made of one that is too large", () => {
    const budget = createFilterBudget();
    const list = many.slice(0, 500_000);
    list[499_999] = "y";
    expect(matchFilter(contains("y"), { data: list }, budget)).toBe(true);
    expect(budget.exceeded).toBe(0);
    expect(matchFilter(contains("x"), { data: many }, budget)).toBe(false);
    expect(budget.exceeded).toBe(1);
  });

  it("is no match under $not either, nor under $or, and is explained", () => {
    const costly = { data: { $contains: "y" } };
    for (const filter of [
      { $not: costly },
      { $or: [costly, { source: "a" }] },
      { data: { $not: { $contains: "y" } } },
    ]) {
      const parsed = parseFilter(filter);
      expect(matchFilter(parsed, { data: many, source: "a" })).toBe(false);
      expect(explainFilter(parsed, { data: many, source: "a" })).toMatchObject({ operator: "step budget" });
      expect(matchFilter(parsed, { data: [], source: "a" })).toBe(true);
    }
  });

  it("is shared by all filters of an event, but leaves each enough for an ordinary one", () => {
    const budget = createFilterBudget();
    const large = many.slice(0, 900_000);
    expect(matchFilter(contains("x"), { data: large }, budget)).toBe(true);
    expect(matchFilter(contains("x"), { data: large }, budget)).toBe(false);
    const ordinary = parseFilter({ source: "a", data: { $contains: "y" }, priority: { $in: ["low", "high"] } });
    const event = { source: "a", data: [...many.slice(0, 900), "y"], priority: "high" };
    for (let i = 0; i < 1000; i++) expect(matchFilter(ordinary, event, budget)).toBe(true);
    expect(budget.exceeded).toBe(1);
  });

  it("holds for very many filters and the worst that can be sent to them", () => {
    const word = `b${"a".repeat(4000)}`;
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]));
    const cases: [object, unknown][] = [
      [{ $contains: word }, "a".repeat(2_000_000)],
      [{ $contains: "y" }, many],
      [{ $contains: { a: [1, { b: 2 }] } }, many.map(() => ({ a: [1, { b: 1 }] }))],
      [{ $eq: { k1: 1 } }, wide],
      [{ $or: Array.from({ length: 90 }, () => ({ $eq: { k1: 1 } })) }, wide],
    ];
    for (const [onData, data] of cases) {
      const filter = parseFilter({ data: onData });
      const budget = createFilterBudget();
      const matchMany = () => {
        for (let i = 0; i < 50_000; i++) matchFilter(filter, { data }, budget);
      };
      expect(() => cutOff(matchMany)).not.toThrow();
    }
  });

  it("finds a text in a long one as the engine does", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
    fc.assert(
      fc.property(letters, letters, letters, (before, word, after) => {
        const long = `${before.repeat(2000)}${word}${"ab".repeat(40_000)}${after}`;
        for (const part of [word, `${word}${after}b`, `a${word}`.repeat(3)]) {
          expect(matchFilter(contains(part), { data: long })).toBe(long.includes(part));
        }
      }),
      { numRuns: 200 },
    );
  });
});
