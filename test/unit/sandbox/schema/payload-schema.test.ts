import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { RE2JS } from "re2js";
import { compilePayloadSchema, findWays } from "../../../../src/sandbox/schema/payload-schema.ts";
import { TooManySteps, type Mismatch } from "../../../../src/sandbox/schema/faults.ts";
import { LIMITS } from "../../../../src/sandbox/schema/prepare-schema.ts";
import { cutOff } from "../../../support/cut-off.ts";

const compile = (schema: object) => compilePayloadSchema(JSON.stringify(schema), { trusted: false });
const check = (schema: object, payload: unknown, maxSteps = 1e6) => compile(schema).check(payload, maxSteps);
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
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
    expect(check({ type: "array", items: { type: "number" } }, many)).toHaveLength(LIMITS.schema.maxErrors);
  });

  it("takes drafts 2020-12, 2019-09, 07, 06 and 04, each by its own rules", () => {
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
    expect(() => compile({ ...oldest, exclusiveMinimum: 3 })).toThrow(/not a valid JSON Schema/);
    const named = { ...oldest, items: { id: "#item", type: "string" }, properties: { a: { $ref: "order#item" } } };
    expect(paths(check(named, { a: 1 }))).toEqual(["/a"]);

    const sixth = { $schema: "http://json-schema.org/draft-06/schema#" };
    expect(
      paths(check({ ...sixth, properties: { a: { const: 1 }, b: { exclusiveMinimum: 1 } } }, { a: 2, b: 1 })),
    ).toEqual(["/a", "/b"]);
    const condition = JSON.parse('{"if": true, "then": false}') as object;
    expect(check({ ...sixth, ...condition }, 1)).toBeUndefined();
    expect(check({ $schema: DRAFT_07, ...condition }, 1)).toBeDefined();
    expect(() => compile({ ...sixth, exclusiveMinimum: true })).toThrow(/not a valid JSON Schema/);
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

  it("follows references by its own id, by ids and names inside, and to meta-schemas", () => {
    const shop = {
      $id: "https://example.com/shop/order.json",
      properties: { next: { $ref: "order.json" }, item: { $ref: "item.json" }, sum: { $ref: "#money" } },
      $defs: {
        item: { $id: "item.json", required: ["sku"], properties: { sum: { $ref: "order.json#money" } } },
        money: { $anchor: "money", type: "number" },
      },
    };
    expect(check(shop, { next: { item: { sku: 1, sum: 2 } }, sum: 3 })).toBeUndefined();
    expect(paths(check(shop, { next: { item: { sum: "2" } }, sum: "3" }))).toEqual([
      "/next/item/sku",
      "/next/item/sum",
      "/sum",
    ]);
    for (const uri of [DRAFT_07, "https://json-schema.org/draft/2020-12/schema"]) {
      const schema = { properties: { schema: { $ref: uri } } };
      expect(check(schema, { schema: { properties: { a: { type: "string" } } } })).toBeUndefined();
      expect(paths(check(schema, { schema: { properties: { a: { minLength: -1 } } } }))).toEqual([
        "/schema/properties/a/minLength",
      ]);
    }
  });

  it("takes whatever stands for the latest draft, and true and false as schemas", () => {
    const latest = { $schema: "http://json-schema.org/schema#", prefixItems: [{ type: "string" }] };
    expect(paths(check(latest, [1]))).toEqual(["/0"]);
    const always = compilePayloadSchema("true", { trusted: false });
    const never = compilePayloadSchema("false", { trusted: false });
    for (const payload of [null, 1, [], { a: 1 }]) {
      expect(always.check(payload, 1e6)).toBeUndefined();
      expect(never.check(payload, 1e6)).toHaveLength(1);
    }
  });

  it("lets the outermost schema say what a dynamic reference means", () => {
    const tree = {
      $id: "https://example.com/tree",
      $dynamicAnchor: "node",
      properties: { data: true, children: { items: { $dynamicRef: "#node" } } },
    };
    const strict = {
      $id: "https://example.com/strict",
      $dynamicAnchor: "node",
      $ref: "tree",
      unevaluatedProperties: false,
    };
    const misspelled = { children: [{ daat: 1 }] };
    expect(check(tree, misspelled)).toBeUndefined();
    expect(paths(check({ ...strict, $defs: { tree } }, misspelled))).toEqual(["/children/0/daat"]);
    expect(check({ ...strict, $defs: { tree } }, { children: [{ data: 1 }] })).toBeUndefined();
  });

  it("asks nothing of what stands beside a reference before 2019-09, and all of it since", () => {
    const schema = {
      definitions: { a: { type: "array" } },
      properties: { a: { $ref: "#/definitions/a", maxItems: 1 } },
    };
    expect(paths(check(schema, { a: [1, 2] }))).toEqual(["/a"]);
    expect(check({ $schema: DRAFT_07, ...schema }, { a: [1, 2] })).toBeUndefined();
  });

  it("checks a field called __proto__ like any other", () => {
    const own = (text: string) => JSON.parse(text) as object;
    const schema = own(`{"properties": {"__proto__": {"type": "number"}, "toString": {"type": "number"}},
      "additionalProperties": false, "dependentRequired": {"__proto__": ["toString"]}}`);
    expect(check(schema, {})).toBeUndefined();
    expect(check(schema, own('{"__proto__": 1, "toString": 2}'))).toBeUndefined();
    expect(paths(check(schema, own('{"__proto__": "1", "toString": "2"}')))).toEqual(["/toString", "/__proto__"]);
    expect(check(schema, own('{"__proto__": 1}'))).toBeDefined();
    expect(paths(check({ additionalProperties: false }, own('{"__proto__": 1}')))).toEqual(["/__proto__"]);
    expect(paths(check(own('{"patternProperties": {"__proto__": false}}'), own('{"__proto__": 1}')))).toEqual([
      "/__proto__",
    ]);
  });

  it("reads a format as a remark where the schema says so", () => {
    const schema = { properties: { at: { format: "date-time" } } };
    expect(check({ "x-format": "annotation", ...schema }, { at: "noon" })).toBeUndefined();
    expect(paths(check({ "x-format": "assertion", ...schema }, { at: "noon" }))).toEqual(["/at"]);
  });

  it("knows the long names of Unicode's classes", () => {
    expect(check({ pattern: "^\\p{Letter}+$" }, "πr")).toBeUndefined();
    expect(check({ pattern: "^\\p{Script=Greek}\\P{General_Category=Decimal_Number}$" }, "πr")).toBeUndefined();
    expect(check({ pattern: "^\\p{Letter}+$" }, "2")).toHaveLength(1);
    expect(check({ pattern: "^\\\\p{1}$" }, "\\p")).toBeUndefined();
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
    ["is no JSON Schema", { type: "objekt" }, /not a valid JSON Schema/],
    ["has a keyword of the wrong kind", { properties: { a: 5 } }, /not a valid JSON Schema/],
    ["is of another draft", { $schema: "http://json-schema.org/draft-03/schema#" }, /drafts 2020-12/],
    ["is too large", { description: "x".repeat(LIMITS.schema.maxBytes) }, /larger than 64 KB/],
    ["is too deep", nested(70), /nested more than 64/],
    ["has too many parts", { anyOf: Array.from({ length: 2001 }, () => ({})) }, /more than 2000/],
    ["refers to another document", { $ref: "https://example.com/a.json" }, /only places in the schema itself/],
    ["refers to a file", { properties: { a: { $ref: "other.json#/a" } } }, /only places in the schema itself/],
    ["refers to nothing", { $ref: "#/$defs/none" }, /where no schema is/],
    ["refers to what is no schema", { enum: [{ a: 1 }], $ref: "#/enum/0" }, /where no schema is/],
    ["has one id twice", { $defs: { a: { $id: "urn:a" }, b: { $id: "urn:a" } } }, /"urn:a" twice/],
    ["has an id that is none", { $id: "http://[" }, /not a valid URI/],
    ["mixes drafts", { $defs: { a: { $id: "urn:a", $schema: DRAFT_07 } } }, /draft 2020-12 but contains .* another/],
    [
      "refers to a meta-schema that reads otherwise",
      { $ref: "http://json-schema.org/draft-04/schema#" },
      /are allowed/,
    ],
    ["says something else of formats", { "x-format": "maybe" }, /assertion or annotation/],
    ["would be asynchronous", { $async: true }, /\$async/],
    ["has a pattern with look-ahead", { pattern: "(?=a)b" }, /look-around/],
    ["has a pattern with a back-reference", { pattern: "(a)\\1" }, /look-around/],
    ["has a broken pattern", { patternProperties: { "(": {} } }, /cannot be used/],
    ["has a huge pattern", { pattern: "(a{0,30}){0,30}" }, /too large/],
  ])("is rejected when it %s", (_, schema, reason) => {
    expect(() => compile(schema)).toThrow(reason);
  });
});

describe("a schema without end", () => {
  const own = (schema: object) => ({ $id: "https://example.com/a", ...schema });
  it.each([
    ["is itself", { $ref: "#" }],
    ["is itself by its id", own({ $ref: "a" })],
    ["is all of itself", { allOf: [{ $ref: "#" }] }],
    ["is not itself", { not: { $ref: "#" } }],
    ["is itself in one case", { anyOf: [{ type: "string" }, { $ref: "#" }] }],
    ["is itself under a condition", { if: { type: "object" }, else: { $ref: "#" } }],
    ["is itself where a field is there", { dependentSchemas: { a: { $ref: "#" } } }],
    [
      "is another that is the first",
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    ],
    [
      "hides that in a field",
      { properties: { deep: { items: { $ref: "#/$defs/a" } } }, $defs: { a: { oneOf: [{ $ref: "#/$defs/a" }] } } },
    ],
    ["is itself by a dynamic reference", { $dynamicAnchor: "a", $dynamicRef: "#a" }],
    [
      "is itself by a recursive reference",
      { $schema: "https://json-schema.org/draft/2019-09/schema", $recursiveRef: "#" },
    ],
    ["is itself in draft 04", { $schema: "http://json-schema.org/draft-04/schema#", allOf: [{ $ref: "#" }] }],
  ])("is rejected when it %s", (_, schema) => {
    expect(() => compile(schema)).toThrow(/without end/);
  });

  it.each([
    ["goes one level down each time", { properties: { next: { $ref: "#" } }, items: { allOf: [{ $ref: "#" }] } }],
    [
      "asks for the same twice",
      { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], $defs: { a: { type: "object" } } },
    ],
    ["names its fields by itself", { propertyNames: { $ref: "#" } }],
  ])("is a test that can fail: a schema is taken when it %s", (_, schema) => {
    expect(check(schema, { next: { next: {} } })).toBeUndefined();
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
      expect(() => cutOff(() => schema.check(part.repeat(1_000_000), 1e8))).not.toThrow();
    },
  );

  it("is linear for equal items", () => {
    const schema = compile({ uniqueItems: true });
    const items = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    expect(schema.check(items, 1e6)).toBeUndefined();
  });
});

const ATOMS = ["[A-Z]", "[^a-c]", "[0-9_.-]", String.raw`\d`, String.raw`\.`, "a", "-", "/", " "];
const BOUNDED = ["", "?", "{2}", "{1,3}"];
const OPEN = ["*", "+", "{2,}"];

const part = (quantifiers: readonly string[]) =>
  fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...quantifiers)).map((pair) => pair.join(""));

/** At most one part of open length. */
const simple = fc
  .tuple(
    fc.array(part(BOUNDED), { maxLength: 3 }),
    fc.option(part(OPEN), { nil: "" }),
    fc.array(part(BOUNDED), { maxLength: 2 }),
    fc.constantFrom("", "$"),
  )
  .map(([before, open, after, end]) => `^${before.join("")}${open}${after.join("")}${end}`);

const text = fc.string({
  unit: fc.constantFrom("a", "b", "d", "A", "Z", "0", "7", ".", "-", "_", "/", " ", "é", "😀"),
});

describe("a simple pattern", () => {
  it("is told from those that may take long, or mean something else in RE2", () => {
    const isSimple = (pattern: string) => findWays(pattern) !== undefined;
    expect(
      [
        "^[A-Z]{3}$",
        String.raw`^[0-9]{1,12}\.[0-9]{2}$`,
        "^ord_[a-z0-9]+$",
        "^x",
        "^$",
        "^",
        String.raw`^\d{4}-\d{2}$`,
      ].filter((pattern) => !isSimple(pattern)),
    ).toEqual([]);
    const others = [
      "a",
      "^(a+)+$",
      "^a*a*$",
      "^[a-z]+[a-z]+$",
      "^a|b$",
      "^.*$",
      String.raw`^\w+$`,
      "^a$b",
      "^a{1,99}$",
    ];
    const more = ["^a{1,9}a{1,9}$", String.raw`^[\d]$`, "^(?=a)a$", "^é$", String.raw`^\-$`, "^a{3,1}$", "^a??$"];
    expect([...others, ...more].filter(isSimple)).toEqual([]);
  });

  it("matches the same by both engines", () => {
    fc.assert(
      fc.property(simple, text, (pattern, sample) => {
        fc.pre(findWays(pattern) !== undefined);
        const byRe2 = RE2JS.compile(RE2JS.translateRegExp(pattern)).test(sample);
        expect(new RegExp(pattern, "u").test(sample)).toBe(byRe2);
      }),
      { numRuns: 2000 },
    );
  });

  it("comes to an end in JavaScript's own engine", () => {
    const pattern = "^[a-z]{1,8}[a-z]{1,8}[a-z]+$";
    expect(findWays(pattern)).toEqual({ ways: 64, isOpen: true });
    expect(cutOff(() => new RegExp(pattern, "u").test(`${"a".repeat(100_000)}!`))).toBe(false);
  });
});
