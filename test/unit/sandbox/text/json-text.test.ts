import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { JsonFault, scanJson, checkJsonText, parseJsonText } from "../../../../src/sandbox/text/json-text.ts";

function refusal(text: string | Buffer, maxDepth = 128): PosthornError {
  try {
    checkJsonText(Buffer.from(text as string), maxDepth);
  } catch (error) {
    if (error instanceof PosthornError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text.toString()}`);
}

function outcome(read: () => unknown): { refused: unknown } {
  try {
    read();
    return { refused: undefined };
  } catch (error) {
    return { refused: (error as PosthornError).details };
  }
}

function faultOf(text: Uint8Array): number | undefined {
  try {
    scanJson(text, 0, 1000);
    return undefined;
  } catch (error) {
    if (error instanceof JsonFault) return error.position;
    throw error;
  }
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const jsonLike = fc
  .tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom("", "x", ",", "]", "}", '"', "\\", "0", "-", ".", "e", "\u0001", ":", " "),
  )
  .map(([json, at, mark]) => {
    const place = at % (json.length + 1);
    return json.slice(0, place) + mark + json.slice(place + (at % 2));
  });

describe("JSON text", () => {
  it("is accepted exactly when JSON.parse accepts it", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), jsonLike, fc.string()), (text) => {
        const sound = Buffer.from(text).toString();
        expect(faultOf(Buffer.from(sound)) === undefined).toBe(isParsed(sound));
      }),
      { numRuns: 3000 },
    );
  });

  it("is rejected alike, for the same reason at the same place, whether its value is wanted or not", () => {
    const bytes = fc.oneof(
      fc.oneof(fc.json(), jsonLike, fc.string()).map((text) => Buffer.from(text)),
      fc.uint8Array().map((array) => Buffer.from(array)),
    );
    fc.assert(
      fc.property(bytes, fc.integer({ min: 0, max: 4 }), (body, maxDepth) => {
        expect(outcome(() => parseJsonText(body, maxDepth)).refused).toEqual(
          outcome(() => checkJsonText(body, maxDepth)).refused,
        );
      }),
      { numRuns: 3000 },
    );
    expect(parseJsonText(Buffer.from('\ufeff{"a":["é"]}'), 2)).toEqual({ a: ["é"] });
    expect(parseJsonText(Buffer.from('["[[{{"]'), 1)).toEqual(["[[{{"]);
    expect(() => parseJsonText(Buffer.from("[[]]"), 1)).toThrow("nested deeper than 1 levels");
  });

  it("is checked like JSON.parse does for each ASCII character in each kind of place", () => {
    for (let code = 0; code < 128; code++) {
      const mark = String.fromCharCode(code);
      for (const text of [
        `"a${mark}b"`,
        `${mark}1`,
        `[1${mark}2]`,
        `{"a"${mark}:1}`,
        `"\\${mark}"`,
        `"\\u00${mark}0"`,
        `-${mark}1e${mark}`,
      ]) {
        expect([text, faultOf(Buffer.from(text)) === undefined]).toEqual([text, isParsed(text)]);
      }
    }
  });

  it("is at fault where no other ending could save it", () => {
    fc.assert(
      fc.property(jsonLike, fc.string(), (text, ending) => {
        const bytes = Buffer.from(text);
        const position = faultOf(bytes);
        fc.pre(position !== undefined && position < bytes.length);
        const other = Buffer.concat([bytes.subarray(0, position + 1), Buffer.from(ending)]);
        expect(faultOf(other)).toBe(position);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["", 0, "no value: the text is empty"],
    ['{"a":1 "b":2}', 7, "expected ',' or '}'"],
    ["[1,]", 3, "expected a value"],
    ['{"a":1,}', 7, "expected a name in double quotes"],
    ['{"a" 1}', 5, "expected ':'"],
    ["{'a':1}", 1, "expected a name in double quotes"],
    ['{"a":', 5, "the text ends where a value is expected"],
    ['"abc', 4, "the text ends where the closing '\"' of a string is expected"],
    ["[1", 2, "the text ends where ',' or ']' is expected"],
    ["nul1", 3, "expected 'null'"],
    ["01", 1, "a digit after a leading zero"],
    ["1.", 2, "the text ends where a digit is expected"],
    ['"\\x"', 2, "expected one of \"\\/bfnrtu after '\\'"],
    ['"\\u00g0"', 5, "expected a hexadecimal digit"],
    ['"a\nb"', 2, "a control character inside a string (write it as \\u00XX)"],
    ["1 2", 2, "expected nothing after the end of the value"],
  ])("names the place and the reason in %j", (text, position, reason) => {
    expect(refusal(text).details).toMatchObject({ position, reason });
  });

  it("counts lines and columns in characters, positions in bytes", () => {
    const error = refusal('{\r\n  "grüße": 1,\n  "ж": x\n}');
    expect(error.code).toBe("unreadable_body");
    expect(error.details).toMatchObject({ line: 3, column: 8, position: 27 });
    expect(error.message).toBe(
      "The body is not well-formed JSON: expected a value at line 3, column 8 (byte 27). " +
        "Correct the body and send it again.",
    );
  });

  it("is rejected beyond the greatest depth and no earlier, brackets in strings left aside", () => {
    const nested = (depth: number): string => `${'[{"k":'.repeat(depth / 2)}"[[{{\\"[["${"}]".repeat(depth / 2)}`;
    expect(() => checkJsonText(Buffer.from(nested(128)), 128)).not.toThrow();
    expect(refusal(nested(130)).details).toMatchObject({ position: 384, reason: "nested deeper than 128 levels" });
    expect(refusal("[".repeat(1_000_000)).details).toMatchObject({ position: 128 });
    // Whatever may be set, and more than the stack would take.
    expect(() => checkJsonText(Buffer.from(nested(10_000)), 10_000)).not.toThrow();
    expect(() => scanJson(Buffer.from(nested(1_000_000)), 0, 1_000_000)).not.toThrow();
  });

  it("may begin with a byte order mark, which counts in positions but not in columns", () => {
    expect(() => checkJsonText(Buffer.from('\ufeff{"a":1}'), 128)).not.toThrow();
    expect(refusal("\ufeff{x").details).toMatchObject({ position: 4, line: 1, column: 2 });
  });

  it("must be UTF-8, and says where it is not", () => {
    const bad = Buffer.concat([Buffer.from('{"\ufffd é":"'), Buffer.from([0xe9, 0x22, 0x7d])]);
    expect(refusal(bad).details).toMatchObject({ position: bad.length - 3, reason: "a byte that is not UTF-8" });
    const reason = "text that looks like UTF-16 where UTF-8 is expected";
    expect(refusal(Buffer.from('\ufeff{"a":1}', "utf16le")).details).toMatchObject({ position: 0, reason });
    expect(refusal(Buffer.from('{"a":1}', "utf16le")).details).toMatchObject({ reason });
  });
});
