import type { Command } from "commander";
import { addClientOptions } from "./client-commands.ts";
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
