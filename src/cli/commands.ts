import type { Command } from "commander";
import type { CommandLine } from "../plugin.ts";
import { PLUGINS } from "../plugins.ts";
import * as local from "./local-commands.ts";
import type { Resource, SingleAction } from "./resources/resource.ts";

/** A command of `posthorn --help`, in the order of the help. */
interface TopCommand {
  /** Adds the command with all that `posthorn --help` shows of it. */
  add(program: Command): void;
  readonly name?: string;
  /** Adds the group's commands before its help or one of them runs: loading all schemas would slow every start. */
  fill?(command: Command): Promise<void>;
}

/** What plugins make commands with. */
const COMMAND_LINE: CommandLine = {
  addClientOptions: local.addClientOptions,
  rejectUnknownCommand: local.rejectUnknownCommand,
  open: async (flags) => (await import("./connect.ts")).openCommandTools(flags),
};

export const COMMAND_GROUPS: Readonly<Record<string, readonly TopCommand[]>> = {
  "Run a gateway:": [
    { add: local.addStart },
    { add: local.addConfig },
    { add: local.addDoctor },
    { add: local.addBackup },
    { add: local.addRestore },
    { add: local.addSelftest },
    { add: local.addBench },
  ],
  "Try it out:": [
    single("send", "publish an event, or post a webhook", () => import("./send.ts")),
    { add: local.addSink },
    single("trigger", "send a provider's sample request, signed, to a source", () => import("./trigger.ts")),
    single(
      "listen",
      "forward the requests of a source, or the deliveries of a subscription, to a local port",
      () => import("./listen/run-listen.ts"),
    ),
    single("tail", "show events, attempts, modes and alerts live", () => import("./tail.ts")),
  ],
  "Set it up:": [
    single("diff", "show what `apply` would change, without changing anything", async () => ({
      ACTION: (await import("./apply/run-apply.ts")).DIFF,
    })),
    single("apply", "change a running gateway to match a configuration file", async () => ({
      ACTION: (await import("./apply/run-apply.ts")).APPLY,
    })),
    group(
      "sources",
      "where webhooks come from, and which requests were rejected",
      () => import("./resources/sources.ts"),
    ),
    group(
      "validations",
      "validation of webhooks: list, put, test, roll back",
      () => import("./resources/validations.ts"),
    ),
    group("event-types", "list, show, import and export event types", () => import("./resources/event-types.ts")),
    group(
      "subscriptions",
      "who gets which events, and where they are sent: list, show, create, change",
      () => import("./resources/subscriptions.ts"),
    ),
    group("secrets", "rotate and show the secrets of subscriptions", () => import("./resources/secrets.ts")),
    group("templates", "preview the result of a template for an event", () => import("./resources/templates.ts")),
    group("targets", "targets of subscriptions: their health and their mode", () => import("./resources/targets.ts")),
    { add: local.addQueueCommands },
    ...PLUGINS.map((plugin) => ({ add: (program: Command) => plugin.addCommands(program, COMMAND_LINE) })),
    group(
      "tenants",
      "owners of subscriptions, sources and keys, with their quotas",
      () => import("./resources/tenants.ts"),
    ),
    group("keys", "API keys: list, create, revoke", () => import("./resources/keys.ts")),
  ],
  "See what happens, and repair it:": [
    single(
      "status",
      "show the state of the gateway, its targets and its waiting deliveries",
      () => import("./status.ts"),
    ),
    group("events", "list events, show one, replay one", () => import("./resources/events.ts")),
    group("deliveries", "list, show, retry and cancel deliveries", () => import("./resources/deliveries.ts")),
    group("requests", "list, show and accept rejected requests", () => import("./resources/requests.ts")),
    group(
      "dlq",
      "dead letters: failed deliveries that are no longer retried",
      () => import("./resources/dead-letters.ts"),
    ),
    group("replay", "replay, recover or cancel many deliveries, as a job", () => import("./resources/replays.ts")),
    group(
      "alerts",
      "problems that the gateway has found: list, acknowledge, mute",
      () => import("./resources/alerts.ts"),
    ),
    single(
      "audit",
      "list who changed what, latest first; or export the whole log",
      () => import("./resources/audit.ts"),
    ),
    { add: local.addVerifyAudit },
  ],
  "More:": [{ add: local.addCompletion }, { add: local.addVersion }],
};

export const COMMANDS: readonly TopCommand[] = Object.values(COMMAND_GROUPS).flat();

function group(name: string, help: string, load: () => Promise<{ RESOURCE: Resource }>): TopCommand {
  return later(name, help, async (command) => {
    const { addActions } = await import("./resources/add-actions.ts");
    addActions(command, (await load()).RESOURCE);
  });
}

function single(name: string, help: string, load: () => Promise<{ ACTION: SingleAction }>): TopCommand {
  return later(name, help, async (command) => {
    const { addSingleAction } = await import("./resources/add-actions.ts");
    addSingleAction(command, (await load()).ACTION);
  });
}

function later(name: string, help: string, fill: (command: Command) => Promise<void>): TopCommand {
  return { name, add: (program) => void program.command(name).description(help), fill };
}
