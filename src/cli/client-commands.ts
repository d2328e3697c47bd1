import { Option, type Command } from "commander";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../model/alert-rules.ts";
import { DEAD_REASONS, DELIVERY_STATES } from "../model/delivery.ts";
import { PRIORITIES } from "../model/event.ts";
import type { SendFlags } from "./send.ts";
import type { TailFlags } from "./tail.ts";

export function addStatus(program: Command): void {
  addClientOptions(program.command("status"))
    .description("show the state of the gateway, its targets and its waiting deliveries")
    .action(async (flags: object) => (await import("./status.ts")).runStatus(flags));
}

export function addSend(program: Command): void {
  addClientOptions(program.command("send [event-type]"))
    .description("publish an event, or post a webhook")
    .option("-d, --data <json>", "the payload: JSON, @FILE, or - for standard input", "{}")
    .option("--id <id>", "id of the event: each id is accepted only once")
    .option("--ordering-key <key>", "events with the same key reach an ordered subscription in order")
    .addOption(new Option("--priority <priority>", "which waiting deliveries are sent first").choices(PRIORITIES))
    .option("--source <name>", "the system that the event comes from")
    .option("--tenant <tenant>", "the tenant of the event (for keys that are not bound to a tenant)")
    .option("--deliver-at <time>", "deliver not before this time (RFC 3339)")
    .option("--expires-at <time>", "deliver not after this time (RFC 3339)")
    .option("--metadata <json>", "more information about the event, a JSON object")
    .option("-n, --count <number>", "send the event this many times; a number is added to a given id", "1")
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

export function addTail(program: Command): void {
  addClientOptions(program.command("tail"))
    .description("show events, attempts, modes and alerts live")
    .option("--frames <list>", "which of event,attempt,mode,alert (default: all)")
    .option(
      "--type <type>",
      "only this event type, or types that match a pattern: * is one word, # any number of words",
    )
    .option("--source <name>", "only from this source")
    .option("--tenant <tenant>", "only of this tenant (for keys that are not bound to a tenant)")
    .option("--subscription <name>", "only attempts and events of this subscription, by name or id")
    .addOption(new Option("--status <status>", "only attempts whose delivery has this status").choices(DELIVERY_STATES))
    .addOption(new Option("--reason <reason>", "only attempts whose delivery is dead for this").choices(DEAD_REASONS))
    .option("--id <id>", "only of the event with this id; ID* means those that begin so")
    .option("--ordering-key <key>", "only of events with this ordering key")
    .option("--label <name[=value]...>", "only events with this member of the metadata; may be given several times")
    .option("--unmatched", "only events that no subscription wanted")
    .addOption(new Option("--rule <rule>", "only alerts of this rule").choices(ALERT_RULE_NAMES))
    .addOption(new Option("--severity <severity>", "only alerts of this severity").choices(ALERT_SEVERITIES))
    .option("--since <time>", "begin with events received since this time: RFC 3339, or 15m, 2h, 7d ago")
    .option("--body", "show the payloads of events")
    .option("--after <id>", "continue after the frame with this id (--json prints the ids)")
    .option("--no-follow", "end after showing what exists now")
    .addHelpText(
      "after",
      `
Reconnects when the connection is lost, and continues where it was.

Examples:
  posthorn tail
  posthorn tail --type 'order.#' --body
  posthorn tail --frames attempt --status dead --json
  posthorn tail --ordering-key order-4711 --since 2h`,
    )
    .action(async (flags: TailFlags) => (await import("./tail.ts")).runTail(flags));
}

/** Flags of every command that talks to a running gateway. */
export function addClientOptions(command: Command): Command {
  return command
    .option("--url <url>", "address of the gateway (default: POSTHORN_URL, else the gateway configured in this folder)")
    .option("--key <key>", "API key (default: POSTHORN_API_KEY, else the local gateway's admin key)")
    .option("--json", "print JSON");
}
