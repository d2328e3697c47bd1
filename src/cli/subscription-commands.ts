import { Option, type Command } from "commander";
import { addClientOptions, addListOptions, refuseWords } from "./client-commands.ts";
import type { RecoverFlags } from "./subscriptions.ts";

const load = () => import("./subscriptions.ts");

export function addSubscriptionCommands(program: Command): void {
  const subscriptions = program
    .command("subscriptions")
    .description("who wants which events and where they go: list, show, make and change them");
  addListOptions(addClientOptions(subscriptions.command("list", { isDefault: true })))
    .description("list subscriptions by age")
    .option("--label <name[=value]>", "only with this label")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, subscriptions);
      await (await load()).runListSubscriptions(flags);
    });
  addClientOptions(subscriptions.command("show <id>"))
    .description("show a subscription with its settings and how it does")
    .action(async (id: string, flags: object) => (await load()).runShowSubscription(id, flags));
  addSettings(addClientOptions(subscriptions.command("create [name]")))
    .description("make a subscription and print it with its secret")
    .option("--id <id>", "with this id; one that is there already is replaced")
    .option("--tenant <tenant>", "whose it is (for keys without a tenant)")
    .option("--idempotency-key <key>", "sent again with the same key, it is made once")
    .action(async (name: string | undefined, flags: object) => (await load()).runCreateSubscription(name, flags));
  addSettings(addClientOptions(subscriptions.command("update <id>")))
    .description("change what is given and keep the rest")
    .option("--name <name>", "a new name")
    .option("--if-match <etag>", "only if it is still in this version")
    .action(async (id: string, flags: object) => (await load()).runUpdateSubscription(id, flags));
  addClientOptions(subscriptions.command("pause <id>"))
    .description("hold its deliveries")
    .action(async (id: string, flags: object) => (await load()).runPauseSubscription(id, flags));
  addClientOptions(subscriptions.command("resume <id>"))
    .description("deliver again, and what was held first")
    .option("--skip-held", "cancel what was held instead")
    .action(async (id: string, flags: object) => (await load()).runResumeSubscription(id, flags));
  addClientOptions(subscriptions.command("drain <id>"))
    .description("try what waits now, even while its target is in QUEUE mode")
    .action(async (id: string, flags: object) => (await import("./targets.ts")).runDrain(id, flags));
  addClientOptions(subscriptions.command("test <id>"))
    .description("send a test event there and print what came of it")
    .action(async (id: string, flags: object) => (await load()).runTestSubscription(id, flags));
  addClientOptions(subscriptions.command("stats <id>"))
    .description("show success rates and latencies of the last hour and day")
    .action(async (id: string, flags: object) =>
      (await import("./subscription-stats.ts")).runSubscriptionStats(id, flags),
    );
  addClientOptions(subscriptions.command("recover <id>"))
    .description("deliver once more what it missed")
    .requiredOption("--since <time>", "events received since then: RFC 3339, or 15m, 2h, 7d ago")
    .option("--until <time>", "and before then")
    .addOption(
      new Option("--include <which>", "dead letters, events it never had, or both")
        .choices(["failed", "missing", "all"])
        .default("failed"),
    )
    .option("--plan", "only count them")
    .action(async (id: string, flags: RecoverFlags) => (await load()).runRecoverSubscription(id, flags));
  addClientOptions(subscriptions.command("delete <id>"))
    .description("delete it and cancel what is open of it")
    .action(async (id: string, flags: object) => (await load()).runDeleteSubscription(id, flags));
  subscriptions.addHelpText(
    "after",
    `
Without a command it lists. \`posthorn secrets\` rotates and shows secrets.

Examples:
  posthorn subscriptions create erp --to https://erp.example/hooks --events 'order.*' invoice.paid
  posthorn subscriptions create --file erp.json
  posthorn subscriptions update sub_… --rate-limit 100 --header 'X-Team: blue'
  posthorn subscriptions resume sub_… --skip-held
  posthorn subscriptions recover sub_… --since 2h --include all`,
  );
}

function addSettings(command: Command): Command {
  return command
    .option("--file <path>", "settings as JSON or yaml, - for standard input; flags go before it")
    .option("--to <url>", "where deliveries are sent")
    .option("--events <pattern...>", "which event types: * is one word, # any number of words")
    .option("--sources <pattern...>", "of which sources, by patterns of their names; or none for all")
    .option("--filter <json>", "which of these events: JSON, @FILE, or none")
    .addOption(new Option("--format <format>", "what is sent").choices(["auto", "envelope", "raw", "cloudevents"]))
    .option("-H, --header <name: value...>", "sent with every attempt; these replace all that were set; or none")
    .option("--label <name=value...>", "to find it by; these replace all that were set")
    .option("--timeout <seconds>", "per attempt")
    .option("--rate-limit <number>", "attempts per minute, or none")
    .option("--concurrency <number>", "attempts at once")
    .option("--ordered", "strictly in order for each ordering key")
    .option("--no-ordered", "in any order")
    .addOption(new Option("--on-dead-head <what>", "what the followers of a dead letter do").choices(["block", "skip"]))
    .option("--health-interval <seconds>", "between health checks")
    .option("--failures-to-open <count>", "failures in a row that lead to QUEUE")
    .option("--successes-to-close <count>", "good health checks in a row that lead back to NORMAL")
    .option("--suspend-after-dead <count>", "suspended when more deliveries die in a row; or none")
    .option("--suspend-after <seconds>", "suspended after so long in QUEUE; or none")
    .option("--resume-when-healthy <yes|no>", "goes on by itself when its health check finds it well")
    .option("--max-age <seconds>", "older deliveries become dead letters; or none")
    .addOption(
      new Option("--retry-policy <name>", "how often it is tried again").choices([
        "standard",
        "dairy",
        "proxy",
        "smartsheet",
      ]),
    )
    .option("--retry-delays <seconds,…>", "the waits between tries: 5,60,600")
    .option("--retry-count <number>", "so many retries, with --retry-interval between them")
    .option("--retry-interval <seconds>", "between tries")
    .option("--target <name>", "n8n, or a target of posthorn.yaml; none for its own")
    .option("--health-url <url>", "asked every minute whether the destination is well; none for no check")
    .option("--allowed-ip <cidr...>", "the destination's address must lie in one of these")
    .option("--signature-header <name>", "header of the plain signature")
    .option("--secret-file <path>", "take the secret from a file, - for standard input")
    .addOption(
      new Option("--mode <mode>", "forward: whoever sends a webhook waits for the first attempt").choices([
        "queue",
        "forward",
      ]),
    )
    .option("--forward-header <name...>", "with forward: headers that are handed on; * for the usual ones")
    .option("--allow-own-url", "let it deliver to this gateway itself")
    .option("--no-allow-own-url", "refuse a destination that leads back to this gateway")
    .option("--description <text>", "for people");
}
