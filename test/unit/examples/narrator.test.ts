import { describe, expect, it } from "vitest";
import { createNarrator } from "../../../examples/support/narrator.ts";
import { captureOutput } from "../../support/captured-output.ts";

const LONG = "a word and another one ".repeat(12).trim();

function tell(width: number | undefined, hasColour = false): string[] {
  const { output, text } = captureOutput({ width, hasColour });
  const narrator = createNarrator(output);
  narrator.step("The first", LONG);
  narrator.step("The second");
  narrator.sent(`POST /webhook  ${LONG}`);
  narrator.passed(LONG);
  narrator.command("posthorn targets", LONG);
  narrator.facts("Summary", [["events", LONG]]);
  return text().split("\n");
}

describe("a walk-through", () => {
  it.each([80, 120])("fits a terminal of %i columns, and is no wider than is good to read", (width) => {
    const lines = tell(width);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    const prose = lines.filter((line) => line.startsWith("   a word"));
    expect(Math.max(...prose.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines).toContain("1  The first");
    expect(lines).toContain("2  The second");
  });

  it("cuts nothing off where it goes to a file", () => {
    expect(tell(undefined)).toContain(`   → POST /webhook  ${LONG}`);
  });

  it("shows what a program that failed has printed, line by line", () => {
    const { output, text } = captureOutput({ width: 80 });
    createNarrator(output).failed("the gateway has ended:\nposthorn: the port is in use\n");
    expect(text()).toBe("   ✗ the gateway has ended:\n   posthorn: the port is in use\n");
  });

  it("neither cuts nor wraps commands that are to be copied", () => {
    const { output, text } = captureOutput({ width: 40 });
    createNarrator(output).commands("Try", [LONG]);
    expect(text().split("\n")).toContain(`   ${LONG}`);
  });

  it("has colours on a terminal only, and lets nobody else bring some", () => {
    expect(tell(80).join("")).not.toContain("\u001b");
    expect(tell(80, true)).toContain("\u001b[36m1  \u001b[39m\u001b[1mThe first\u001b[22m");
    const { output, text } = captureOutput({ hasColour: true });
    const narrator = createNarrator(output);
    const hostile = "\u001b[2J\u001b[31m";
    for (const tell of [narrator.answered, narrator.say, narrator.failed]) tell(hostile);
    narrator.command("posthorn dlq", hostile);
    expect(text()).not.toContain(hostile.slice(0, 4));
    expect(text().split("\\u001b[2J\\u001b[31m")).toHaveLength(5);
  });
});
