import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { findFault } from "../../support/shown-by.ts";

interface Line {
  id: string;
  state: string;
  shownBy: readonly string[];
}

const LINE = /^\| ([ABC]\d+) \| [^|]+ \| ([^|]+) \| (.+) \|$/gm;
const NOTHING = "–";

const page = readFileSync(join(PROJECT_ROOT, "docs/requirements.md"), "utf8");
const lines = readLines(page);
function readLines(text: string): Line[] {
  return [...text.matchAll(LINE)].map(([, id = "", state = "", shownBy = ""]) => ({
    id,
    state,
    shownBy: shownBy === NOTHING ? [] : shownBy.split("<br>"),
  }));
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
