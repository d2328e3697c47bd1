import { type Command, Option } from "commander";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../model/alert-rules.ts";
import { DEAD_REASONS, DELIVERY_STATES } from "../model/delivery.ts";
import { PRIORITIES } from "../model/event.ts";
import { suggestName } from "../model/nearest-name.ts";
import { usageFailure } from "./failure.ts";

export function addStatus(program: Command): void {
  addClientOptions(program.command("status"))
    .description("show the state of the gateway, its targets and its waiting deliveries")
    .action(later(async () => (await import("./status.ts")).runStatus));
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
    .action(later(async () => (await import("./send.ts")).runSend));
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
    .action(later(async () => (await import("./tail.ts")).runTail));
}

/** The action of a command. Its module is loaded when it runs, and gets the arguments and the flags. */
export function later<Given extends unknown[]>(load: () => Promise<(...given: Given) => unknown>) {
  return async (...given: Given): Promise<void> => {
    const run = await load();
    await run(...given);
  };
}

/** Flags of every command that talks to a running gateway. */
export function addClientOptions(command: Command): Command {
  return command
    .option("--url <url>", "address of the gateway (default: POSTHORN_URL, else the gateway configured in this folder)")
    .option("--key <key>", "API key (default: POSTHORN_API_KEY, else the local gateway's admin key)")
    .option("--json", "print JSON");
}

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
    .action(later(async () => (await import("./trigger.ts")).runTrigger));
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
    .action(later(async () => (await import("./listen/run-listen.ts")).runListen));
}

const WHAT = `
Compares tenants, event types, targets, subscriptions and sources by their names. All other settings of the
file belong to the gateway process itself and are ignored. Anything that the gateway's own posthorn.yaml
declares is reported and skipped.`;

export function addDiff(program: Command): void {
  addDeclaredOptions(program.command("diff"))
    .description("show what `apply` would change, without changing anything")
    .option("--exit-code", "exit with code 4 when there is something to change")
    .addHelpText(
      "after",
      `${WHAT}

Exit codes: 0 compared, 1 failed or rejected by the gateway, 2 wrong usage, 3 invalid file.

Examples:
  posthorn diff -f posthorn.yaml
  posthorn diff -f posthorn.yaml --prune --exit-code`,
    )
    .action(later(async () => (await import("./apply/run-apply.ts")).runDiff));
}

export function addApply(program: Command): void {
  addDeclaredOptions(program.command("apply"))
    .description("change a running gateway to match a configuration file")
    .option("-y, --yes", "make the changes without asking first")
    .addHelpText(
      "after",
      `${WHAT}

Shows the plan and asks before it changes anything. Deletes nothing without --prune. A change that somebody
else makes in the meantime is not overwritten: the command fails, and can be run again.

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 invalid file.

Examples:
  posthorn apply -f posthorn.yaml
  posthorn apply -f posthorn.yaml --prune --yes`,
    )
    .action(later(async () => (await import("./apply/run-apply.ts")).runApply));
}

function addDeclaredOptions(command: Command): Command {
  return addClientOptions(command)
    .requiredOption("-f, --file <file>", "the file, like a posthorn.yaml")
    .option("--prune", "also delete what the file does not declare; only for the kinds that the file lists");
}

export function addVerifyAudit(program: Command): void {
  program
    .command("verify-audit [file]")
    .description("check the audit log of the data folder, or an exported one, without a gateway")
    .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
    .option("--data-dir <folder>", "folder of the database and of generated keys")
    .option("--public-key <key>", "check the signature with this key instead of the master key")
    .option("--anchor <seq:hash...>", "an entry that must be in the log, written SEQ:HASH as the gateway logs it")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code 1 when an entry was changed, removed, moved or added; the first such entry is reported.

Examples:
  posthorn verify-audit --data-dir /var/lib/posthorn
  posthorn verify-audit audit.ndjson --public-key pka_…`,
    )
    .action(later(async () => (await import("./verify-audit.ts")).runVerifyAudit));
}

export function addQueueCommands(program: Command): void {
  const queue = program.command("queue").description("broker queues: create them, check them, see parked messages");
  for (const [name, description] of [
    ["declare", "create the exchanges and queues of the configuration that are missing"],
    ["check", "compare the broker with the configuration, without changing anything"],
  ] as const) {
    const command = queue
      .command(name, { isDefault: name === "check" })
      .description(description)
      .option("-c, --config <file>", "configuration file (default: posthorn.yaml, if there is one)")
      .option("--kind <kind>", "with --queue: amqp, azure-service-bus or azure-storage-queue")
      .option("--queue <name>", "only this queue; for one of a source or subscription that was created by API")
      .option("--connection <name>", "with --queue: the connection to its broker (default: default)")
      .option("--sessions", "with --queue: it has sessions (azure-service-bus)")
      .option("--json", "print JSON")
      .action(async (flags: object) => (await import("./queue/provision.ts")).runProvision(name, flags));
    if (name === "check") rejectUnknownCommand(command, queue);
  }
  addParked(queue);
  queue.addHelpText(
    "after",
    `
Without a command, runs \`check\`. \`declare\` and \`check\` need no running gateway; \`parked\` does.

Examples:
  posthorn queue declare
  posthorn queue check --json
  posthorn queue declare --kind azure-storage-queue --queue webhooks
  posthorn queue parked erp --reason invalid
  posthorn queue parked requeue erp --reason dead
  posthorn queue parked purge erp --confirm 12`,
  );
}

function addParked(queue: Command): void {
  const parked = queue.command("parked").description("messages of a source that could not be processed, and why");
  const selecting = (command: Command) =>
    addClientOptions(command).option("--reason <reason>", "only messages that were parked for this reason");
  const choosing = (command: Command) =>
    selecting(command).option("--id <id...>", "only these messages, by the id in the list");
  selecting(parked.command("list <source>", { isDefault: true }))
    .description("list parked messages, oldest first")
    .option("--limit <number>", "at most this many, up to 500", "50")
    .option("--cursor <cursor>", "continue where the page before ended")
    .action(later(async () => (await import("./queue/parked.ts")).runListParked));
  addClientOptions(parked.command("show <source> <id>"))
    .description("show a parked message with its body")
    .action(later(async () => (await import("./queue/parked.ts")).runShowParked));
  choosing(parked.command("requeue <source>"))
    .description("put parked messages back into their queue: all, or those that match")
    .action(later(async () => (await import("./queue/parked.ts")).runRequeueParked));
  choosing(parked.command("purge <source>"))
    .description("delete them for good: all, or those that match")
    .option("--confirm <count>", "how many messages there are, as reported without this flag")
    .action(later(async () => (await import("./queue/parked.ts")).runPurgeParked));
}

/** For the default command of a group: `posthorn events shwo` is not the list with an extra argument. */
export function rejectUnknownCommand(command: Command, group: Command): void {
  command.allowExcessArguments().hook("preAction", () => {
    const [word] = command.args;
    if (word === undefined) return;
    const names = group.commands.map((one) => one.name());
    throw usageFailure(`Unknown command "${group.name()} ${word}"${suggestName(word, names)}.`.replace(/\?\.$/, "?"));
  });
}
