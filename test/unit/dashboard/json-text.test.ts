import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberText } from "../../../dashboard/src/json/member-text.ts";
import { prettyText, toLines } from "../../../dashboard/src/json/pretty.ts";
import { prettyXml } from "../../../dashboard/src/json/xml.ts";

describe("JSON as people read it", () => {
  it("says the same as before, whatever it is", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (json) => {
        expect(JSON.parse(prettyText(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  it("looks as JSON.stringify writes it, where nothing is lost by that", () => {
    const value = { a: [1, "two", null, true, {}, []], "b c": { d: -1.5e3 } };
    expect(prettyText(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  });

  it("keeps numbers and texts as they are written", () => {
    const json = '{"n":12345678901234567890,"f":1.10,"e":1E5,"s":"\\u00e9\\/"}';
    const texts = toLines(json)?.map(({ text }) => text);
    expect(texts).toEqual(["{", "12345678901234567890", "1.10", "1E5", '"\\u00e9\\/"', "}"]);
  });

  it("takes any depth and any length", () => {
    const deep = `${"[".repeat(5000)}1${"]".repeat(5000)}`;
    expect(toLines(deep)).toHaveLength(10_001);
    const long = JSON.stringify({ text: "x".repeat(1_000_000) });
    expect(toLines(long)?.[1]?.text).toHaveLength(1_000_002);
  });

  it("knows where each part ends, and how much is in it", () => {
    const lines = toLines('{"a":{"b":1,"c":2},"d":[]}') ?? [];
    expect(lines[1]).toMatchObject({ kind: "open", end: 4, size: 2 });
    expect(lines[4]).toMatchObject({ kind: "close", hasComma: true });
  });

  it("leaves what is no JSON alone", () => {
    expect(toLines("{broken")).toBeUndefined();
    expect(prettyText("{broken")).toBe("{broken");
  });
});

describe("a member's text", () => {
  it("is cut out as it is written, with the white space around it", () => {
    const json = '{"a": {"payload": 1}, "pay\\u006coad" : { "n": 12345678901234567890 } , "z": "}"}';
    expect(memberText(json, "payload")).toBe(' { "n": 12345678901234567890 } ');
    expect(memberText(json, "z")).toBe(' "}"');
    expect(memberText(json, "none")).toBeUndefined();
    expect(memberText("[1]", "payload")).toBeUndefined();
  });

  it("is what JSON.parse finds there", () => {
    const members = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(members, (value) => {
        const json = JSON.stringify(value);
        for (const name of Object.keys(value)) {
          expect(JSON.parse(memberText(json, name) ?? "")).toEqual((JSON.parse(json) as Record<string, unknown>)[name]);
        }
      }),
    );
  });
});

it("gives XML a line for each element", () => {
  expect(prettyXml('<?xml version="1.0"?><a><b x="1">text</b><c/></a>')).toBe(
    '<?xml version="1.0"?>\n<a>\n  <b x="1">text</b>\n  <c/>\n</a>',
  );
});
