import type { Command } from "commander";
import { addClientOptions } from "./client-commands.ts";
import { refuseUnknownCommand } from "./default-command.ts";
import type { ParkedFlags, PurgeFlags } from "./queue/parked.ts";

export function addQueueCommands(program: Command): void {
  const queue = program.command("queue").description("broker queues: create them, check them, see parked messages");
  for (const [name, description] of [
    ["declare", "create the exchanges and queues of the configuration that are missing"],
    ["check", "compare the broker with the configuration, without changing anything"],
  ] as const) {
    queue
      .command(name, { isDefault: name === "check" })
      .description(description)
      .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
      .option("--kind <kind>", "with --queue: amqp, azure-service-bus or azure-storage-queue")
      .option("--queue <name>", "only this queue; for one of a source or subscription that was created by API")
      .option("--connection <name>", "with --queue: the connection to its broker (default: default)")
      .option("--sessions", "with --queue: it has sessions (azure-service-bus)")
      .option("--json", "print JSON")
      .allowExcessArguments(name === "check")
      .action(async (flags: object, command: Command) => {
        refuseUnknownCommand(command, queue);
        await (await import("./queue/provision.ts")).runProvision(name, flags);
      });
  }
  addParked(queue);
  queue.addHelpText(
    "after",
    `
Without a command, runs \`check\`. \`declare\` and \`check\` need no running gateway; \`parked\` does.

Examples:
  posthorn queue declare
  posthorn queue check --json
  posthorn queue declare --kind azure-storage-queue --queue webhooks
  posthorn queue parked erp --reason invalid
  posthorn queue parked requeue erp --reason dead
  posthorn queue parked purge erp --confirm 12`,
  );
}

const load = () => import("./queue/parked.ts");

function addParked(queue: Command): void {
  const parked = queue.command("parked").description("messages of a source that could not be processed, and why");
  const selecting = (command: Command) =>
    addClientOptions(command).option("--reason <reason>", "only messages that were parked for this reason");
  const choosing = (command: Command) =>
    selecting(command).option("--id <id...>", "only these messages, by the id in the list");
  selecting(parked.command("list <source>", { isDefault: true }))
    .description("list parked messages, oldest first")
    .option("--limit <number>", "at most this many, up to 500", "50")
    .option("--cursor <cursor>", "continue where the page before ended")
    .action(async (source: string, flags: ParkedFlags) => (await load()).runListParked(source, flags));
  addClientOptions(parked.command("show <source> <id>"))
    .description("show a parked message with its body")
    .action(async (source: string, id: string, flags: ParkedFlags) => (await load()).runShowParked(source, id, flags));
  choosing(parked.command("requeue <source>"))
    .description("put parked messages back into their queue: all, or those that match")
    .action(async (source: string, flags: ParkedFlags) => (await load()).runRequeueParked(source, flags));
  choosing(parked.command("purge <source>"))
    .description("delete them for good: all, or those that match")
    .option("--confirm <count>", "how many messages there are, as reported without this flag")
    .action(async (source: string, flags: PurgeFlags) => (await load()).runPurgeParked(source, flags));
}
