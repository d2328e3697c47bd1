import { describe, expect, it } from "vitest";
import { OPERATORS, toFilter, toRows } from "../../../dashboard/src/pages/subscriptions/filter-rows.ts";
import { parseFilter } from "../../../src/model/filter.ts";

const SAID = [
  { data: { order: { total: { $gt: 100, $lt: 200 } } }, source: "shop" },
  { data: { paid: true, name: "x y", code: "7", nothing: null } },
  { headers: { "x-region": { $in: ["eu", "us"] } } },
  { $and: [{ data: { tags: { $contains: "a" } } }, { data: { tags: { $contains: "b" } } }] },
];

describe("a filter in rows", () => {
  it("offers every operator in words, with its name", () => {
    const plain = Object.entries(OPERATORS).filter(([name, words]) => !words.endsWith(` (${name})`));
    expect(plain).toEqual([]);
    expect(Object.keys(OPERATORS)).toContain("$startsWith");
  });

  it.each(SAID)("says the same as the filter: %j", (filter) => {
    const rows = toRows(filter);
    expect(rows).toBeDefined();
    const made = toFilter(rows ?? []);
    // A plain value and `$eq` mean the same, so the second time nothing changes any more.
    expect(toRows(made)).toEqual(rows);
    expect(() => parseFilter(made)).not.toThrow();
  });

  it("reads what is typed as JSON where it is some, and else as a text", () => {
    const typed = (operand: string, operator = "$eq") => toFilter([{ path: "data.a", operator, operand }]);
    expect(typed("100")).toEqual({ data: { a: { $eq: 100 } } });
    expect(typed('"100"')).toEqual({ data: { a: { $eq: "100" } } });
    expect(typed("a b")).toEqual({ data: { a: { $eq: "a b" } } });
    expect(typed("eu, us", "$in")).toEqual({ data: { a: { $in: ["eu", "us"] } } });
  });

  it.each([{ $or: [{ source: "a" }] }, { data: { $not: { a: 1 } } }, { data: { "a.b": 1 } }, "text"])(
    "leaves to JSON what rows cannot say: %j",
    (filter) => {
      expect(toRows(filter)).toBeUndefined();
    },
  );

  it("is no filter without rows", () => {
    expect(toFilter([])).toBeUndefined();
    expect(toFilter([{ path: " ", operator: "$eq", operand: "1" }])).toBeUndefined();
    expect(toRows(undefined)).toEqual([]);
  });
});
