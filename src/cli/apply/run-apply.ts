import { createInterface } from "node:readline/promises";
import { loadDeclared } from "../../config/load.ts";
import type { ApiClient } from "../api-client.ts";
import { connect, type ClientFlags } from "../connect.ts";
import { CommandFailure, ReportedFailure, usageFailure } from "../failure.ts";
import { countOf, note } from "../output.ts";
import { getSurroundings } from "../surroundings.ts";
import { carryOut } from "./carry-out.ts";
import { makePlan, type Plan, type Step } from "./plan.ts";
import { showPlan, showPlanAsJson } from "./show-plan.ts";

export interface DiffFlags extends ClientFlags {
  file: string;
  prune?: boolean;
  exitCode?: boolean;
}

export interface ApplyFlags extends DiffFlags {
  yes?: boolean;
}

/** Not one of the exit codes of all commands; only used with `--exit-code`. */
const EXIT_DIFFERENT = 4;

export async function runDiff(flags: DiffFlags): Promise<void> {
  const { plan } = await planFor(flags);
  if (flags.json === true) showPlanAsJson(plan, false);
  else showPlan(plan);
  refuseRefused(plan);
  if (flags.exitCode === true && plan.steps.length > 0) throw new ReportedFailure(EXIT_DIFFERENT);
}

export async function runApply(flags: ApplyFlags): Promise<void> {
  const { client, plan } = await planFor(flags);
  if (flags.json !== true) showPlan(plan);
  refuseRefused(plan);
  if (plan.steps.length > 0) {
    await confirm(plan.steps, flags.yes === true);
    await carryOut(client, plan.steps);
  }
  if (flags.json === true) showPlanAsJson(plan, plan.steps.length > 0);
  else if (plan.steps.length > 0) note(`${countOf(plan.steps.length, "change")} made at ${client.url}`);
}

async function planFor(flags: DiffFlags): Promise<{ client: ApiClient; plan: Plan }> {
  const { env, cwd } = getSurroundings();
  const file = loadDeclared({ file: flags.file, env, cwd });
  const client = await connect(flags);
  const plan = await makePlan(client, file, flags.prune === true);
  if (file.others.length > 0) {
    note(`${file.others.join(", ")}: settings of the gateway process itself, which are not applied`);
  }
  return { client, plan };
}

function refuseRefused({ refused }: Plan): void {
  if (refused.length === 0) return;
  const what = refused.length === 1 ? "it is" : "they are";
  throw new CommandFailure(
    `The gateway rejects ${countOf(refused.length, "declaration")} of the file; nothing was changed. Change the file where ${what} declared.`,
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
