import type { Command } from "commander";
import { addClientOptions } from "./client-commands.ts";
import type { ListenFlags } from "./listen/run-listen.ts";
import type { TriggerFlags } from "./trigger/run-trigger.ts";

export function addTrigger(program: Command): void {
  addClientOptions(program.command("trigger [provider] [event]"))
    .description("send a provider's sample request, signed, to a source")
    .option("--to <source>", "the source (default: the only one of that kind)")
    .option("--secret-file <path>", "a file with the secret of the source (default: from posthorn.yaml in this folder)")
    .option("--secret <secret>", "the secret itself, which others on this machine can see; or @FILE")
    .option(
      "--data <json>",
      "a body of your own, as JSON, @FILE, or - for standard input; it is signed like the sample",
    )
    .option("-H, --header <name: value...>", "a further header; may be given several times")
    .option("-n, --count <number>", "send this many requests, each with its own id", "1")
    .option("--public-url <url>", "the gateway's public URL, for providers that sign the URL")
    .addHelpText(
      "after",
      `
Without a provider, lists all providers with their events; without an event, the events of the provider.
A gateway never shows the secrets of a source, so they must be given.

Examples:
  posthorn trigger
  posthorn trigger github push --secret "It's a Secret to Everybody"
  posthorn trigger stripe invoice.paid --to shop-payments --secret-file stripe-secret.txt --count 10`,
    )
    .action(async (provider: string | undefined, event: string | undefined, flags: TriggerFlags) =>
      (await import("./trigger/run-trigger.ts")).runTrigger(provider, event, flags),
    );
}

export function addListen(program: Command): void {
  addClientOptions(program.command("listen [source-or-subscription]"))
    .description("forward the requests of a source, or the deliveries of a subscription, to a local port")
    .requiredOption("--to <url>", "the local server: http://localhost:3000/hooks, or a port")
    .option("--from <when>", "where to begin: now, last (where the last run ended), or how long ago, like 15m", "last")
    .option("--fail <status>", "send nothing, and show what the gateway would do after an answer with this status")
    .option("-v, --verbose", "show headers and bodies too")
    .option("--no-wait", "do not wait for a local server that is not running: skip the event")
    .option("--no-follow", "end after forwarding what exists now")
    .addHelpText(
      "after",
      `
A source's requests are forwarded with their method, path, query, headers and bytes. For a subscription, it forwards the
request that the destination gets, with the gateway's signature (for keys with the scope admin).
Its deliveries continue as usual: the answers of the local server do not affect them.
Without a name, all incoming requests are forwarded.

It reconnects when the connection is lost. Its position is saved for the next run, so nothing that arrives
in the meantime is missed.

Examples:
  posthorn listen github --to http://localhost:3000/hooks
  posthorn listen erp-orders --to 3000 --from 2h --verbose
  posthorn listen erp-orders --to 3000 --fail 503`,
    )
    .action(async (given: string | undefined, flags: ListenFlags) =>
      (await import("./listen/run-listen.ts")).runListen(given, flags),
    );
}
