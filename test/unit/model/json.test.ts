import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { elementSpans, memberSpans, parsePointer, scalarTextAt } from "../../../src/model/json.ts";
import { PosthornError } from "../../../src/model/errors.ts";

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

describe("JSON Pointers", () => {
  it("follow the examples of RFC 6901", () => {
    const document = {
      foo: ["bar", "baz"],
      "": 0,
      "a/b": 1,
      "c%d": 2,
      "e^f": 3,
      "g|h": 4,
      "i\\j": 5,
      'k"l': 6,
      " ": 7,
      "m~n": 8,
    };
    const json = Buffer.from(JSON.stringify(document, undefined, 2));
    const at = (pointer: string) => scalarTextAt(json, parsePointer(pointer));
    expect(at("/foo/0")).toBe("bar");
    expect(at("/foo/1")).toBe("baz");
    expect(["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", '/k"l', "/ ", "/m~0n"].map(at)).toEqual(
      Array.from("012345678"),
    );
  });

  it("name any path of names", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (names) => {
        const text = names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        expect(parsePointer(text)).toEqual(names);
      }),
    );
  });

  it.each(["foo", "/a~", "/a~2b", "#/foo"])("reject %j", (text) => {
    expect(() => parsePointer(text)).toThrow(expect.objectContaining({ code: "invalid_field" }));
    expect(() => parsePointer(text)).toThrow(PosthornError);
  });

  it.each([
    ["/__proto__/polluted"],
    ["/constructor/name"],
    ["/list/length"],
    ["/list/-"],
    ["/list/01"],
    ["/list/+1"],
    ["/list/9"],
    ["/text/0"],
    ["/text/length"],
    ["/nothing/a"],
    ["/a/b/c"],
    [""],
    ["/list"],
    ["/nothing"],
  ])("find nothing at %s", (pointer) => {
    const json = Buffer.from('{"list": [1, 2], "text": "abc", "nothing": null}');
    expect(scalarTextAt(json, parsePointer(pointer))).toBeUndefined();
  });

  it("read an own __proto__ like any other name", () => {
    expect(scalarTextAt(Buffer.from('{"__proto__":{"id":7}}'), ["__proto__", "id"])).toBe("7");
  });
});

describe("scalar text", () => {
  it("is the string itself, or the text of a number or a boolean", () => {
    const json = Buffer.from('["a", "", 12, 1.5, true, false, "\\u00e9\\n", "é", 1.0, -0, 1e3, null, {}, [1]]');
    expect(Array.from({ length: 15 }, (_, i) => scalarTextAt(json, [String(i)]))).toEqual(
      ["a", "", "12", "1.5", "true", "false", "é\n", "é", "1", "0", "1000"].concat(Array(4)),
    );
  });

  it("keeps every digit of a number that a float would round", () => {
    const json = Buffer.from(
      '\ufeff {"a": [0, {"id": 9007199254740993 }], "pi": 3.14159265358979323846, "big": 1e999}',
    );
    expect(scalarTextAt(json, ["a", "1", "id"])).toBe("9007199254740993");
    expect(scalarTextAt(json, ["pi"])).toBe("3.14159265358979323846");
    expect(scalarTextAt(json, ["big"])).toBe("1e999");
    expect(scalarTextAt(json, ["a", "0"])).toBe("0");
    expect(scalarTextAt(json, ["a"])).toBeUndefined();
    expect(scalarTextAt(Buffer.from(" 12345678901234567890\n"), [])).toBe("12345678901234567890");
    expect(scalarTextAt(Buffer.from('\ufeff "text" \n'), [])).toBe("text");
  });

  it("finds what JSON.parse finds, of a repeated or escaped name the last", () => {
    const json = Buffer.from('{"id":1,"\\u0069d":2, "i\\u0064" : "three" ,"idd":4,"x":{"id":5}}');
    expect(scalarTextAt(json, ["id"])).toBe("three");
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })),
        fc.string(),
        (record, name) => {
          const text = Buffer.from(JSON.stringify(record));
          for (const key of [...Object.keys(record), name]) {
            expect(scalarTextAt(text, [key])).toBe(Object.hasOwn(record, key) ? record[key] : undefined);
          }
        },
      ),
    );
  });
});
