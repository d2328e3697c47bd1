import { escapeControls } from "../../telemetry/terminal-text.ts";
import { note, printEscaped, printJson, shorten } from "../output.ts";
import { createPaint, findTerminal, type Style } from "../terminal.ts";
import type { FieldChange, Plan, Step } from "./plan.ts";

const SIGNS: Readonly<Record<Step["act"], readonly [sign: string, style: Style]>> = {
  create: ["+", "green"],
  change: ["~", "yellow"],
  delete: ["-", "red"],
};

const MAX_VALUE_CHARACTERS = 120;

export function showPlan({ steps, unchanged, skipped, refused }: Plan): void {
  const paint = createPaint(findTerminal());
  for (const step of steps) {
    const [sign, style] = SIGNS[step.act];
    printEscaped(`${paint(style, sign)} ${escapeControls(step.label)}`);
    for (const field of flatten(step.fields)) printEscaped(`    ${describeField(field)}`);
    if (step.areSecretsChanged) printEscaped("    secrets: changed");
    if (step.note !== undefined) printEscaped(`    ${step.note}`);
  }
  for (const { label, reason } of skipped) note(`${label} is skipped: ${reason}`);
  for (const { label, reason } of refused) note(`${label} is rejected: ${reason}`);
  if (steps.length === 0) note(`no changes: ${describeUnchanged(unchanged)}`);
  else note(summarise(steps, unchanged));
}

export function showPlanAsJson({ steps, unchanged, skipped, refused }: Plan, isApplied: boolean): void {
  printJson({
    applied: isApplied,
    changes: steps.map(({ act, label, fields, areSecretsChanged }) => ({
      act,
      what: label,
      fields,
      secrets_changed: areSecretsChanged,
    })),
    unchanged,
    skipped,
    refused,
  });
}

function describeUnchanged(count: number): string {
  return count === 1 ? "the resource is already as declared" : `all ${count} resources are already as declared`;
}

function summarise(steps: readonly Step[], unchanged: number): string {
  const count = (act: Step["act"]) => steps.filter((step) => step.act === act).length;
  return `${count("create")} to create, ${count("change")} to change, ${count("delete")} to delete, ${unchanged} unchanged`;
}

/** For an object, shows only the members that differ. */
function flatten(fields: readonly FieldChange[]): readonly FieldChange[] {
  return fields.flatMap(({ field, before, after }) => {
    if (!isObject(before) || !isObject(after)) return [{ field, before, after }];
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const differing = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
    return flatten(
      differing.map((name) => ({
        field: `${field}.${name}`,
        before: before[name] ?? null,
        after: after[name] ?? null,
      })),
    );
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describeField({ field, before, after }: FieldChange): string {
  return escapeControls(`${field}: ${showValue(before)} -> ${showValue(after)}`);
}

function showValue(value: unknown): string {
  if (value === null) return "(not set)";
  return shorten(typeof value === "string" ? value : JSON.stringify(value), MAX_VALUE_CHARACTERS);
}
