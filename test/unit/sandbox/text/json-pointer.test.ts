import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { parsePointer } from "../../../../src/model/json-pointer.ts";
import { scalarTextAt } from "../../../../src/sandbox/text/json-pointer.ts";

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
