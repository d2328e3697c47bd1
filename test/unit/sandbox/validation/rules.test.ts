import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkRules, parseRules } from "../../../../src/sandbox/validation/rules.ts";

const check = (rules: unknown, data: unknown, more: object = {}) =>
  checkRules(parseRules(rules, "rules"), { data, source: "orders", ...more });

function refusalOf(rules: unknown): string | undefined {
  try {
    parseRules(rules, "rules");
    return undefined;
  } catch (error) {
    return (error as Error).name;
  }
}

describe("a rule", () => {
  it("holds everywhere, or only where its condition does", () => {
    const always = [{ require: { data: { id: { $exist: true } } }, message: "has an id" }];
    expect(check(always, { id: 1 })).toEqual([]);
    expect(check(always, {})).toEqual([{ path: "/id", message: "has an id" }]);
    const sometimes = [
      { when: { data: { kind: "big" } }, require: { data: { size: { $gt: 10 } } }, message: "is big" },
    ];
    expect(check(sometimes, { kind: "small", size: 1 })).toEqual([]);
    expect(check(sometimes, { kind: "big", size: 1 })).toEqual([{ path: "/size", message: "is big" }]);
    expect(check(sometimes, { kind: "big", size: 11 })).toEqual([]);
  });

  it("looks at the headers, the query and the name of the source too", () => {
    const rules = [{ require: { headers: { "X-A": "1" }, query: { b: "2" }, source: "orders" }, message: "m" }];
    expect(check(rules, {}, { headers: { "x-a": "1" }, query: { b: "2" } })).toEqual([]);
    expect(check(rules, {}, { headers: { "x-a": "1" }, query: { b: "3" } })).toEqual([
      { path: "query.b", message: "m" },
    ]);
  });

  it("is broken where it would take too long to find out, also by its condition", () => {
    const data = { a: Array.from({ length: 600_000 }, (_, n) => ({ n })) };
    const costly = { data: { a: { $not: { $contains: { n: -1 } } } } };
    const never = { data: { b: { $exist: true } } };
    for (const rule of [
      { when: costly, require: never, message: "m" },
      { require: costly, message: "m" },
    ]) {
      expect(check([rule], data)).toEqual([{ path: "", message: "takes too long to check" }]);
    }
  });

  it("says the same as the filter that it is made of, for any number", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (limit, value) => {
        const rules = [{ require: { data: { n: { $lte: limit } } }, message: "m" }];
        expect(check(rules, { n: value }).length === 0).toBe(value <= limit);
      }),
    );
  });

  it("is refused, and nothing else happens, whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(["SchemaFault", undefined]).toContain(refusalOf(value));
      }),
    );
  });
});
