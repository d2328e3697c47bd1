import type { createConnections } from "../queues/connections.ts";
import type { Config } from "../config/settings-tree.ts";
import type { DestinationKind } from "../destinations/sender.ts";
import type { PosthornError } from "../model/errors.ts";
import type { SystemClockOptions } from "../model/clock.ts";
import type { Plugin } from "../plugin.ts";
import type { createBodyChecker } from "../sandbox/text/body-check.ts";
import type { SourceKind } from "../sources/source-kind.ts";
import type { createIngest } from "../accept/ingest.ts";
import type { openStore } from "../store/open.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { PartStack } from "./part-stack.ts";

export interface GatewayOptions {
  logger: Logger;
  /** A listening socket that was passed in, for example by systemd. */
  listenFd?: number | undefined;
  /** The disk failed; the process must exit at once with a code other than 0. */
  onFatal: (error: PosthornError) => void;
  /** Is told of each request and attempt, where somebody watches; unless they are logged. */
  activity?: Activity | undefined;
  /** Source kinds beyond the built-in ones. */
  sourceKinds?: readonly SourceKind[] | undefined;
  /** More plugins than `plugins.ts` lists; their settings are not read. */
  plugins?: readonly Plugin[] | undefined;
  /** Kinds of destinations beyond the built-in ones. */
  destinationKinds?: readonly DestinationKind[] | undefined;
  /** How long running requests may take once everything else has stopped. */
  httpCloseMs?: number | undefined;
  /** Another time than the machine's. For tests only. */
  time?: Omit<SystemClockOptions, "startAt"> | undefined;
  /** Replacements for parts of the gateway. */
  makers?: PartMakers | undefined;
}

/** Each takes the gateway's own maker of a part and returns the maker to use instead. */
export interface PartMakers {
  openStore?: Remade<typeof openStore> | undefined;
  createIngest?: Remade<typeof createIngest> | undefined;
  createBodyChecker?: Remade<typeof createBodyChecker> | undefined;
  createConnections?: Remade<typeof createConnections> | undefined;
}

type Remade<Make> = (make: Make) => Make;

/** What every part may use while the gateway is put together. */
export interface Start {
  readonly config: Config;
  readonly options: GatewayOptions;
  readonly logger: Logger;
  readonly logFault: (error: unknown) => void;
  readonly parts: PartStack;
}
