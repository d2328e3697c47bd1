import { Argument, type Command } from "commander";
import { MODES } from "../domain/target.ts";
import { addClientOptions, addListOptions, refuseWords } from "./client-commands.ts";
import type { TargetFlags } from "./targets.ts";

const load = () => import("./targets.ts");

export function addTargetCommands(program: Command): void {
  const targets = program.command("targets").description("what subscriptions send to: its health and its mode");
  addListOptions(addClientOptions(targets.command("list", { isDefault: true })))
    .description("list targets, those that several share first")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, targets);
      await (await load()).runListTargets(flags);
    });
  addClientOptions(targets.command("show <name>"))
    .description("show a target; a subscription's own also goes by the id of the subscription")
    .option("--tenant <tenant>", "of this tenant, where several have one of that name")
    .action(async (name: string, flags: TargetFlags) => (await load()).runShowTarget(name, flags));
  addClientOptions(targets.command("mode <name>"))
    .description("set its mode, or let its health decide again")
    .addArgument(new Argument("<mode>").choices([...MODES, "auto"]))
    .option("--tenant <tenant>", "of this tenant, where several have one of that name")
    .action(async (name: string, mode: string, flags: TargetFlags) => (await load()).runSetMode(name, mode, flags));
  targets.addHelpText(
    "after",
    `
Without a command it lists.

Examples:
  posthorn targets mode n8n-home QUEUE
  posthorn targets mode n8n-home auto
  posthorn targets show sub_…`,
  );
}
