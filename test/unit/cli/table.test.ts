import { array, assert, constant, integer, oneof, property, string, tuple } from "fast-check";
import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { layOutTable } from "../../../src/cli/table.ts";
import { createPaint } from "../../../src/cli/terminal.ts";

const plain = createPaint({ hasColour: false });
const HEADINGS = ["DELIVERY", "TYPE", "STATUS", "LAST ERROR"];
const ROW = ["dlv_1234567890abcdef", "order.created", "dead (refused)", "answered 400: the field total is missing"];

describe("a table", () => {
  it("is as wide as it is where nothing limits it", () => {
    const { text, hidden } = layOutTable(HEADINGS, [ROW], { width: undefined, paint: plain });
    expect(text.split("\n")).toEqual([
      "DELIVERY              TYPE           STATUS          LAST ERROR",
      "dlv_1234567890abcdef  order.created  dead (refused)  answered 400: the field total is missing",
    ]);
    expect(hidden).toEqual([]);
  });

  it("cuts texts off before it leaves columns out, and never cuts an id", () => {
    const { text, hidden } = layOutTable(HEADINGS, [ROW], { width: 80, paint: plain });
    expect(text.split("\n")[1]).toBe(
      "dlv_1234567890abcdef  order.created  dead (refused)  answered 400: the field to…",
    );
    expect(hidden).toEqual([]);
  });

  it("leaves out first what its owner said, and notes it", () => {
    const { text, hidden } = layOutTable(HEADINGS, [ROW], { width: 60, paint: plain, expendable: ["TYPE"] });
    expect(hidden).toEqual(["TYPE"]);
    expect(text.split("\n")[0]).toBe("DELIVERY              STATUS          LAST ERROR");
  });

  it("is never wider than asked, unless an id alone is", () => {
    const cell = oneof(string(), string({ unit: "grapheme" }), constant("evt_0123456789abcdef"));
    assert(
      property(
        array(tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }),
        integer({ min: 40, max: 160 }),
        (rows, width) => {
          const { text } = layOutTable(["FIRST", "SECOND", "THIRD"], rows, { width, paint: plain });
          for (const line of text.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it("keeps columns in line beside wide characters", () => {
    const rows = [
      ["注文", "a"],
      ["x", "b"],
    ];
    expect(layOutTable(["NAME", "V"], rows, { width: 80, paint: plain }).text).toBe("NAME  V\n注文  a\nx     b");
  });

  it("cannot move the cursor, with any text in its cells", () => {
    const { text } = layOutTable(["NAME"], [["\u001b[2J\r\nfake"]], { width: 80, paint: plain });
    expect(text).toBe("NAME\n\\u001b[2J\\u000d\\u000afake");
  });

  it("paints words that say how something is, and only on a terminal with colours", () => {
    const row = [["a", "dead (refused)"]];
    const painted = layOutTable(["ID", "STATUS"], row, { width: 80, paint: createPaint({ hasColour: true }) }).text;
    expect(painted).toContain("\u001b[31mdead (refused)\u001b[39m");
    expect(layOutTable(["ID", "STATUS"], row, { width: 80, paint: plain }).text).not.toContain("\u001b");
  });
});
