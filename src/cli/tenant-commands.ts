import { Option, type Command } from "commander";
import { TENANT_STATUSES } from "../domain/tenant.ts";
import { addClientOptions, addPageOptions } from "./client-commands.ts";
import type { TenantFlags } from "./tenants.ts";

export function addTenantCommands(program: Command): void {
  const tenants = program
    .command("tenants")
    .description("owners of subscriptions, sources and keys, with their quotas");
  addPageOptions(addClientOptions(tenants.command("list")))
    .description("list tenants by id, with what they use")
    .action(async (flags: object) => (await import("./tenants.ts")).runListTenants(flags));
  addSettings(addClientOptions(tenants.command("create <id>")))
    .description("make a tenant")
    .addHelpText(
      "after",
      `
A tenant need not be made: it comes by itself, without quotas, with the first thing that names it.

Examples:
  posthorn tenants create acme --name 'Acme Ltd' --email ops@acme.example
  posthorn tenants create trial --max-subscriptions 3 --max-events-per-minute 600`,
    )
    .action(async (id: string, flags: TenantFlags) => (await import("./tenants.ts")).runCreateTenant(id, flags));
  addSettings(addClientOptions(tenants.command("update <id>")))
    .description("change what is given and keep the rest; none takes a quota away")
    .addOption(new Option("--status <status>", "inactive answers new events with 503").choices(TENANT_STATUSES))
    .action(async (id: string, flags: TenantFlags) => (await import("./tenants.ts")).runUpdateTenant(id, flags));
  addClientOptions(tenants.command("show <id>"))
    .description("show a tenant with its quotas and what it uses of them")
    .action(async (id: string, flags: object) => (await import("./tenants.ts")).runShowTenant(id, flags));
  addClientOptions(tenants.command("delete <id>"))
    .description("delete a tenant that has no subscriptions and no live keys")
    .action(async (id: string, flags: object) => (await import("./tenants.ts")).runDeleteTenant(id, flags));
}

function addSettings(command: Command): Command {
  return command
    .option("--name <name>", "a name for people")
    .option("--email <address>", "who is told when something is wrong")
    .option("--max-subscriptions <number>", "how many it may have")
    .option("--max-events-per-minute <number>", "how many events are taken in")
    .option("--max-open-deliveries <number>", "new events are refused while so many are open")
    .option("--max-stored-bytes <number>", "new events are refused once their bodies have this size")
    .option("--retention-days <number>", "days for which its events are kept; 0 keeps them, none is as the gateway");
}
