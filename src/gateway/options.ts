import type { DestinationKind } from "../deliver/senders/sender.ts";
import type { PosthornError } from "../domain/errors.ts";
import type { SystemClockOptions } from "../domain/system-clock.ts";
import type { SourceKind } from "../receive/sources/source-kind.ts";
import type { Logger } from "../telemetry/logger.ts";

export interface GatewayOptions {
  logger: Logger;
  /** A listening socket that was handed over, by systemd for instance. */
  listenFd?: number | undefined;
  /** The disk failed; the process must end at once with a code that is not 0. */
  onFatal: (error: PosthornError) => void;
  /** More kinds of sources than the gateway brings along. */
  sourceKinds?: readonly SourceKind[] | undefined;
  /** More kinds of destinations than the gateway brings along. */
  destinationKinds?: readonly DestinationKind[] | undefined;
  /** How long requests have to end once everything else has stopped. */
  httpCloseMs?: number | undefined;
  /** Another time than the machine's. For tests only. */
  time?: Omit<SystemClockOptions, "startAt"> | undefined;
  /** Each breaks a promise, to show that the test of that promise can fail. For tests only. */
  broken?: BrokenPromises | undefined;
}

export interface BrokenPromises {
  synchronous?: "NORMAL" | "OFF";
  answerBeforeCommit?: boolean;
  forgetDedupe?: boolean;
  ignoreOrder?: boolean;
  checkLargeBodiesOnLoop?: boolean;
  /** No event knows how many gateways it has passed. */
  forgetHops?: boolean;
}
