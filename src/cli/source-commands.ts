import { Option, type Command } from "commander";
import { addClientOptions, addListOptions, addPageOptions, refuseWords } from "./client-commands.ts";
import type { CreateSourceFlags, RotateSourceFlags, SourceRequestsFlags, UpdateSourceFlags } from "./sources.ts";

const load = () => import("./sources.ts");

export function addSourceCommands(program: Command): void {
  const sources = program.command("sources").description("where webhooks come from, and what came that was not taken");
  addListOptions(addClientOptions(sources.command("list", { isDefault: true })))
    .description("list sources by name")
    .option("--kind <kind>", "only of this kind")
    .addOption(new Option("--status <status>", "only in this state").choices(["active", "paused", "closed"]))
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, sources);
      await (await load()).runListSources(flags);
    });
  addClientOptions(sources.command("get <name>"))
    .description("show a source")
    .action(async (name: string, flags: object) => (await load()).runGetSource(name, flags));
  addSettings(addClientOptions(sources.command("create <name>")))
    .description("make a source")
    .option("--tenant <tenant>", "whose it is (for keys without a tenant)")
    .option("--idempotency-key <key>", "sent again with the same key, it makes nothing twice")
    .action(async (name: string, flags: CreateSourceFlags) => (await load()).runCreateSource(name, flags));
  addSettings(addClientOptions(sources.command("update <name>")))
    .description("change what is given and keep the rest; none takes a setting away")
    .option("--if-match <etag>", "only this version of it")
    .action(async (name: string, flags: UpdateSourceFlags) => (await load()).runUpdateSource(name, flags));
  for (const [act, description] of [
    ["pause", "answer 503, so that senders come again"],
    ["resume", "take webhooks again"],
    ["close", "answer 410, so that senders stop"],
  ] as const) {
    addClientOptions(sources.command(`${act} <name>`))
      .description(description)
      .action(async (name: string, flags: object) => (await load()).runActOnSource(act, name, flags));
  }
  addClientOptions(sources.command("rotate-secret <name>"))
    .description("make a new secret, beside which those before it count for a while, and print it")
    .option("--overlap <seconds>", "how long; 0 ends them at once (default: 14 days)")
    .option("--secret-file <path>", "take the new secret from a file, or - for standard input")
    .action(async (name: string, flags: RotateSourceFlags) => (await load()).runRotateSourceSecret(name, flags));
  addClientOptions(sources.command("path <name>"))
    .description("print the path with its token; the gateway notes in its log that it was read")
    .action(async (name: string, flags: object) => (await load()).runShowSourcePath(name, flags));
  addClientOptions(sources.command("delete <name>"))
    .description("delete a source; its events stay")
    .action(async (name: string, flags: object) => (await load()).runDeleteSource(name, flags));
  addPageOptions(addClientOptions(sources.command("requests <name>")))
    .description("list the requests that were refused or ignored, the latest first")
    .addOption(new Option("--outcome <outcome>", "only those").choices(["rejected", "ignored"]))
    .option("--cause <cause>", "only for this reason: bad_signature, duplicate, filtered, …")
    .action(async (name: string, flags: SourceRequestsFlags) => (await load()).runListSourceRequests(name, flags));
  sources.addHelpText(
    "after",
    `
Without a command it lists. \`posthorn requests replay\` takes a refused or ignored request in again.

Examples:
  posthorn sources create github --kind github --secret-file secret.txt
  posthorn sources create orders --auth-header X-Token --auth-token-file token.txt --allowed-ip 203.0.113.0/24
  posthorn sources update orders --only 'order.*' --max-bytes 1048576
  posthorn sources requests github --cause bad_signature`,
  );
  addRequests(program);
}

function addRequests(program: Command): void {
  const requests = program.command("requests").description("show a request, or take it in again");
  addClientOptions(requests.command("show <id>"))
    .description("show a request and what became of it")
    .action(async (id: string, flags: object) => (await load()).runShowRequest(id, flags));
  addClientOptions(requests.command("replay <id>"))
    .description("take in again what was refused or ignored, once the configuration is repaired; asks for no signature")
    .action(async (id: string, flags: object) => (await load()).runReplayRequest(id, flags));
}

function addSettings(command: Command): Command {
  return command
    .option("--file <path>", "settings as JSON or yaml, - for standard input; flags go before it")
    .option("--kind <kind>", "who sends: generic, github, stripe, …")
    .option("--secret-file <path...>", "files with the secrets, the current one first; - for standard input")
    .option("--auth-header <name>", "a header that must hold a token")
    .option("--auth-token-file <path>", "the file with that token, - for standard input")
    .option("--allowed-ip <cidr...>", "the sender's address must lie in one of these; or none")
    .option("--max-bytes <number>", "largest body")
    .option("--method <method...>", "methods that are taken")
    .option("--content-type <type...>", "content types that are taken; or none")
    .option("--answer-within <seconds>", "how long the sender waits; or none")
    .option("--event-type <template>", "what its events are called: {source} and {type} stand for their values")
    .option("--id-from <place>", "header:NAME or body:/json/pointer")
    .option("--ordering-key-from <place>", "header:NAME or body:/json/pointer")
    .option("--priority-from <place>", "header:NAME or body:/json/pointer")
    .option("--only <pattern...>", "event types that are let through; or none")
    .option("--option <name=value...>", "settings of the kind; these replace all that were set")
    .option("--path-token", "take webhooks only at an unguessable path, which is printed")
    .option("--no-path-token", "take them at /webhook/NAME again");
}
