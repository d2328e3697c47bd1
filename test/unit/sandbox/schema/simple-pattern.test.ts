import * as fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { findWays } from "../../../../src/sandbox/schema/simple-pattern.ts";
import { cutOff } from "../../../support/cut-off.ts";

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
