import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import {
  compilePayloadSchema,
  MAX_MISMATCHES,
  TooManySteps,
  type Mismatch,
} from "../../../../src/receive/schema/payload-schema.ts";
import { MAX_SCHEMA_BYTES } from "../../../../src/receive/schema/prepare-schema.ts";
import { cutOff } from "../../../support/cut-off.ts";

const compile = (schema: object) => compilePayloadSchema(JSON.stringify(schema), { trusted: false });
const check = (schema: object, payload: unknown, maxSteps = 1e6) => compile(schema).check(payload, maxSteps);
const paths = (found: readonly Mismatch[] | undefined) => found?.map(({ path }) => path);

const ORDER = {
  type: "object",
  properties: {
    id: { type: "integer" },
    status: { enum: ["draft", "sent"] },
    items: { type: "array", items: { type: "object", required: ["sku"], properties: { "a/b": { type: "number" } } } },
  },
  required: ["id"],
  additionalProperties: false,
};

describe("a payload's schema", () => {
  it("says nothing of a payload that fits, and names every place of one that does not", () => {
    expect(check(ORDER, { id: 1, status: "sent", items: [{ sku: "x", "a/b": 1.5 }] })).toBeUndefined();
    const found = check(ORDER, { status: "lost", items: [{ "a/b": "1" }], more: 1 });
    expect(found).toEqual(
      expect.arrayContaining([
        { path: "/id", message: "is missing" },
        { path: "/more", message: "is not a known field" },
        { path: "/status", message: 'must be one of ["draft","sent"]' },
        { path: "/items/0/sku", message: "is missing" },
        { path: "/items/0/a~1b", message: "must be number" },
      ]),
    );
    expect(found).toHaveLength(5);
  });

  it("names no more places than anybody reads", () => {
    const many = Array.from({ length: 500 }, () => "x");
    expect(check({ type: "array", items: { type: "number" } }, many)).toHaveLength(MAX_MISMATCHES);
  });

  it("takes drafts 2020-12, 2019-09, 07 and 04, each by its own rules", () => {
    const tuple = { prefixItems: [{ type: "string" }], items: { type: "number" } };
    expect(paths(check(tuple, ["a", "b"]))).toEqual(["/1"]);
    const old = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] };
    expect(paths(check(old, [1, 2]))).toEqual(["/0"]);
    expect(check({ ...old, additionalItems: false }, ["a", 2])).toHaveLength(1);

    const middle = { $schema: "https://json-schema.org/draft/2019-09/schema" };
    expect(paths(check({ ...middle, items: [{ type: "string" }] }, [1]))).toEqual(["/0"]);
    const list = { ...middle, properties: { next: { $recursiveRef: "#" }, v: { type: "number" } } };
    expect(paths(check(list, { next: { next: { v: "x" } } }))).toEqual(["/next/next/v"]);
    expect(paths(check({ ...middle, dependentRequired: { a: ["b"] } }, { a: 1 }))).toEqual([""]);

    const oldest = { $schema: "http://json-schema.org/draft-04/schema#", id: "http://example.com/order" };
    const total = { ...oldest, properties: { total: { minimum: 0, exclusiveMinimum: true } } };
    expect(paths(check(total, { total: 0 }))).toEqual(["/total"]);
    expect(check(total, { total: 1 })).toBeUndefined();
    expect(check({ ...oldest, properties: { id: { type: "string" } } }, { id: "a" })).toBeUndefined();
    expect(() => compile({ ...oldest, exclusiveMinimum: 3 })).toThrow(/no JSON Schema/);
    expect(() => compile({ ...oldest, items: { id: "urn:a" } })).toThrow(/must not hold id inside/);
  });

  it("never fills in a default or changes a payload in another way", () => {
    const schema = { properties: { a: { default: 1 }, n: { type: "number" } }, additionalProperties: false };
    const payload = { n: "1", extra: true };
    check(schema, payload);
    expect(payload).toEqual({ n: "1", extra: true });
  });

  it("does not take what every object inherits for a field", () => {
    expect(paths(check({ required: ["toString"] }, {}))).toEqual(["/toString"]);
    expect(paths(check({ required: ["__proto__"] }, JSON.parse('{"x":1}')))).toEqual(["/__proto__"]);
    expect(check({ required: ["__proto__"] }, JSON.parse('{"__proto__":1}'))).toBeUndefined();
  });

  it("follows references inside of itself, also in circles", () => {
    const tree = { $defs: { node: { properties: { next: { $ref: "#/$defs/node" }, v: { type: "number" } } } } };
    const schema = { $id: "https://example.com/tree", ...tree, $ref: "#/$defs/node" };
    expect(check(schema, { next: { next: { v: 1 } } })).toBeUndefined();
    expect(paths(check(schema, { next: { next: { v: "1" } } }))).toEqual(["/next/next/v"]);
  });

  it("checks formats that it knows, and passes over the others", () => {
    expect(paths(check({ properties: { at: { format: "date-time" } } }, { at: "noon" }))).toEqual(["/at"]);
    expect(check({ format: "chess-move" }, "e4")).toBeUndefined();
  });

  it("keeps the patterns of one schema apart", () => {
    const schema = {
      properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } },
      patternProperties: { "^x-": false },
    };
    expect(check(schema, { a: "a", b: "b" })).toBeUndefined();
    expect(paths(check(schema, { a: "b", b: "a", "x-c": 1 }))).toEqual(["/a", "/b", "/x-c"]);
  });

  it("finds equal items whatever the order of their fields", () => {
    const unique = { uniqueItems: true };
    expect(
      check(unique, [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ]),
    ).toHaveLength(1);
    expect(check(unique, [1, "1", null, "null", [1], { 0: 1 }, {}, []])).toBeUndefined();
    expect(check({ uniqueItems: false }, [1, 1])).toBeUndefined();
  });

  it("agrees with itself on any JSON: what a schema allows by type is what has that type", () => {
    const schema = compile({ type: ["object", "array"], minProperties: 0 });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const fits = typeof value === "object" && value !== null;
        expect(schema.check(value, 1e6) === undefined).toBe(fits);
      }),
    );
  });
});

describe("a schema that cannot be used", () => {
  const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });
  it.each([
    ["is no JSON Schema", { type: "objekt" }, /no JSON Schema/],
    ["has a keyword of the wrong kind", { properties: { a: 5 } }, /no JSON Schema/],
    ["is of another draft", { $schema: "http://json-schema.org/draft-03/schema#" }, /drafts 2020-12/],
    ["is too large", { description: "x".repeat(MAX_SCHEMA_BYTES) }, /larger than 64 KB/],
    ["is too deep", nested(70), /nested more than 64/],
    ["has too many parts", { anyOf: Array.from({ length: 2001 }, () => ({})) }, /more than 2000/],
    ["refers to another document", { $ref: "https://example.com/a.json" }, /only places of the schema itself/],
    ["refers to a file", { properties: { a: { $ref: "other.json#/a" } } }, /only places of the schema itself/],
    ["refers to nothing", { $ref: "#/$defs/none" }, /where no schema is/],
    ["refers to what is no schema", { enum: [{ a: 1 }], $ref: "#/enum/0" }, /where no schema is/],
    ["hides an id inside", { $defs: { a: { $id: "urn:a" } } }, /must not hold \$id inside/],
    ["would be asynchronous", { $async: true }, /\$async/],
    ["has a pattern with look-ahead", { pattern: "(?=a)b" }, /look-around/],
    ["has a pattern with a back-reference", { pattern: "(a)\\1" }, /look-around/],
    ["has a broken pattern", { patternProperties: { "(": {} } }, /cannot be used/],
    ["has a huge pattern", { pattern: "(a{0,30}){0,30}" }, /too large/],
  ])("is refused when it %s", (_, schema, reason) => {
    expect(() => compile(schema)).toThrow(reason);
  });
});

describe("the cost of a check", () => {
  it("is bounded for a schema that doubles its work at each level", () => {
    const half = { properties: { a: { $ref: "#" } } };
    const schema = compile({ anyOf: [{ allOf: [half, { required: ["none"] }] }, half] });
    let payload: object = {};
    for (let depth = 0; depth < 100; depth++) payload = { a: payload };
    expect(() => schema.check(payload, 1e6)).toThrow(TooManySteps);
    expect(schema.check({ a: { a: {} } }, 1e6)).toBeUndefined();
  });

  it("is bounded where every visit reads a long list and then fails", () => {
    const list = { contains: { type: "string" } };
    const schema = compile({ anyOf: Array.from({ length: 500 }, () => list) });
    expect(() =>
      schema.check(
        Array.from({ length: 100_000 }, () => 1),
        1e6,
      ),
    ).toThrow(TooManySteps);
  });

  it("is bounded where a large program meets a long text", () => {
    const schema = compile({ pattern: "(x+x+)+y|((a{0,20}){0,20})$" });
    expect(() => schema.check("a".repeat(100_000), 1e6)).toThrow(TooManySteps);
  });

  it("is small for a pattern that makes others explode", () => {
    const schema = compile({ pattern: "^(a+)+$" });
    expect(cutOff(() => schema.check(`${"a".repeat(5000)}b`, 1e6))).toHaveLength(1);
  });

  it.each(["::", "a.", "a@", "1", "-", "/~", "%", "a:/", "@", "P1Y", "A"])(
    "is linear in every format, for a text made of %j",
    (part) => {
      const formats = "date time date-time duration email hostname ipv4 ipv6 uri uri-reference uuid byte json-pointer";
      const schema = compile({ anyOf: formats.split(" ").map((format) => ({ format })) });
      // What is quadratic would take hours.
      expect(() => cutOff(() => schema.check(part.repeat(1_000_000), 1e7))).not.toThrow(/timed out/);
    },
  );

  it("is linear for equal items", () => {
    const schema = compile({ uniqueItems: true });
    const items = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    expect(schema.check(items, 1e6)).toBeUndefined();
  });
});
