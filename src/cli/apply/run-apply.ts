import { createInterface } from "node:readline/promises";
import { loadDeclared } from "../../config/load.ts";
import { escapeControls } from "../../telemetry/terminal-text.ts";
import type { ApiClient } from "../api-client.ts";
import { type ClientFlags, connect } from "../connect.ts";
import { CommandFailure, ReportedFailure, usageFailure } from "../failure.ts";
import { countOf, note, openProgress, printEscaped, printJson, shorten } from "../output.ts";
import { getSurroundings } from "../surroundings.ts";
import { isObject } from "../resources/fields.ts";
import { ownFlag } from "../resources/flags.ts";
import type { Call, SingleAction } from "../resources/resource.ts";
import { createPaint, findTerminal, type Style } from "../terminal.ts";
import { type FieldChange, makePlan, type Plan, type Step } from "./plan.ts";

interface DeclaredFlags extends ClientFlags {
  file: string;
  prune?: boolean;
  exitCode?: boolean;
  yes?: boolean;
}

const FLAGS = [
  ownFlag("-f, --file <file>", "the file, like a posthorn.yaml", { isRequired: true }),
  ownFlag("--prune", "also delete what the file does not declare; only for the kinds that the file lists"),
];

const NOTES = `Compares tenants, event types, targets, subscriptions and sources by their names. All other settings of the
file belong to the gateway process itself and are ignored. Anything that the gateway's own posthorn.yaml
declares is reported and skipped.`;

export const DIFF: SingleAction = {
  flags: [...FLAGS, ownFlag("--exit-code", "exit with code 4 when there is something to change")],
  run: diff,
  notes: `${NOTES}

Exit codes: 0 compared, 1 failed or rejected by the gateway, 2 wrong usage, 3 invalid file.

Examples:
  posthorn diff -f posthorn.yaml
  posthorn diff -f posthorn.yaml --prune --exit-code`,
};

export const APPLY: SingleAction = {
  flags: [...FLAGS, ownFlag("-y, --yes", "make the changes without asking first")],
  run: apply,
  notes: `${NOTES}

Shows the plan and asks before it changes anything. Deletes nothing without --prune. A change that somebody
else makes in the meantime is not overwritten: the command fails, and can be run again.

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 invalid file.

Examples:
  posthorn apply -f posthorn.yaml
  posthorn apply -f posthorn.yaml --prune --yes`,
};

/** Not one of the exit codes of all commands; only used with `--exit-code`. */
const EXIT_DIFFERENT = 4;

async function diff({ flags }: Call<DeclaredFlags>): Promise<void> {
  const { plan } = await planFor(flags);
  if (flags.json === true) showPlanAsJson(plan, false);
  else showPlan(plan);
  failIfRejected(plan);
  if (flags.exitCode === true && plan.steps.length > 0) throw new ReportedFailure(EXIT_DIFFERENT);
}

async function apply({ flags }: Call<DeclaredFlags>): Promise<void> {
  const { client, plan } = await planFor(flags);
  if (flags.json !== true) showPlan(plan);
  failIfRejected(plan);
  if (plan.steps.length > 0) {
    await confirm(plan.steps, flags.yes === true);
    await carryOut(client, plan.steps);
  }
  if (flags.json === true) showPlanAsJson(plan, plan.steps.length > 0);
  else if (plan.steps.length > 0) note(`${countOf(plan.steps.length, "change")} made at ${client.url}`);
}

async function planFor(flags: DeclaredFlags): Promise<{ client: ApiClient; plan: Plan }> {
  const { env, cwd } = getSurroundings();
  const file = loadDeclared({ file: flags.file, env, cwd });
  const client = await connect(flags);
  const plan = await makePlan(client, file, flags.prune === true);
  if (file.others.length > 0) {
    note(`${file.others.join(", ")}: settings of the gateway process itself, which are not applied`);
  }
  return { client, plan };
}

function failIfRejected({ rejected }: Plan): void {
  if (rejected.length === 0) return;
  const what = rejected.length === 1 ? "it is" : "they are";
  throw new CommandFailure(
    `The gateway rejects ${countOf(rejected.length, "declaration")} of the file; nothing was changed. Change the file where ${what} declared.`,
  );
}

async function confirm(steps: readonly Step[], isYes: boolean): Promise<void> {
  if (isYes) return;
  const { openStdin, stderr } = getSurroundings();
  const stdin = openStdin();
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw usageFailure("There is no terminal to ask on, and nothing was changed. Add --yes to make the changes.");
  }
  const input = createInterface({ input: stdin, output: stderr });
  try {
    const deletions = steps.filter(({ act }) => act === "delete").length;
    const warning = deletions === 0 ? "" : ` ${countOf(deletions, "deletion")} cannot be undone.`;
    const answer = await input.question(`Make ${countOf(steps.length, "change")}?${warning} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure("Nothing was changed.");
  } finally {
    input.close();
  }
}

/** One step after the other, in the order of the plan. Steps before a failed one are not undone. */
export async function carryOut(client: ApiClient, steps: readonly Step[]): Promise<void> {
  const progress = openProgress(steps.length);
  let made = 0;
  try {
    for (const { label, path, query, body, etag } of steps) {
      const change =
        body === undefined
          ? client.send("DELETE", path, { query, expected: [404] })
          : client.send("PUT", path, { json: body, headers: etag === undefined ? {} : { "if-match": etag } });
      await change.catch((error: Error) => {
        throw new CommandFailure(
          `${label}: ${error.message} ${made} of ${countOf(steps.length, "change")} made. ` +
            "Run the command again to make the remaining changes.",
        );
      });
      made += 1;
      progress.show(made);
    }
  } finally {
    progress.close();
  }
}

const SIGNS: Readonly<Record<Step["act"], readonly [sign: string, style: Style]>> = {
  create: ["+", "green"],
  change: ["~", "yellow"],
  delete: ["-", "red"],
};

const MAX_VALUE_CHARACTERS = 120;

function showPlan({ steps, unchanged, skipped, rejected }: Plan): void {
  const paint = createPaint(findTerminal());
  for (const step of steps) {
    const [sign, style] = SIGNS[step.act];
    printEscaped(`${paint(style, sign)} ${escapeControls(step.label)}`);
    for (const field of flatten(step.fields ?? [])) printEscaped(`    ${describeField(field)}`);
    if (step.areSecretsChanged === true) printEscaped("    secrets: changed");
    if (step.note !== undefined) printEscaped(`    ${step.note}`);
  }
  for (const { label, reason } of skipped) note(`${label} is skipped: ${reason}`);
  for (const { label, reason } of rejected) note(`${label} is rejected: ${reason}`);
  note(summarise(steps, unchanged));
}

function showPlanAsJson({ steps, unchanged, skipped, rejected }: Plan, isApplied: boolean): void {
  const changes = steps.map(({ act, label, fields = [], areSecretsChanged = false }) => ({
    act,
    what: label,
    fields,
    secrets_changed: areSecretsChanged,
  }));
  printJson({ applied: isApplied, changes, unchanged, skipped, refused: rejected });
}

function summarise(steps: readonly Step[], unchanged: number): string {
  const count = (act: Step["act"]) => steps.filter((step) => step.act === act).length;
  if (steps.length > 0) {
    return `${count("create")} to create, ${count("change")} to change, ${count("delete")} to delete, ${unchanged} unchanged`;
  }
  const all = unchanged === 1 ? "the resource is" : `all ${unchanged} resources are`;
  return `no changes: ${all} already as declared`;
}

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

function describeField({ field, before, after }: FieldChange): string {
  return escapeControls(`${field}: ${showValue(before)} -> ${showValue(after)}`);
}

function showValue(value: unknown): string {
  if (value === null) return "(not set)";
  return shorten(typeof value === "string" ? value : JSON.stringify(value), MAX_VALUE_CHARACTERS);
}
