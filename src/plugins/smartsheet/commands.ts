import type { Command } from "commander";
import type { CommandLine } from "../plugin.ts";

export function addSmartsheetCommands(program: Command, { addClientOptions }: CommandLine): void {
  const addSource = (command: Command) =>
    addClientOptions(command).option("--source <name>", "the source (default: the only one of the kind)");
  const smartsheet = program
    .command("smartsheet")
    .description("Smartsheet's own webhooks: register the sheets of a manifest, list them, clean up");
  addSource(smartsheet.command("register"))
    .description("make and enable a webhook for every sheet of the manifest that has none")
    .action(async (flags: object) => (await import("./run-commands.ts")).runRegister(flags));
  addSource(smartsheet.command("list"))
    .description("list the webhooks of the account, and what each is to the source")
    .action(async (flags: object) => (await import("./run-commands.ts")).runListWebhooks(flags));
  addSource(smartsheet.command("cleanup"))
    .description("remove duplicates, and webhooks of ours that call nobody here any more")
    .option("--dry-run", "only tell what would be removed")
    .action(async (flags: object) => (await import("./run-commands.ts")).runCleanup(flags));
  smartsheet.addHelpText(
    "after",
    `
The gateway needs SMARTSHEET_ACCESS_TOKEN and POSTHORN_PUBLIC_URL, and a source of the kind smartsheet.

Examples:
  posthorn smartsheet register
  posthorn smartsheet list --json
  posthorn smartsheet cleanup --dry-run`,
  );
}
