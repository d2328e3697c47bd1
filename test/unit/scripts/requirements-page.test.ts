import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

interface Line {
  id: string;
  state: string;
  shownBy: readonly string[];
}

const LINE = /^\| ([ABC]\d+) \| [^|]+ \| ([^|]+) \| (.+) \|$/gm;
const TEST = /^`(test\/[^`]+\.ts)`: (.+)$/;
const COMMAND = /^`npm run ([a-z:]+)(?: -- [^`]+)?`$/;
const NOTHING = "–";

const page = readFileSync(join(PROJECT_ROOT, "docs/requirements.md"), "utf8");
const lines = readLines(page);
const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

function readLines(text: string): Line[] {
  return [...text.matchAll(LINE)].map(([, id = "", state = "", shownBy = ""]) => ({
    id,
    state,
    shownBy: shownBy === NOTHING ? [] : shownBy.split("<br>"),
  }));
}

/** What is wrong with one of the things that are said to show a requirement. */
function findFault(shown: string): string | undefined {
  const [, script] = COMMAND.exec(shown) ?? [];
  if (script !== undefined) return script in scripts ? undefined : `there is no script ${script}`;
  const [, path, name] = TEST.exec(shown) ?? [];
  if (path === undefined || name === undefined) return `${shown} names no test`;
  const file = join(PROJECT_ROOT, path);
  if (!existsSync(file)) return `there is no ${path}`;
  return isTestIn(readFileSync(file, "utf8"), name) ? undefined : `${path} has no test "${name}"`;
}

/** As the first argument of `it`, of what `it.each` returns, or as the name of a check in a contract. */
function isTestIn(source: string, name: string): boolean {
  const quoted = ['"', "'", "`"].map((quote) => `${quote}${name}${quote}`);
  return quoted.some((text) => {
    const at = source.indexOf(text);
    return at > 0 && /(?:\(|name:)\s*$/.test(source.slice(0, at));
  });
}

describe("docs/requirements.md", () => {
  it("has a line for each of the 153 requirements, in their order", () => {
    const ids = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
    expect(lines.map(({ id }) => id)).toEqual([...ids("A", 35), ...ids("B", 54), ...ids("C", 64)]);
  });

  it("names only tests and commands that are there", () => {
    const faults = lines.flatMap(({ id, shownBy }) =>
      shownBy.flatMap((shown) => {
        const fault = findFault(shown);
        return fault === undefined ? [] : [`${id}: ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it("shows what it calls built, and nothing else without a word on what is missing", () => {
    for (const { id, state, shownBy } of lines) {
      expect([id, shownBy.length > 0]).toEqual([id, !state.startsWith("planned")]);
      expect([id, /built|planned|can be set/.test(state)]).toEqual([id, true]);
    }
  });

  it("would be found to be stale", () => {
    const good = "`test/unit/scripts/requirements-page.test.ts`: would be found to be stale";
    expect(findFault(good)).toBeUndefined();
    expect(findFault(good.replace("stale", "fresh"))).toContain("has no test");
    expect(findFault(good.replace("scripts/", "nowhere/"))).toContain("there is no test/unit/nowhere");
    expect(findFault("`npm run nothing`")).toContain("no script");
    expect(findFault("somewhere")).toContain("names no test");
  });
});
