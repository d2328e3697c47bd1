import type { Command } from "commander";
import { refuseUnknownCommand } from "../../cli/default-command.ts";
import type { CommandLine } from "../plugin.ts";

export function addSmartsheetCommands(program: Command, { addClientOptions }: CommandLine): void {
  const addSource = (command: Command) =>
    addClientOptions(command).option("--source <name>", "the source (default: the only one of the kind)");
  const smartsheet = program
    .command("smartsheet")
    .description("Smartsheet's own webhooks: register the sheets of a manifest, list them, clean up");
  addSource(smartsheet.command("register"))
    .description("create and enable a webhook for every sheet of the manifest that has none")
    .action(async (flags: object) => (await import("./run-commands.ts")).runRegister(flags));
  addSource(smartsheet.command("list", { isDefault: true }))
    .description("list the webhooks of the account, and whether the source uses them")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseUnknownCommand(command, smartsheet);
      await (await import("./run-commands.ts")).runListWebhooks(flags);
    });
  addSource(smartsheet.command("cleanup"))
    .description("remove duplicates, and our webhooks whose source is gone")
    .option("--dry-run", "only show what would be removed")
    .action(async (flags: object) => (await import("./run-commands.ts")).runCleanup(flags));
  smartsheet.addHelpText(
    "after",
    `
Without a command it lists. The gateway needs SMARTSHEET_ACCESS_TOKEN and POSTHORN_PUBLIC_URL, and a source of the kind smartsheet.

Examples:
  posthorn smartsheet register
  posthorn smartsheet list --json
  posthorn smartsheet cleanup --dry-run`,
  );
}
