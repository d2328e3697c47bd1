import { Option, type Command } from "commander";
import { PRIORITIES } from "../domain/event.ts";
import type { SendFlags } from "./send.ts";

export function addStatus(program: Command): void {
  addClientOptions(program.command("status"))
    .description("how the gateway is, and what waits for whom")
    .action(async (flags: object) => (await import("./status.ts")).runStatus(flags));
}

export function addSend(program: Command): void {
  addClientOptions(program.command("send [event-type]"))
    .description("publish an event, or post a webhook")
    .option("-d, --data <json>", "the payload: JSON, @FILE, or - for standard input", "{}")
    .option("--id <id>", "id of the event: the same one is taken once only")
    .option("--ordering-key <key>", "events of one key reach an ordered subscription in order")
    .addOption(new Option("--priority <priority>", "which waiting deliveries go first").choices(PRIORITIES))
    .option("--source <name>", "which system says so")
    .option("--tenant <tenant>", "whose event it is (for keys without a tenant)")
    .option("--deliver-at <time>", "not before this time (RFC 3339)")
    .option("--expires-at <time>", "not after this time (RFC 3339)")
    .option("--metadata <json>", "more about the event, a JSON object")
    .option("-n, --count <number>", "send it this many times; a given id gets a number", "1")
    .option("--webhook <source>", "post the data to /webhook/SOURCE instead, as a provider would; needs no key")
    .option("--content-type <type>", "content type of the webhook (default: application/json, if it is JSON)")
    .option("-H, --header <name: value...>", "header of the webhook; may be given several times")
    .addHelpText(
      "after",
      `
Examples:
  posthorn send order.created --data '{"id": 7}' --ordering-key customer-3
  posthorn send order.created --data @order.json --id order-7-created
  posthorn send load.test --count 10000
  posthorn send --webhook github --data @push.json -H 'X-GitHub-Event: push'`,
    )
    .action(async (eventType: string | undefined, flags: SendFlags) =>
      (await import("./send.ts")).runSend(eventType, flags),
    );
}

/** Of every command that talks to a running gateway. */
export function addClientOptions(command: Command): Command {
  return command
    .option("--url <url>", "the gateway (default: POSTHORN_URL, else the one configured in this folder)")
    .option("--key <key>", "the key to use (default: POSTHORN_API_KEY, else the local gateway's own)")
    .option("--json", "print JSON");
}
