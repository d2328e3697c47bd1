import type { createConnections } from "../brokers/connections.ts";
import type { Config } from "../config/settings-tree.ts";
import type { DestinationKind } from "../deliver/senders/sender.ts";
import type { PosthornError } from "../domain/errors.ts";
import type { SystemClockOptions } from "../domain/system-clock.ts";
import type { Plugin } from "../plugins/plugin.ts";
import type { createBodyChecker } from "../receive/text/body-check.ts";
import type { SourceKind } from "../receive/sources/source-kind.ts";
import type { createIngest } from "../route/ingest.ts";
import type { openStore } from "../store/open.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { PartStack } from "./part-stack.ts";

export interface GatewayOptions {
  logger: Logger;
  /** A listening socket that was handed over, by systemd for instance. */
  listenFd?: number | undefined;
  /** The disk failed; the process must end at once with a code that is not 0. */
  onFatal: (error: PosthornError) => void;
  /** Is told of each request and attempt, where somebody watches. */
  activity?: Activity | undefined;
  /** More kinds of sources than the gateway brings along. */
  sourceKinds?: readonly SourceKind[] | undefined;
  /** More plugins than `plugins.ts` lists; their settings are not read. */
  plugins?: readonly Plugin[] | undefined;
  /** More kinds of destinations than the gateway brings along. */
  destinationKinds?: readonly DestinationKind[] | undefined;
  /** How long requests have to end once everything else has stopped. */
  httpCloseMs?: number | undefined;
  /** Another time than the machine's. For tests only. */
  time?: Omit<SystemClockOptions, "startAt"> | undefined;
  /** Parts that are made otherwise than the gateway makes them. */
  makers?: PartMakers | undefined;
}

/** Each is given how the gateway makes the part, and gives back how it is made instead. */
export interface PartMakers {
  openStore?: Remade<typeof openStore> | undefined;
  createIngest?: Remade<typeof createIngest> | undefined;
  createBodyChecker?: Remade<typeof createBodyChecker> | undefined;
  createConnections?: Remade<typeof createConnections> | undefined;
}

type Remade<Make> = (make: Make) => Make;

/** What every part may ask for while the gateway is put together. */
export interface Start {
  readonly config: Config;
  readonly options: GatewayOptions;
  readonly logger: Logger;
  readonly logFault: (error: unknown) => void;
  readonly parts: PartStack;
}
