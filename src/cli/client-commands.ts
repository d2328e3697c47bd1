import { Option, type Command } from "commander";
import { suggestName } from "../config/nearest-name.ts";
import { DELIVERY_STATES, EVENT_STATUSES } from "../domain/delivery.ts";
import { PRIORITIES } from "../domain/event.ts";
import { EVENT_TYPE_STATUSES } from "../domain/event-type-status.ts";
import { addEventTypeChanges } from "./event-type-commands.ts";
import { usageFailure } from "./failure.ts";
import type { SendFlags } from "./send.ts";

/** The commands that talk to a running gateway. */
export function addClientCommands(program: Command): void {
  addClientOptions(program.command("status"))
    .description("how the gateway is, and what waits for whom")
    .action(async (flags: object) => (await import("./status.ts")).runStatus(flags));

  addSend(program);
  addEvents(program);
  addDeliveries(program);
  addEventTypes(program);
  addSecrets(program);
}

function addSend(program: Command): void {
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

function addEvents(program: Command): void {
  const events = program.command("events").description("list events, show one, replay one");
  addListOptions(addClientOptions(events.command("list", { isDefault: true })))
    .description("list events, the latest first")
    .option("--type <type>", "only this event type, or those of a pattern: * is one word, # any number")
    .option("--source <name>", "only from this source")
    .option("--since <time>", "received since then: RFC 3339, or 15m, 2h, 7d ago")
    .option("--until <time>", "received before then")
    .addOption(new Option("--status <status>", "by what became of its deliveries").choices(EVENT_STATUSES))
    .option("--unmatched", "only those that no subscription wanted")
    .option("--id <id>", "with this id; ID* means those that begin so")
    .option("--ordering-key <key>", "with this ordering key")
    .option("--label <name[=value]...>", "with this member of the metadata; may be given several times")
    .option("--text <text>", "with this text in the payload, large or small letters")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, events);
      await (await import("./events.ts")).runListEvents(flags);
    });
  addClientOptions(events.command("show <id>"))
    .description("show an event with its deliveries and its payload")
    .action(async (id: string, flags: object) => (await import("./events.ts")).runShowEvent(id, flags));
  addClientOptions(events.command("replay <id>"))
    .description("deliver an event again, to everyone who had it")
    .option("--subscription <id>", "only to this one, whether it had the event or not")
    .action(async (id: string, flags: object) => (await import("./events.ts")).runReplayEvent(id, flags));
  events.addHelpText(
    "after",
    `
Without a command it lists; \`posthorn events list --help\` has the filters.

Examples:
  posthorn events --type order.created --since 2h
  posthorn events --status FAILED --type 'order.#' --label team=billing
  posthorn events --text 'invoice 4711' --since 7d
  posthorn events show evt_…
  posthorn events replay evt_… --subscription sub_…`,
  );
}

function addDeliveries(program: Command): void {
  const deliveries = program.command("deliveries").description("list deliveries, show one, retry or cancel one");
  addListOptions(addClientOptions(deliveries.command("list", { isDefault: true })))
    .description("list deliveries, the latest first")
    .addOption(new Option("--status <status>", "only in this state").choices(DELIVERY_STATES))
    .option("--subscription <id>", "only those for this subscription")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, deliveries);
      await (await import("./deliveries.ts")).runListDeliveries(flags);
    });
  addClientOptions(deliveries.command("show <id>"))
    .description("show a delivery with its attempts")
    .action(async (id: string, flags: object) => (await import("./deliveries.ts")).runShowDelivery(id, flags));
  addClientOptions(deliveries.command("retry <id>"))
    .description("try it now, whether it waits or has ended")
    .action(async (id: string, flags: object) => (await import("./deliveries.ts")).runRetryDelivery(id, flags));
  addClientOptions(deliveries.command("cancel <id>"))
    .description("give it up")
    .action(async (id: string, flags: object) => (await import("./deliveries.ts")).runCancelDelivery(id, flags));
  deliveries.addHelpText(
    "after",
    `
Without a command it lists; \`posthorn deliveries list --help\` has the filters.

Examples:
  posthorn deliveries --status pending
  posthorn deliveries show dlv_…
  posthorn deliveries retry dlv_…`,
  );
}

function addSecrets(program: Command): void {
  const secrets = program.command("secrets").description("rotate the secret of a subscription, or show it");
  addClientOptions(secrets.command("rotate <subscription>"))
    .description("make a new secret, which signs beside the old one for a while, and print it")
    .option("--overlap <duration>", "how long both sign: 14d, 2h; 0 ends the old one at once (default: 14d)")
    .option("--secret-file <path>", "take the new secret from a file, or - for standard input")
    .option("--force", "give up a rotation that is under way")
    .action(async (id: string, flags: object) => (await import("./secrets.ts")).runRotateSecret(id, flags));
  addClientOptions(secrets.command("confirm <subscription>"))
    .description("the receiver has the new secret: the subscription's own signature header is made with it from now on")
    .option("--retire", "end the old one at once")
    .action(async (id: string, flags: object) => (await import("./secrets.ts")).runConfirmSecret(id, flags));
  addClientOptions(secrets.command("retire <subscription>"))
    .description("end the old secret before the overlap does")
    .action(async (id: string, flags: object) => (await import("./secrets.ts")).runRetireSecret(id, flags));
  addClientOptions(secrets.command("show <subscription>"))
    .description("print the secrets that sign now; the gateway notes in its log that they were read")
    .action(async (id: string, flags: object) => (await import("./secrets.ts")).runShowSecret(id, flags));
  secrets.addHelpText(
    "after",
    `
Examples:
  posthorn secrets rotate sub_… --overlap 7d
  posthorn secrets confirm sub_…
  posthorn secrets show sub_…`,
  );
}

function addEventTypes(program: Command): void {
  const types = program.command("event-types").description("list event types, show one, import and export them");
  addClientOptions(types.command("list", { isDefault: true }))
    .description("list event types by name")
    .addOption(new Option("--status <status>", "only in this state").choices(EVENT_TYPE_STATUSES))
    .option("--limit <number>", "how many at most, up to 500", "50")
    .option("--cursor <cursor>", "go on where the page before ended")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, types);
      await (await import("./event-types.ts")).runListEventTypes(flags);
    });
  addClientOptions(types.command("show <name>"))
    .description("show an event type with its schemas and examples")
    .action(async (name: string, flags: object) => (await import("./event-types.ts")).runShowEventType(name, flags));
  addClientOptions(types.command("import <file>"))
    .description("register the webhooks of an OpenAPI 3.1 document, JSON or yaml; - reads standard input")
    .option("--dry-run", "only tell what would change")
    .action(async (file: string, flags: object) => (await import("./event-types.ts")).runImportEventTypes(file, flags));
  addClientOptions(types.command("export"))
    .description("print all event types as webhooks of an OpenAPI 3.1 document")
    .action(async (flags: object) => (await import("./event-types.ts")).runExportEventTypes(flags));
  addEventTypeChanges(types, addClientOptions);
  types.addHelpText(
    "after",
    `
Without a command it lists.

Examples:
  posthorn event-types --status deprecated
  posthorn event-types show order.created
  posthorn event-types import openapi.yaml --dry-run
  posthorn event-types export > openapi.json`,
  );
}

export function addClientOptions(command: Command): Command {
  return command
    .option("--url <url>", "the gateway (default: POSTHORN_URL, else the one configured in this folder)")
    .option("--key <key>", "the key to use (default: POSTHORN_API_KEY, else the local gateway's own)")
    .option("--json", "print JSON");
}

export function addListOptions(command: Command): Command {
  return addPageOptions(command.option("--tenant <tenant>", "only of this tenant"));
}

export function addPageOptions(command: Command): Command {
  return command
    .option("--limit <number>", "how many at most, up to 500", "50")
    .option("--cursor <cursor>", "go on where the page before ended");
}

/** `posthorn events shwo` would otherwise be taken for the list with a word too many. */
export function refuseWords(list: Command, group: Command): void {
  const [word] = list.args;
  if (word === undefined) return;
  const names = group.commands.map((command) => command.name());
  throw usageFailure(`Unknown command "${group.name()} ${word}"${suggestName(word, names)}.`.replace(/\?\.$/, "?"));
}
