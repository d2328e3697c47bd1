import { describe, expect, it } from "vitest";
import { listPages, type Page } from "../../support/docs/markdown.ts";

/** Phrases that readers from other countries could not understand, with what to write instead (CONTRIBUTING.md). */
const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bthere is no such thing\b/i, "not found, with the name of the thing"],
  [/\bthat is none\b/i, "that is not a …, an invalid …"],
  [/\bwhat opens a door\b/i, "credentials"],
  [/\bhow the gateway is\b/i, "the state of the gateway"],
  [/\boblivion\b/i, "is deleted"],
  [/\bcomes? into being\b/i, "is created"],
  [/\b1 (?:subscriptions|deliveries|events|sources)\b/, "1 subscription"],
  [/\btried again by itself\b/i, "retried automatically"],
];

/** Old releases stay as they were written; CONTRIBUTING shows what not to write. */
const EXEMPT = new Set(["CHANGELOG.md", "CONTRIBUTING.md"]);

function findRiddles({ path, text }: Page): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const found = PHRASES.filter(([phrase]) => phrase.test(line));
    return found.map(([phrase, instead]) => `${path}:${index + 1}: ${phrase.source}; write: ${instead}`);
  });
}

describe("the words of the pages", () => {
  it("are none of those that were hard to understand", () => {
    const pages = listPages().filter(({ path }) => !EXEMPT.has(path));
    expect(pages.flatMap(findRiddles)).toEqual([]);
  });

  it("would be found", () => {
    expect(findRiddles({ path: "a.md", text: "It waits.\nA pointer that is none is refused." })).toEqual([
      expect.stringContaining("a.md:2"),
    ]);
    expect(findRiddles({ path: "a.md", text: "if there is none" })).toEqual([]);
  });
});
