import type { Command } from "commander";
import type { FastifyInstance } from "fastify";
import type { Static, TObject, TProperties } from "typebox";
import type { Clock, Random } from "../domain/clock.ts";
import type { AreaDocs } from "../http/openapi/operation-docs.ts";
import type { DisabledSource } from "../operate/alerts/facts.ts";
import type { PeriodicJob } from "../operate/jobs.ts";
import type { OwnEvents } from "../operate/own-events.ts";
import type { Sample } from "../receive/sources/samples/sample.ts";
import type { SourceKind } from "../receive/sources/source-kind.ts";
import type { Registry } from "../registry/registry.ts";
import type { SecretBox } from "../registry/secret-box.ts";
import type { Sources } from "../registry/sources/sources.ts";
import type { Logger } from "../telemetry/logger.ts";

/**
 * What one provider needs beyond a kind of source: a folder of its own behind this port, and a line in `plugins.ts`.
 * The configuration and the command line load every plugin: whatever is large is imported when it is called for.
 */
export interface Plugin<Properties extends TProperties = TProperties> {
  /** Stand at the top of the configuration, each with its name in the environment; the docs have them under the title. */
  readonly settings: { readonly title: string; readonly properties: Properties };
  addCommands(program: Command, commandLine: CommandLine): void;
  /** Of the routes. */
  loadDocs(): Promise<AreaDocs>;
  /** Its kinds as far as their rules go, for those who receive nothing. */
  loadSourceKinds(): Promise<readonly SourceKind[]>;
  /** Requests to try its kinds out with. */
  loadSamples?(): Promise<readonly Sample[]>;
  /** Once at each start of a gateway, before anything comes in. What it opens in the registry is followed like all else. */
  open(gateway: PluginGateway, settings: Static<TObject<Properties>>): Promise<OpenPlugin>;
}

export interface CommandLine {
  /** How a command finds the gateway, and `--json`. */
  addClientOptions(command: Command): Command;
}

/** What a plugin may use of the gateway that opens it. */
export interface PluginGateway {
  registry: Registry;
  secretBox: SecretBox;
  clock: Clock;
  random: Random;
  logger: Logger;
  onFault: (error: unknown) => void;
  ownEvents: Pick<OwnEvents, "publishOwn">;
  /** There once all plugins are open. */
  sources: () => Pick<Sources, "list" | "find">;
  publicUrl: string | undefined;
  userAgent: string;
}

export interface OpenPlugin {
  readonly sourceKinds: readonly SourceKind[];
  readonly jobs: readonly PeriodicJob[];
  /** Sources that their provider sends nothing to any more, as far as is known. */
  listDisabledSources?(): readonly DisabledSource[];
  addRoutes(app: FastifyInstance): void;
  /** What is declared has been taken over, and nothing has come in yet. */
  start(): void;
  /** Before the jobs end: one of them may wait for an answer that comes no more. */
  close(): void | Promise<void>;
}
