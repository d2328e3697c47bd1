import { Option, type Command } from "commander";
import { SCOPES } from "../registry/api-key.ts";
import { addClientOptions, addListOptions } from "./client-commands.ts";
import type { CreateKeyFlags } from "./create-key.ts";
import type { UpdateKeyFlags } from "./keys.ts";

export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("API keys");
  addClientOptions(keys.command("create"))
    .description("make a key and print it once")
    .option("--local", "write it to the database of this machine; the gateway may be running")
    .option("-c, --config <file>", "with --local: configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "with --local: folder of the database")
    .option("--name <name>", "what the key is for", "made on the command line")
    .addOption(
      new Option("--scope <scope...>", "what it allows; may be given several times").choices(SCOPES).default(["admin"]),
    )
    .option("--tenant <tenant>", "bind it to this tenant")
    .option("--expires <when>", "until then: RFC 3339, or 12h, 30d from now")
    .addHelpText(
      "after",
      `
Examples:
  posthorn keys create --name shop --scope publish --scope read --tenant acme
  posthorn keys create --name contractor --expires 30d
  export POSTHORN_API_KEY=$(posthorn keys create --local)`,
    )
    .action(async (flags: CreateKeyFlags) => (await import("./create-key.ts")).runCreateKey(flags));
  addListOptions(addClientOptions(keys.command("list")))
    .description("list keys by age, without their secret part")
    .action(async (flags: object) => (await import("./keys.ts")).runListKeys(flags));
  addClientOptions(keys.command("show <id>"))
    .description("show a key, without its secret part")
    .action(async (id: string, flags: object) => (await import("./keys.ts")).runShowKey(id, flags));
  addClientOptions(keys.command("update <id>"))
    .description("change what is given of a key and keep the rest")
    .option("--name <name>", "what the key is for")
    .addOption(new Option("--scope <scope...>", "what it allows; these replace those it had").choices(SCOPES))
    .option("--expires <when>", "until then: RFC 3339, or 12h, 30d from now; never takes the end away")
    .action(async (id: string, flags: UpdateKeyFlags) => (await import("./keys.ts")).runUpdateKey(id, flags));
  addClientOptions(keys.command("revoke <id>"))
    .description("end a key at once and for good")
    .action(async (id: string, flags: object) => (await import("./keys.ts")).runRevokeKey(id, flags));
}
