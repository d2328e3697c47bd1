import type { Command } from "commander";
import type { ApplyFlags, DiffFlags } from "./apply/run-apply.ts";
import { addClientOptions } from "./client-commands.ts";

const WHAT = `
Compares tenants, event types, targets, subscriptions and sources by their names. All other settings of the
file belong to the gateway process itself and are ignored. Anything that the gateway's own posthorn.yaml
declares is reported and skipped.`;

export function addDiff(program: Command): void {
  addDeclaredOptions(program.command("diff"))
    .description("show what `apply` would change, without changing anything")
    .option("--exit-code", "exit with code 4 when there is something to change")
    .addHelpText(
      "after",
      `${WHAT}

Exit codes: 0 compared, 1 failed or rejected by the gateway, 2 wrong usage, 3 invalid file.

Examples:
  posthorn diff -f posthorn.yaml
  posthorn diff -f posthorn.yaml --prune --exit-code`,
    )
    .action(async (flags: DiffFlags) => (await import("./apply/run-apply.ts")).runDiff(flags));
}

export function addApply(program: Command): void {
  addDeclaredOptions(program.command("apply"))
    .description("change a running gateway to match a configuration file")
    .option("-y, --yes", "make the changes without asking first")
    .addHelpText(
      "after",
      `${WHAT}

Shows the plan and asks before it changes anything. Deletes nothing without --prune. A change that somebody
else makes in the meantime is not overwritten: the command fails, and can be run again.

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 invalid file.

Examples:
  posthorn apply -f posthorn.yaml
  posthorn apply -f posthorn.yaml --prune --yes`,
    )
    .action(async (flags: ApplyFlags) => (await import("./apply/run-apply.ts")).runApply(flags));
}

function addDeclaredOptions(command: Command): Command {
  return addClientOptions(command)
    .requiredOption("-f, --file <file>", "the file, like a posthorn.yaml")
    .option("--prune", "also delete what the file does not declare; only for the kinds that the file lists");
}
