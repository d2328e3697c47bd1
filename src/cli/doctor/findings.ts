import { ReportedFailure } from "../failure.ts";
import { printEscaped, printJson } from "../output.ts";
import { createPaint, findTerminal, type Style, wrapIndented } from "../terminal.ts";
import { escapeControls } from "../../telemetry/terminal-text.ts";

export interface Finding {
  check: string;
  result: Result;
  detail: string;
}

/** A warning can wait; a problem loses or rejects events, or prevents the gateway from starting. */
type Result = "ok" | "warning" | "problem";

export type Report = (result: Result, detail: string) => void;

export type Findings = ReturnType<typeof createFindings>;

export function createFindings() {
  const list: Finding[] = [];
  const about =
    (check: string): Report =>
    (result, detail) =>
      void list.push({ check, result, detail });
  return { list, about };
}

const STYLES: Readonly<Record<Result, Style>> = { ok: "green", warning: "yellow", problem: "red" };

const RESULT_WIDTH = Math.max(...Object.keys(STYLES).map((result) => result.length));

export function printFindings(findings: readonly Finding[], isJson: boolean): void {
  const isWell = findings.every(({ result }) => result !== "problem");
  if (isJson) printJson({ ok: isWell, checks: findings });
  else printLines(findings);
  if (!isWell) throw new ReportedFailure();
}

function printLines(findings: readonly Finding[]): void {
  const terminal = findTerminal();
  const paint = createPaint(terminal);
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat(RESULT_WIDTH + width + 4);
  for (const { check, result, detail } of findings) {
    const lines = wrapIndented(escapeControls(detail), terminal.width, indent);
    printEscaped(`${paint(STYLES[result], result.padEnd(RESULT_WIDTH))}  ${check.padEnd(width)}  ${lines}`);
  }
}
