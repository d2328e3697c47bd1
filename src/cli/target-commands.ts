import { Argument, type Command } from "commander";
import { MODES } from "../domain/target.ts";
import { addClientOptions, addListOptions, refuseWords } from "./client-commands.ts";
import type { CreateTargetFlags, TargetFlags, UpdateTargetFlags } from "./targets.ts";

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
  addSettings(addClientOptions(targets.command("create <name>")))
    .description("make a target that several subscriptions share")
    .option("--tenant <tenant>", "whose it is (for keys without a tenant)")
    .option("--idempotency-key <key>", "sent again with the same key, it makes nothing twice")
    .action(async (name: string, flags: CreateTargetFlags) => (await load()).runCreateTarget(name, flags));
  addSettings(addClientOptions(targets.command("update <name>")))
    .description("change what is given and keep the rest; none takes a setting away")
    .option("--tenant <tenant>", "of this tenant")
    .option("--if-match <etag>", "only this version of it")
    .action(async (name: string, flags: UpdateTargetFlags) => (await load()).runUpdateTarget(name, flags));
  addClientOptions(targets.command("delete <name>"))
    .description("delete a target that nobody sends to")
    .option("--tenant <tenant>", "of this tenant")
    .action(async (name: string, flags: TargetFlags) => (await load()).runDeleteTarget(name, flags));
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
  posthorn targets create n8n-home --preset n8n --to https://automation.example
  posthorn targets update n8n-home --failures-to-open 5
  posthorn targets mode n8n-home QUEUE
  posthorn targets mode n8n-home auto
  posthorn targets show sub_…`,
  );
}

function addSettings(command: Command): Command {
  return command
    .option("--file <path>", "settings as JSON or YAML; what the flags say goes before them")
    .option("--preset <name>", "what is known of such a target: n8n")
    .option("--to <url>", "where it is; a preset finds its health check there")
    .option("--health-url <url>", "asked whether it is well")
    .option("--health-interval <seconds>", "between health checks")
    .option("--failures-to-open <count>", "failures in a row that lead to QUEUE")
    .option("--successes-to-close <count>", "good health checks in a row that lead back to NORMAL")
    .option("--batch-size <count>", "how many are tried at once in QUEUE")
    .option("--idle-wait <seconds>", "between rounds in QUEUE")
    .option("--max-bytes <bytes>", "larger bodies are not sent")
    .option("--description <text>");
}
