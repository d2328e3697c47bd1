import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseExactly } from "../../../sdk/src/client/exact-json.ts";
import { parseJson, rawJson, writeJson } from "../../../sdk/src/client/json.ts";

describe("JSON that is read", () => {
  it("is the same as of JSON.parse, but for integers beyond 2^53", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(!/\d{16}/.test(text));
        expect(parseExactly(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ["12345678901234567890", 12345678901234567890n],
    ["-9007199254740993", -9007199254740993n],
    ["9007199254740991", 9007199254740991],
    ["1234567890123456.5", 1234567890123456.5],
    ["1e20", 1e20],
    ['"1234567890123456789"', "1234567890123456789"],
  ])("%s", (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  it("is the same around them", () => {
    const text = '{"a\\"b":[1234567890123456789,{"c":null}],"__proto__":1}';
    const read = parseJson(text) as object;
    expect(Object.keys(read)).toEqual(['a"b', "__proto__"]);
    expect(read).toMatchObject({ 'a"b': [1234567890123456789n, { c: null }] });
  });

  it("keeps all digits of any integer", () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt()), (numbers) => {
        const text = `[${numbers.join(", ")}]`;
        expect((parseJson(text) as (number | bigint)[]).map(BigInt)).toEqual(numbers);
      }),
    );
  });

  it("is rejected where it is not JSON, however many digits it has", () => {
    for (const text of ["{1234567890123456", '{"a":1234567890123456,}', "01234567890123456", "[1234567890123456]]"]) {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    }
  });
});

describe("JSON that is written", () => {
  it("has all digits of a bigint, and raw JSON as it is", () => {
    const raw = rawJson('{"n": 1.0}');
    expect(writeJson({ a: 12345678901234567890n, b: [raw], c: "x" })).toBe(
      '{"a":12345678901234567890,"b":[{"n": 1.0}],"c":"x"}',
    );
    expect(writeJson(rawJson(new TextEncoder().encode('"ä"')))).toBe('"ä"');
  });

  it("takes no text for something raw", () => {
    const text = "0123456789abcdef0123456789abcdef:0";
    expect(JSON.parse(writeJson({ a: text, b: 1n }))).toEqual({ a: text, b: 1 });
    expect(writeJson("$&")).toBe('"$&"');
    expect(writeJson([rawJson('"$&"')])).toBe('["$&"]');
  });

  it.each([
    ["a number that may have lost digits", { n: 2 ** 53 }, /n is 9007199254740992.*bigint/],
    ["not a number", { n: Number.NaN }, /n is NaN/],
    ["nothing", undefined, /nothing to send/],
  ])("is not %s", (_, value, message) => {
    expect(() => writeJson(value)).toThrow(message);
  });

  it("may have numbers that say themselves that they are not exact", () => {
    expect(writeJson([1e300, 0.1, Number.MAX_SAFE_INTEGER])).toBe("[1e+300,0.1,9007199254740991]");
  });

  it("is not raw JSON that is none", () => {
    expect(() => rawJson("{")).toThrow(SyntaxError);
    expect(() => rawJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(TypeError);
  });
});
