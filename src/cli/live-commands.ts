import type { Command } from "commander";
import { addClientOptions } from "./client-commands.ts";
import type { ListenFlags } from "./listen/run-listen.ts";
import type { TriggerFlags } from "./trigger/run-trigger.ts";

export function addTrigger(program: Command): void {
  addClientOptions(program.command("trigger [provider] [event]"))
    .description("send a signed sample request of a provider to a source")
    .option("--to <source>", "the source (default: the only one of that kind)")
    .option("--secret <secret>", "what the source verifies with, or @FILE (default: from posthorn.yaml in this folder)")
    .option("--data <file>", "a body of your own, - for standard input; it is signed like the sample")
    .option("-H, --header <name: value...>", "another header; may be given several times")
    .option("-n, --count <number>", "send this many, each with an id of its own", "1")
    .option("--public-url <url>", "how senders reach the gateway, for providers that sign the URL")
    .addHelpText(
      "after",
      `
Without a provider it lists all of them with their events; without an event, those of the provider.
A gateway never shows the secrets of a source, so they must be given.

Examples:
  posthorn trigger
  posthorn trigger github push --secret "It's a Secret to Everybody"
  posthorn trigger stripe invoice.paid --to shop-payments --secret @stripe-secret.txt --count 10`,
    )
    .action(async (provider: string | undefined, event: string | undefined, flags: TriggerFlags) =>
      (await import("./trigger/run-trigger.ts")).runTrigger(provider, event, flags),
    );
}

export function addListen(program: Command): void {
  addClientOptions(program.command("listen [source-or-subscription]"))
    .description("forward what comes in at a source, or what a subscription gets, to a local port")
    .requiredOption("--to <url>", "the local server: http://localhost:3000/hooks, or a port")
    .option("--from <when>", "where to begin: now, last (where it ended the last time), or a time like 15m", "last")
    .option("--fail <status>", "send nothing, and show what the gateway would do with this answer")
    .option("-v, --verbose", "show headers and bodies too")
    .option("--no-wait", "do not wait for a local server that is away: leave the event out")
    .option("--no-follow", "end when everything was forwarded that is there now")
    .addHelpText(
      "after",
      `
A source's requests are forwarded with their method, path, query, headers and bytes. Of a subscription the
request is forwarded that its destination gets, with the gateway's signature (for keys with the scope admin).
Its deliveries go on as usual: what the local server answers settles none of them.
Without a name everything that comes in is forwarded.

It comes back by itself when the connection is lost. How far it came is noted for the next time, so nothing
is left out that came in meanwhile.

Examples:
  posthorn listen github --to http://localhost:3000/hooks
  posthorn listen erp-orders --to 3000 --from 2h --verbose
  posthorn listen erp-orders --to 3000 --fail 503`,
    )
    .action(async (given: string | undefined, flags: ListenFlags) =>
      (await import("./listen/run-listen.ts")).runListen(given, flags),
    );
}
