import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/domain/errors.ts";
import { parsePointer } from "../../../src/domain/json-pointer.ts";
import { scalarText, scalarTextAt, valueAt } from "../../../src/receive/json-pointer.ts";

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
    const at = (pointer: string): unknown => valueAt(document, parsePointer(pointer));
    expect(at("")).toBe(document);
    expect(at("/foo")).toEqual(["bar", "baz"]);
    expect(at("/foo/0")).toBe("bar");
    expect(["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", '/k"l', "/ ", "/m~0n"].map(at)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8,
    ]);
  });

  it("name any path of names", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (names) => {
        const text = names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        expect(parsePointer(text)).toEqual(names);
      }),
    );
  });

  it.each(["foo", "/a~", "/a~2b", "#/foo"])("refuse %j", (text) => {
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
  ])("find nothing at %s", (pointer) => {
    expect(valueAt({ list: [1, 2], text: "abc", nothing: null }, parsePointer(pointer))).toBeUndefined();
  });

  it("read an own __proto__ like any other name", () => {
    expect(valueAt(JSON.parse('{"__proto__":{"id":7}}'), ["__proto__", "id"])).toBe(7);
  });
});

describe("scalar text", () => {
  it("is the string itself, or the text of a number or a boolean", () => {
    expect(["a", "", 12, 1.5, true, false].map(scalarText)).toEqual(["a", "", "12", "1.5", "true", "false"]);
    expect([null, undefined, {}, [1]].map(scalarText)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("keeps every digit of a number that a float would round", () => {
    const json = Buffer.from(
      '\ufeff {"a": [0, {"id": 9007199254740993 }], "pi": 3.14159265358979323846, "big": 1e999}',
    );
    const value: unknown = JSON.parse(json.toString().slice(1));
    expect(scalarTextAt(json, value, ["a", "1", "id"])).toBe("9007199254740993");
    expect(String(valueAt(value, ["a", "1", "id"]))).toBe("9007199254740992");
    expect(scalarTextAt(json, value, ["pi"])).toBe("3.14159265358979323846");
    expect(scalarTextAt(json, value, ["big"])).toBe("1e999");
    expect(scalarTextAt(json, value, ["a", "0"])).toBe("0");
    expect(scalarTextAt(json, value, ["a"])).toBeUndefined();
    expect(scalarTextAt(Buffer.from(" 12345678901234567890\n"), 12345678901234567000, [])).toBe("12345678901234567890");
  });
});
