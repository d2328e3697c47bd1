import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { elementSpans, memberSpans } from "../../../src/model/json-members.ts";

const space = fc.constantFrom("", " ", "\n", "\t \r\n");

/** A text of the same value, written oddly: spaces anywhere, characters escaped that need not be. */
const oddJson: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const text = fc
    .tuple(fc.string({ unit: "binary", maxLength: 8 }), fc.boolean())
    .map(([raw, escaped]) =>
      escaped
        ? `"${Array.from({ length: raw.length }, (_, i) => `\\u${raw.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`
        : JSON.stringify(raw),
    );
  const scalar = fc.oneof(
    text,
    fc.constantFrom("true", "null", "-0.5e+3", "12345678901234567890", '"]}\\""', '"\\\\"'),
  );
  const list = fc
    .array(fc.tuple(space, tie("value"), space), { maxLength: 4 })
    .map((parts) => `[${parts.map((part) => part.join("")).join(",") || " "}]`);
  const record = fc
    .array(fc.tuple(space, text, space, fc.constant(":"), space, tie("value"), space), { maxLength: 4 })
    .map((parts) => `{${parts.map((part) => part.join("")).join(",") || "\n"}}`);
  return { value: fc.oneof({ maxDepth: 4, depthSize: "small" }, scalar, list, record) };
}).value;

/** The value put together again out of its parts, each cut out by its span. */
function rebuild(json: Buffer, start: number, end: number): unknown {
  const text = json.toString("utf8", start, end);
  if (text.trimStart().startsWith("[")) {
    return elementSpans(json, start, end).map((span) => rebuild(json, span.start, span.end));
  }
  if (!text.trimStart().startsWith("{")) return JSON.parse(text);
  const members = [...memberSpans(json, start, end)];
  return Object.fromEntries(members.map(([name, span]) => [name, rebuild(json, span.start, span.end)]));
}

describe("member and element spans", () => {
  it("cut out the same values that JSON.parse gives", () => {
    const padded = fc.tuple(space, oddJson, space).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(fc.json(), padded), (text) => {
        const json = Buffer.from(text);
        expect(rebuild(json, 0, json.length)).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("hold no space around a value", () => {
    const json = Buffer.from('\n{ "a" : 1 , "b":\t[ ]\n,"c":"x" } ');
    const texts = [...memberSpans(json, 0, json.length).values()].map(({ start, end }) =>
      json.toString("utf8", start, end),
    );
    expect(texts).toEqual(["1", "[ ]", '"x"']);
  });

  it("work inside a larger text", () => {
    const json = Buffer.from('[ {"a": [1, {"b":2}] } ,"x"]');
    const [first] = elementSpans(json, 0, json.length);
    const a = memberSpans(json, first?.start ?? 0, first?.end ?? 0).get("a");
    expect(json.toString("utf8", a?.start, a?.end)).toBe('[1, {"b":2}]');
  });

  it("give the last of a repeated name, escaped or not", () => {
    const json = Buffer.from('{"id":1,"\\u0069d":  22 }');
    expect(memberSpans(json, 0, json.length).get("id")).toEqual({ start: 20, end: 22 });
  });

  it("stop at the number of elements asked for, and come to an end on what is not JSON", () => {
    const many = Buffer.from(`[${"1,".repeat(5000)}1]`);
    expect(elementSpans(many, 0, many.length, 10)).toHaveLength(10);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const bytes = Buffer.from(`[${text}`);
        expect(elementSpans(bytes, 0, bytes.length).length).toBeLessThanOrEqual(bytes.length);
        expect(memberSpans(bytes, 0, bytes.length).size).toBeLessThanOrEqual(bytes.length);
      }),
      { examples: [['"\\ ']] },
    );
  });
});
