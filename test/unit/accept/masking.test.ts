import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskJson, parseMask } from "../../../src/model/masking.ts";
import { maskLogged } from "../../../src/accept/masking.ts";

const pointersOf = (...places: string[]) => parseMask(places)?.pointers ?? [];
const maskText = (text: string, ...places: string[]) => {
  const { body, count } = maskJson(Buffer.from(text), pointersOf(...places), 0);
  return [body.toString(), count];
};

describe("masking", () => {
  it.each<[text: string, places: string[], expected: string, count: number]>([
    ['{"a":1,"b":"x"}', ["/b"], '{"a":1,"b":"***"}', 1],
    [' { "a" : { "b" : [ 1 , { "c" : null } ] } } ', ["/a/b/1/c"], ' { "a" : { "b" : [ 1 , { "c" : "***" } ] } } ', 1],
    ['{"a":{"b":1},"c":12345678901234567890}', ["/a"], '{"a":"***","c":12345678901234567890}', 1],
    ['{"a":{"b":1}}', ["/a/b", "/a"], '{"a":"***"}', 1],
    ['{"a":1,"a":2}', ["/a"], '{"a":"***","a":"***"}', 2],
    ['{"em\\u0061il":"x"}', ["/email"], '{"em\\u0061il":"***"}', 1],
    ['{"a/b":1,"~":2}', ["/a~1b", "/~0"], '{"a/b":"***","~":"***"}', 2],
    ['[{"a":1},{"a":2}]', ["/1/a"], '[{"a":1},{"a":"***"}]', 1],
    ['{"a":"\\"}"}', ["/a"], '{"a":"***"}', 1],
  ])("of %s at %j leaves %s", (text, places, expected, count) => {
    expect(maskText(text, ...places)).toEqual([expected, count]);
  });

  it.each(['{"b":1}', '{"a":1}', "[]", '"a"', "7", '{"a":{"c":{}}}'])(
    "leaves %s, which has no /a/b, as it is",
    (text) => {
      const json = Buffer.from(text);
      expect(maskJson(json, pointersOf("/a/b"), 0)).toEqual({ body: json, count: 0 });
    },
  );

  it("changes no other byte, whatever the text is", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value), value, fc.nat(3), (rest, secret, spaces) => {
        const text = JSON.stringify({ ...rest, secret }, null, spaces);
        const [masked] = maskText(text, "/secret");
        const before = text.lastIndexOf('"secret"');
        expect(String(masked).slice(0, before)).toBe(text.slice(0, before));
        expect(JSON.parse(String(masked))).toEqual(JSON.parse(JSON.stringify({ ...rest, secret: "***" })));
      }),
    );
  });

  it("keeps no body of a rejected request in which it cannot find the places", () => {
    const rules = parseMask(["/a", "header:X-Mail"]);
    if (rules === undefined) throw new Error("there are rules");
    const facts = JSON.stringify({
      method: "POST",
      path: "/",
      query: "",
      remote_address: "",
      headers: { "x-mail": "m" },
    });
    const logged = (body: string) => maskLogged(rules, { facts, body: Buffer.from(body) });
    expect(Buffer.from(logged('{"a":1}').body ?? []).toString()).toBe('{"a":"***"}');
    expect(logged('{"a":1').body).toBeUndefined();
    expect(logged("{}").facts).toContain('"x-mail":"***"');
  });
});
