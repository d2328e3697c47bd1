import type { Command } from "commander";
import type { FastifyInstance } from "fastify";
import type { Static, TObject, TProperties } from "typebox";
import type { Clock, Random } from "../model/clock.ts";
import type { AreaDocs } from "../api/openapi/operation-docs.ts";
import type { DisabledSource } from "../alerts/facts.ts";
import type { PeriodicJob } from "../jobs/jobs.ts";
import type { OwnEvents } from "../accept/own-events.ts";
import type { Sample } from "../sources/samples/sample.ts";
import type { SourceKind } from "../sources/source-kind.ts";
import type { Registry } from "../resources/registry.ts";
import type { SecretBox } from "../resources/secret-box.ts";
import type { Sources } from "../resources/sources/sources.ts";
import type { Logger } from "../telemetry/logger.ts";

/**
 * Everything that a provider needs beyond a kind of source. A plugin is a folder and a line in `plugins.ts`.
 * The configuration and the command line load every plugin, so large modules are imported only when they are needed.
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
