import type { Command } from "commander";
import type { VersionFlags } from "./event-type-changes.ts";

const load = () => import("./event-type-changes.ts");

/** Those that change single event types; `types` is the group that they join. */
export function addEventTypeChanges(types: Command, addClientOptions: (command: Command) => Command): void {
  addFacts(addClientOptions(types.command("create <name>")))
    .description("register an event type")
    .action(async (name: string, flags: object) => (await load()).runCreateEventType(name, flags));
  addFacts(addClientOptions(types.command("update <name>")))
    .description("change what is given and keep the rest")
    .action(async (name: string, flags: object) => (await load()).runUpdateEventType(name, flags));
  addClientOptions(types.command("delete <name>"))
    .description("delete an event type; events of that name are taken as before it was there")
    .action(async (name: string, flags: object) => (await load()).runDeleteEventType(name, flags));
  addClientOptions(types.command("put-version <name> <version>"))
    .description("add a version with its schema, or replace it")
    .requiredOption("--schema <file>", "JSON Schema as JSON or yaml, - for standard input")
    .option("--example <file>", "a payload that fits it")
    .action(async (name: string, version: string, flags: VersionFlags) =>
      (await load()).runPutVersion(name, version, flags),
    );
  addClientOptions(types.command("delete-version <name> <version>"))
    .description("delete one version")
    .action(async (name: string, version: string, flags: object) =>
      (await load()).runDeleteVersion(name, version, flags),
    );
}

function addFacts(command: Command): Command {
  return command
    .option("--file <path>", "what follows, and more, as JSON or yaml; - for standard input; flags go before it")
    .option("--description <text>", "what happened when such an event is published")
    .option("--producer <name>", "which system publishes it")
    .option("--consumer <name...>", "who takes it")
    .option("--deprecated", "tell its consumers that it will go")
    .option("--no-deprecated", "it is here to stay")
    .option("--replaced-by <name>", "which one to use instead")
    .option("--enforce", "refuse events that do not fit their schema")
    .option("--no-enforce", "take them, and record the mismatch");
}
