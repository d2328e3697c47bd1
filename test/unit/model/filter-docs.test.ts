import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { explainFilter, FILTER_FIELDS, FILTER_LIMITS, parseFilter } from "../../../src/model/filter.ts";
import { VALUE_OPERATORS } from "../../../src/model/filter-operators.ts";

const text = readFileSync(new URL("../../../docs/reference/filters.md", import.meta.url), "utf8");

describe("docs/reference/filters.md", () => {
  it("names every field, every operator and the limits", () => {
    const words = [...FILTER_FIELDS, ...VALUE_OPERATORS.keys(), "$and", "$or", "$not"];
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
    const { maxLength, maxConditions, maxDepth } = FILTER_LIMITS;
    expect(text).toContain(
      `${maxLength.toLocaleString("en")} characters, ${maxConditions} conditions and ${maxDepth} levels`,
    );
  });

  it("shows filters that are taken, and an answer that comes", () => {
    const [filter = "", answer = ""] = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, block]) => block ?? "");
    const inline = [...text.matchAll(/`(\{"data".*?\})`/g)].map(([, one]) => one ?? "");
    expect(inline).toHaveLength(3);
    for (const one of inline) expect(() => parseFilter(one)).not.toThrow();
    const failed = explainFilter(parseFilter(filter), { data: { order: { total: 50 } } });
    expect({ match: false, failed }).toEqual(JSON.parse(answer));
  });
});
