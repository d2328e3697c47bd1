import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { compileJsonCheck, checkRules, parseRules } from "../../../../src/sandbox/checks/json-check.ts";

const compile = (document: object | boolean) => compileJsonCheck("json", JSON.stringify(document), { trusted: false });
const requestOf = (data: unknown) => ({
  body: Buffer.from(JSON.stringify(data)),
  endpoint: "orders",
  headers: {},
  query: "",
});
const check = (document: object | boolean, data: unknown) => compile(document).check(requestOf(data), 1e6);

const DRAFTS = [
  "http://json-schema.org/draft-04/schema#",
  "http://json-schema.org/draft-06/schema#",
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2019-09/schema",
  "https://json-schema.org/draft/2020-12/schema",
];

describe("a JSON validation", () => {
  it.each(DRAFTS)("may be a schema of %s", ($schema) => {
    const document = { $schema, type: "object", required: ["id"], properties: { id: { type: "integer" } } };
    expect(check(document, { id: 1 })).toBeUndefined();
    expect(check(document, { id: "1" })).toEqual([{ path: "/id", message: "must be integer" }]);
  });

  it("names what its schema and its rules find wrong, together", () => {
    const rule = { require: { data: { b: 1 } }, message: "b is one" };
    const document = { properties: { a: { type: "string" } }, "x-rules": [rule] };
    expect(check(document, { a: 1, b: 2 })).toEqual([
      { path: "/a", message: "must be string" },
      { path: "/b", message: "b is one" },
    ]);
    expect(check({ title: "only rules", rules: [rule] }, { a: 1, b: 1 })).toBeUndefined();
  });

  it("may be true or false", () => {
    expect(check(true, { id: 1 })).toBeUndefined();
    expect(check(false, { id: 1 })).toEqual([{ path: "", message: "boolean schema is false" }]);
    expect(() => compile([] as object)).toThrow(/must be an object, true or false/);
  });

  it("takes what quicktype makes of an example: draft 06, with a reference beside its definitions", () => {
    const document = {
      $schema: "http://json-schema.org/draft-06/schema#",
      $ref: "#/definitions/Order",
      definitions: {
        Order: {
          type: "object",
          additionalProperties: false,
          properties: { id: { type: "integer" }, items: { type: "array", items: { $ref: "#/definitions/Item" } } },
          required: ["id", "items"],
          title: "Order",
        },
        Item: { type: "object", properties: { at: { type: "string", format: "date-time" } }, required: ["at"] },
      },
    };
    expect(check(document, { id: 1, items: [{ at: "2026-01-01T00:00:00Z" }] })).toBeUndefined();
    expect(check(document, { id: 1, items: [{}], more: 1 })).toHaveLength(2);
  });

  it("names a hundred places and no more", () => {
    const many = Array.from({ length: 500 }, () => "x");
    expect(check({ items: { type: "number" } }, many)).toHaveLength(100);
  });

  it("may be as deep as 32 and as large as 256 KB", () => {
    const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });
    expect(() => compile(nested(32))).not.toThrow();
    expect(() => compile(nested(33))).toThrow(/more than 32 levels/);
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`field_${n}`, { type: "string" }]));
    expect(() => compile({ description: "x".repeat(250_000), properties: fields(200) })).not.toThrow();
    expect(() => compile({ properties: fields(2000) })).toThrow(/more than 2000 subschemas/);
    expect(() => compile({ description: "x".repeat(256 * 1024) })).toThrow(/larger than 256 KB/);
  });

  it("is paid for by steps, and ends when they are used up", () => {
    const document = { items: { pattern: "^(a+)+$" } };
    const data = Array.from({ length: 5000 }, () => "a".repeat(100));
    expect(() => compile(document).check(requestOf(data), 100_000)).toThrow(/too many steps/);
  });
});

const checkOwn = (rules: unknown, data: unknown, more: object = {}) =>
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
    expect(checkOwn(always, { id: 1 })).toEqual([]);
    expect(checkOwn(always, {})).toEqual([{ path: "/id", message: "has an id" }]);
    const sometimes = [
      { when: { data: { kind: "big" } }, require: { data: { size: { $gt: 10 } } }, message: "is big" },
    ];
    expect(checkOwn(sometimes, { kind: "small", size: 1 })).toEqual([]);
    expect(checkOwn(sometimes, { kind: "big", size: 1 })).toEqual([{ path: "/size", message: "is big" }]);
    expect(checkOwn(sometimes, { kind: "big", size: 11 })).toEqual([]);
  });

  it("looks at the headers, the query and the name of the source too", () => {
    const rules = [{ require: { headers: { "X-A": "1" }, query: { b: "2" }, source: "orders" }, message: "m" }];
    expect(checkOwn(rules, {}, { headers: { "x-a": "1" }, query: { b: "2" } })).toEqual([]);
    expect(checkOwn(rules, {}, { headers: { "x-a": "1" }, query: { b: "3" } })).toEqual([
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
      expect(checkOwn([rule], data)).toEqual([{ path: "", message: "takes too long to check" }]);
    }
  });

  it("says the same as the filter that it is made of, for any number", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (limit, value) => {
        const rules = [{ require: { data: { n: { $lte: limit } } }, message: "m" }];
        expect(checkOwn(rules, { n: value }).length === 0).toBe(value <= limit);
      }),
    );
  });

  it("is rejected, and nothing else happens, whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(["SchemaFault", undefined]).toContain(refusalOf(value));
      }),
    );
  });
});
