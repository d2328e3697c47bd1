import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { findFault } from "../../support/shown-by.ts";

const RULES = 73;
const LINE = /^\| (\d+) \| ([^|]+) \| (.+) \|$/gm;
const PENDING = "nothing yet: ";

const page = readFileSync(join(PROJECT_ROOT, "docs/reference/queue-rules.md"), "utf8");
const rules = [...page.matchAll(LINE)].map(([, number = "", rule = "", shownBy = ""]) => ({ number, rule, shownBy }));

describe("docs/reference/queue-rules.md", () => {
  it("numbers the rules in their order", () => {
    expect(rules.map(({ number }) => Number(number))).toEqual(Array.from({ length: RULES }, (_, n) => n + 1));
  });

  it("names only tests that are there, and at least one for each rule", () => {
    const built = rules.filter(({ shownBy }) => !shownBy.startsWith(PENDING));
    const faults = built.flatMap(({ number, shownBy }) =>
      shownBy.split("<br>").flatMap((shown) => {
        const fault = findFault(shown);
        return fault === undefined ? [] : [`${number}: ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
    expect(rules.length - built.length).toBe(1);
  });
});
