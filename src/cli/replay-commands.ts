import { Argument, Option, type Command } from "commander";
import { DEAD_REASONS } from "../domain/delivery.ts";
import { RECOVER_INCLUDES, REPLAY_STATUSES } from "../domain/replay.ts";
import { addClientOptions, addListOptions } from "./client-commands.ts";

const KINDS = ["dead-letters", "events", "recover", "cancel"];

/** Dead letters, and work on many deliveries at once. */
export function addReplayCommands(program: Command): void {
  addDeadLetters(program);
  addReplays(program);
}

function addDeadLetters(program: Command): void {
  const dlq = program.command("dlq").description("dead letters: deliveries that are not tried again by themselves");
  addDeadLetterFilter(addListOptions(addClientOptions(dlq.command("list"))))
    .description("list dead letters, the latest first")
    .action(async (flags: object) => (await import("./deliveries.ts")).runListDeadLetters(flags));
  addWork(addDeadLetterFilter(addClientOptions(dlq.command("replay [id]")).option("--tenant <tenant>", OF_TENANT)))
    .description("deliver dead letters once more, with a new round of retries: one, those that fit, or all")
    .option("--all", "whatever there is")
    .action(async (id: string | undefined, flags: object) =>
      (await import("./replays.ts")).runReplayDeadLetters(id, flags),
    );
  addDeadLetterFilter(addClientOptions(dlq.command("purge")).option("--tenant <tenant>", OF_TENANT))
    .description("give dead letters up for good, those that fit or all")
    .option("--all", "whatever there is")
    .option("--confirm <count>", "how many that are, as told without this")
    .option("--yes", "however many that are")
    .option("--wait", "until it is done")
    .action(async (flags: object) => (await import("./replays.ts")).runPurgeDeadLetters(flags));
  dlq.addHelpText(
    "after",
    `
Examples:
  posthorn dlq list --reason refused --since 2h
  posthorn dlq replay dlv_…
  posthorn dlq replay --subscription sub_… --plan
  posthorn dlq replay --all --wait
  posthorn dlq purge --reason expired --confirm 12`,
  );
}

function addReplays(program: Command): void {
  const replay = program.command("replay").description("work on many deliveries at once: start it, watch it, stop it");
  const start = addClientOptions(replay.command("start"))
    .addArgument(new Argument("<kind>", "what to send again, or to cancel").choices(KINDS))
    .option("--subscription <id>", "only for this subscription")
    .option("--tenant <tenant>", OF_TENANT)
    .option("--type <type>", "only this event type")
    .option("--source <name>", "only events from this source")
    .addOption(new Option("--reason <reason>", "only dead letters of this kind").choices(DEAD_REASONS))
    .addOption(
      new Option("--include <what>", "with recover: its dead letters, events it never had, or both").choices(
        RECOVER_INCLUDES,
      ),
    )
    .option("--since <time>", "received since then (dead letters: dead since then): RFC 3339, or 15m, 2h, 7d ago")
    .option("--until <time>", "before then");
  addWork(start)
    .description("start it as a job of the gateway, which goes on over restarts")
    .action(async (kind: string, flags: object) => (await import("./replays.ts")).runStartReplay(kind, flags));
  addListOptions(addClientOptions(replay.command("list")))
    .description("list such jobs, the latest first")
    .addOption(new Option("--status <status>", "only in this state").choices(REPLAY_STATUSES))
    .action(async (flags: object) => (await import("./replays.ts")).runListReplays(flags));
  addClientOptions(replay.command("show <id>"))
    .description("how far it is")
    .option("--wait", "until it is done")
    .action(async (id: string, flags: object) => (await import("./replays.ts")).runShowReplay(id, flags));
  for (const [act, description] of [
    ["pause", "let it rest; it goes on from there when it is resumed"],
    ["resume", "go on with one that was paused"],
    ["cancel", "end it where it is; what it has done stays done"],
  ] as const) {
    addClientOptions(replay.command(`${act} <id>`))
      .description(description)
      .action(async (id: string, flags: object) => (await import("./replays.ts")).runChangeReplay(act, id, flags));
  }
  replay.addHelpText(
    "after",
    `
Examples:
  posthorn replay start events --type order.created --since 2h --plan
  posthorn replay start recover --subscription sub_… --since 7d --include all --wait
  posthorn replay start cancel --subscription sub_…
  posthorn replay show rpl_… --wait`,
  );
}

const OF_TENANT = "only of this tenant";

function addDeadLetterFilter(command: Command): Command {
  return command
    .option("--subscription <id>", "only those for this subscription")
    .addOption(new Option("--reason <reason>", "only those that died of this").choices(DEAD_REASONS))
    .option("--type <type>", "only this event type")
    .option("--since <time>", "dead since then: RFC 3339, or 15m, 2h, 7d ago")
    .option("--until <time>", "dead before then");
}

function addWork(command: Command): Command {
  return command.option("--plan", "only count, and do nothing").option("--wait", "until it is done");
}
