import type { Command } from "commander";
import type { CommandLine } from "../plugin.ts";
import { PLUGINS } from "../plugins.ts";
import * as client from "./client-commands.ts";
import * as gateway from "./gateway-commands.ts";
import type { Resource } from "./resources/resource.ts";

/** A command of `posthorn --help`, in the order of the help. */
interface TopCommand {
  /** Adds the command with all that `posthorn --help` shows of it. */
  add(program: Command): void;
  /** A group whose commands are added later. */
  readonly name?: string;
  /** Adds the group's commands before its help or one of them runs: loading all schemas would slow every start. */
  fill?(command: Command): Promise<void>;
}

/** What plugins make commands with. */
const COMMAND_LINE: CommandLine = {
  addClientOptions: client.addClientOptions,
  rejectUnknownCommand: client.rejectUnknownCommand,
  open: async (flags) => (await import("./connect.ts")).openCommandTools(flags),
};

/** By the heading that they stand below. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly TopCommand[]>> = {
  "Run a gateway:": [
    { add: gateway.addStart },
    { add: gateway.addConfig },
    { add: gateway.addDoctor },
    { add: gateway.addBackup },
    { add: gateway.addRestore },
    { add: gateway.addSelftest },
    { add: gateway.addBench },
  ],
  "Try it out:": [
    { add: client.addSend },
    { add: gateway.addSink },
    { add: client.addTrigger },
    { add: client.addListen },
    { add: client.addTail },
  ],
  "Set it up:": [
    { add: client.addDiff },
    { add: client.addApply },
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
    { add: client.addQueueCommands },
    ...PLUGINS.map((plugin) => ({ add: (program: Command) => plugin.addCommands(program, COMMAND_LINE) })),
    group(
      "tenants",
      "owners of subscriptions, sources and keys, with their quotas",
      () => import("./resources/tenants.ts"),
    ),
    group("keys", "API keys: list, create, revoke", () => import("./resources/keys.ts")),
  ],
  "See what happens, and repair it:": [
    { add: client.addStatus },
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
    group("audit", "the audit log: who changed what, and when", () => import("./resources/audit.ts")),
    { add: client.addVerifyAudit },
  ],
  "More:": [{ add: gateway.addCompletion }, { add: gateway.addVersion }],
};

export const COMMANDS: readonly TopCommand[] = Object.values(COMMAND_GROUPS).flat();

function group(name: string, help: string, load: () => Promise<{ RESOURCE: Resource }>): TopCommand {
  return {
    name,
    add: (program) => void program.command(name).description(help),
    async fill(command) {
      const [{ addActions }, { RESOURCE }] = await Promise.all([import("./resources/add-actions.ts"), load()]);
      addActions(command, RESOURCE);
    },
  };
}
