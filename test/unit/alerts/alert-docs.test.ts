import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ALERT_RULE_NAMES, ALERT_RULES, type AlertRule } from "../../../src/model/alert-rules.ts";

const docs = readFileSync(new URL("../../../docs/reference/alerts.md", import.meta.url), "utf8");

function rowOf(name: string, rule: AlertRule): string {
  const { bad, threshold, unit, margin, windowS, minAttempts, severity } = rule;
  const shown = unit === "count" ? `${threshold}` : `${threshold} ${unit}`;
  const clears = margin === 0 ? "" : `, good again ${margin} ${unit} beyond it`;
  const window = windowS === undefined ? "–" : `${windowS} s, ${minAttempts} attempts`;
  const evaluations = `${rule.firesAfter} / ${rule.clearsAfter}`;
  return `| \`${name}\` | ${rule.description} | ${bad} ${shown}${clears} | ${window} | ${evaluations} | ${rule.coolDownS} s | ${severity} |`;
}

describe("docs/reference/alerts.md", () => {
  it("has every rule as it is, and no others", () => {
    const rows = docs.split("\n").filter((line) => /^\| `[a-z_0-9]+` \|.*(info|warning|critical) \|$/.test(line));
    expect(rows).toEqual(ALERT_RULE_NAMES.map((name) => rowOf(name, ALERT_RULES[name])));
  });
});
