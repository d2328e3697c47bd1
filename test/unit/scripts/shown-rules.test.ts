import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const PAGES = ["test/requirements.md", "test/queue-rules.md"];
const LINE = /^\| ([ABCQ]\d+) \| ([^|]+)(?: \| ([^|]+))? \|$/gm;
const TAG = /^ *\/\/ shows: (.+)\n\s*(?:it|describe|\{|name:)/gm;
/** Nothing can show these yet, or a command does and no test. */
const WITHOUT_TEST = /^planned|`npm run|can be set|\(planned\)$/;

interface Rule {
  id: string;
  text: string;
}

function readRules(page: string): Rule[] {
  return [...page.matchAll(LINE)].map(([, id = "", text = "", state]) => ({ id, text: state ?? text }));
}

function readTags(source: string): string[] {
  return [...source.matchAll(TAG)].flatMap(([, ids = ""]) => ids.split(", "));
}

const rules = PAGES.flatMap((page) => readRules(readFileSync(join(PROJECT_ROOT, page), "utf8")));
const tags = new Set(
  readdirSync(join(PROJECT_ROOT, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
    .flatMap((name) => readTags(readFileSync(join(PROJECT_ROOT, "test", name), "utf8"))),
);

function findUnshown(known: ReadonlySet<string>): string[] {
  return rules.filter(({ id, text }) => !WITHOUT_TEST.test(text) && !known.has(id)).map(({ id }) => id);
}

describe("the requirements and the rules of queues", () => {
  it("are numbered in their order", () => {
    const ids = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
    expect(rules.map(({ id }) => id)).toEqual([...ids("A", 35), ...ids("B", 54), ...ids("C", 64), ...ids("Q", 73)]);
  });

  it("have a test each", () => {
    expect(findUnshown(tags)).toEqual([]);
  });

  it("are known wherever a test names one", () => {
    const ids = new Set(rules.map(({ id }) => id));
    expect([...tags].filter((tag) => !ids.has(tag))).toEqual([]);
  });

  it("are found where no test shows them (control)", () => {
    expect(findUnshown(new Set([...tags].filter((tag) => tag !== "A3")))).toEqual(["A3"]);
    expect(readTags('  // shows: A1, B2\n  it("waits", () => {})')).toEqual(["A1", "B2"]);
    expect(readTags("  // shows: A1\n  const what = 1;")).toEqual([]);
  });
});
