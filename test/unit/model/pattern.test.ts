import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  doPatternsOverlap,
  GATEWAY_EVENT_TYPES,
  isGatewayEventType,
  matchesPattern,
  parsePattern,
} from "../../../src/model/pattern.ts";
import { cutOff } from "../../support/cut-off.ts";

function matches(pattern: string, eventType: string): boolean {
  return matchesPattern(parsePattern(pattern), eventType);
}

/** The definition, word by word, with no care for speed. */
function naiveMatch(pattern: readonly string[], words: readonly string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return words.length === 0;
  if (head === "#") return naiveMatch(rest, words) || (words.length > 0 && naiveMatch(pattern, words.slice(1)));
  return words.length > 0 && (head === "*" || head === words[0]) && naiveMatch(rest, words.slice(1));
}

const word = fc.constantFrom("a", "b", "c");
const eventType = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join("."));
const patternText = fc
  .array(fc.oneof(word, fc.constantFrom("*", "#")), { minLength: 1, maxLength: 6 })
  .map((words) => words.join("."));

describe("a pattern", () => {
  it.each([
    ["order.created", "order.created", true],
    ["order.created", "order.created.v2", false],
    ["order.*", "order.created", true],
    ["order.*", "order", false],
    ["order.*", "order.line.added", false],
    ["order.#", "order", true],
    ["order.#", "order.line.added", true],
    ["#.added", "order.line.added", true],
    ["#.added", "added", true],
    ["*.*", "order", false],
    ["*", "order.line.added", true],
    ["#", "order.line.added", true],
    ["*.created", "order.created", true],
    ["Order.created", "order.created", false],
  ])("%s for %s: %s", (pattern, type, expected) => {
    expect(matches(pattern, type)).toBe(expected);
  });

  it("agrees with the plain definition for all small patterns and types", () => {
    fc.assert(
      fc.property(patternText, eventType, (pattern, type) => {
        const expected = pattern === "*" || naiveMatch(pattern.split("."), type.split("."));
        expect(matches(pattern, type)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it("comes to an end where backtracking over every # would not", () => {
    const pattern = parsePattern(`${"#.a.".repeat(60)}z`);
    const type = Array.from({ length: 127 }, () => "a").join(".");
    expect(cutOff(() => matchesPattern(pattern, type))).toBe(false);
  });

  it.each(["", ".", "a.", ".a", "a..b", "a.*b", "a.**", "##", "a b", "a/b", "ä", "a\u0000", "a\n", "x".repeat(256)])(
    "is rejected when it is %j",
    (text) => {
      expect(() => parsePattern(text)).toThrow(expect.objectContaining({ code: "invalid_field", field: "events" }));
    },
  );
});

describe("events of the gateway itself", () => {
  it("match only patterns whose first word names them", () => {
    for (const type of GATEWAY_EVENT_TYPES) {
      const [first, second] = type.split(".");
      for (const all of ["*", "#", "*.*", "*.#", `*.${second}`, `#.${second}`]) expect(matches(all, type)).toBe(false);
      for (const named of [type, `${first}.*`, `${first}.#`]) expect(matches(named, type)).toBe(true);
    }
  });

  it("are told by their exact names, so that received webhooks and users' own types stay ordinary", () => {
    for (const type of ["webhook.github", "webhook", "alert.raised", "gateway.x", "test.event.more", "constructor"]) {
      expect(isGatewayEventType(type)).toBe(false);
      expect(matches("*", type)).toBe(true);
    }
  });
});

describe("two patterns", () => {
  const overlap = (one: string, other: string) => doPatternsOverlap(parsePattern(one), parsePattern(other));

  it.each([
    ["a.b", "a.b", true],
    ["a.b", "a.c", false],
    ["a.*", "a.b", true],
    ["a.*", "*.b", true],
    ["a.*", "b.*", false],
    ["a.*", "a.*.c", false],
    ["a.#", "a.*.c", true],
    ["#.c", "a.#", true],
    ["a.#.b", "*.c", false],
    ["a.#.b", "*.#", true],
    ["a.#.z", "#.b.*", true],
    ["a.#.z", "b.#", false],
    ["#", "x.y", true],
    ["*", "a.b.c", true],
    ["a.#", "a", true],
  ])("%s and %s overlap: %s", (one, other, expected) => {
    expect([overlap(one, other), overlap(other, one)]).toEqual([expected, expected]);
  });

  it("overlap where any type fits both", () => {
    const words = fc.array(fc.constantFrom("a", "b", "*", "#"), { minLength: 1, maxLength: 4 });
    const type = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(words, words, type, (one, other, named) => {
        const [left, right] = [parsePattern(one.join(".")), parsePattern(other.join("."))];
        const fitsBoth = [left, right].every((pattern) => matchesPattern(pattern, named.join(".")));
        expect(!fitsBoth || doPatternsOverlap(left, right)).toBe(true);
      }),
    );
  });
});
