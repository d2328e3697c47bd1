import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GATEWAY_EVENT_TYPES, isGatewayEventType, matchesPattern, parsePattern } from "../../../src/domain/pattern.ts";

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

  it("stays quick where backtracking over every # would not end", () => {
    const pattern = parsePattern(`${"#.a.".repeat(60)}z`);
    const type = Array.from({ length: 127 }, () => "a").join(".");
    const startedAt = performance.now();
    expect(matchesPattern(pattern, type)).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(100);
  });

  it.each(["", ".", "a.", ".a", "a..b", "a.*b", "a.**", "##", "a b", "a/b", "ä", "a\u0000", "a\n", "x".repeat(256)])(
    "is refused when it is %j",
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
