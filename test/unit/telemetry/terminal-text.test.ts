import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeControls, escapeLines } from "../../../src/telemetry/terminal-text.ts";

/** What terminals obey: C0, DEL, C1, marks of direction, other invisible ones, and ends of lines that are no newline. */
const OBEYED = ["\u0000", "\u001b", "\r", "\u007f", "\u0085", "\u009b", "\u009d", "\u202e", "\u2066", "\u200f"];
const INVISIBLE = ["\u200b", "\u2028", "\u2029", "\ufeff", "\u00ad", "\u{e0001}", "\u{e0041}", "\u{1bca0}"];
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...OBEYED, ...INVISIBLE, "\n", "\t", '"', "\\", "ü", "😀"),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
});
const isObeyed = (character: string) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character);

describe("what is shown", () => {
  it("holds no control sequence for a terminal, whatever a sender wrote", () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(Array.from(escapeControls(given)).filter(isObeyed)).toEqual([]);
        const left = Array.from(escapeLines(given)).filter(isObeyed);
        expect(left).toEqual(Array.from(given).filter((character) => character === "\n" || character === "\t"));
      }),
    );
  });

  it("is the same JSON as before", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, stringUnit: "binary" }), text, (value, name) => {
        const given = JSON.stringify({ [name]: value, name }, null, 2);
        expect(JSON.parse(escapeLines(given))).toEqual(JSON.parse(given));
      }),
    );
  });

  it("leaves every other text as it is", () => {
    fc.assert(
      fc.property(text, (given) => {
        const plain = Array.from(given)
          .filter((character) => !isObeyed(character))
          .join("");
        expect(escapeControls(plain)).toBe(plain);
        expect(escapeLines(`${plain}\n\t${plain}`)).toBe(`${plain}\n\t${plain}`);
      }),
    );
  });

  it("is a test that can fail: JSON alone lets them through", () => {
    for (const character of ["\u007f", "\u009b", "\u202e", "\u2066", "\u{e0001}"]) {
      expect(JSON.stringify(character)).toContain(character);
      expect(escapeLines(JSON.stringify(character))).not.toContain(character);
    }
    expect(escapeControls("a\u202eb\u009bc\u{e0001}")).toBe("a\\u202eb\\u009bc\\udb40\\udc01");
  });
});
