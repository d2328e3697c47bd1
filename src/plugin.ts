import type { Command } from "commander";
import type { FastifyInstance } from "fastify";
import type { Static, TObject, TProperties } from "typebox";
import type { Clock, Random } from "./model/clock.ts";
import type { AreaDocs } from "./api/openapi/shapes.ts";
import type { DisabledSource } from "./alerts/facts.ts";
import type { PeriodicJob } from "./jobs/jobs.ts";
import type { OwnEvents } from "./accept/ingest.ts";
import type { Sample } from "./sources/sample.ts";
import type { SourceKind } from "./sources/source-kind.ts";
import type { Registry } from "./resources/registry.ts";
import type { SecretBox } from "./resources/secret-box.ts";
import type { Sources } from "./resources/sources/sources.ts";
import type { Logger } from "./telemetry/logger.ts";

/**
 * Everything that a provider needs beyond a kind of source. A plugin is a folder in `plugins/` at the top of the
 * repository and a line in `plugins.ts`. The configuration and the command line load every plugin, so large modules
 * are imported only when they are needed.
 */
export interface Plugin<Properties extends TProperties = TProperties> {
  /** Top-level settings of the configuration, each with an environment variable; the docs list them under the title. */
  readonly settings: { readonly title: string; readonly properties: Properties };
  addCommands(program: Command, commandLine: CommandLine): void;
  /** The docs of the routes. */
  loadDocs(): Promise<AreaDocs>;
  /** The kinds with their rules only, for code that does not receive webhooks. */
  loadSourceKinds(): Promise<readonly SourceKind[]>;
  /** Sample requests for testing the kinds. */
  loadSamples?(): Promise<readonly Sample[]>;
  /** Called once at each start, before anything comes in. Registries that it opens follow changes like all others. */
  open(gateway: PluginGateway, settings: Static<TObject<Properties>>): Promise<OpenPlugin>;
}

export interface CommandLine {
  /** Adds the options with which a command finds the gateway, and `--json`. */
  addClientOptions(command: Command): Command;
  /** For the default command of a group: its extra arguments would be other commands, misspelt. */
  rejectUnknownCommand(command: Command, group: Command): void;
  /** For a command that runs: connects to the gateway that its flags name. */
  open(flags: object): Promise<CommandTools>;
}

/** What a command works with: a gateway to ask, stdout for results and stderr for messages. */
export interface CommandTools {
  /** Like `post`, throws the gateway's rejection as the failure of the command. */
  get(path: string, query?: Readonly<Record<string, string | number | undefined>>): Promise<CommandAnswer>;
  post(path: string, body: object): Promise<CommandAnswer>;
  print(text: string): void;
  printJson(value: unknown): void;
  printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  note(text: string): void;
  /** A bar on stderr, if that is a terminal. */
  openProgress(total: number): { show(done: number): void; close(): void };
  countOf(count: number, singular: string): string;
  /** `12s ago`; `-` for a missing time. */
  formatAgo(time: string | null): string;
  /** Thrown, it ends the command with this message and exit code 1. */
  failure(message: string): Error;
}

export interface CommandAnswer {
  /** The unparsed answer: only the text keeps numbers beyond 2^53 exact. */
  readonly text: string;
  parse(): unknown;
}

/** The parts of the gateway that a plugin may use. */
export interface PluginGateway {
  registry: Registry;
  secretBox: SecretBox;
  clock: Clock;
  random: Random;
  logger: Logger;
  onFault: (error: unknown) => void;
  ownEvents: Pick<OwnEvents, "publishOwn">;
  /** Available once all plugins are open. */
  sources: () => Pick<Sources, "list" | "find">;
  publicUrl: string | undefined;
  userAgent: string;
}

export interface OpenPlugin {
  readonly sourceKinds: readonly SourceKind[];
  readonly jobs: readonly PeriodicJob[];
  /** Sources to which the provider has stopped sending, as far as is known. */
  listDisabledSources?(): readonly DisabledSource[];
  addRoutes(app: FastifyInstance): void;
  /** Called when declared configuration is applied and nothing has come in yet. */
  start(): void;
  /** Called before the jobs end, because a job may wait for an answer that will not come. */
  close(): void | Promise<void>;
}
