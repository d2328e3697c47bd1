/** What crosses from the gateway's thread to the writer's, and back. */
import type { ClaimRequest, ClaimResult, LoggedRequest, NewDelivery, NewEvent, Settlement, Settled } from "../store.ts";
import type { CommandName, CommandResult } from "./commands.ts";
import type { FaultReport } from "./faults.ts";

/** One batch holds at most this, and one transaction hardly more; what is beyond waits for the next. */
export const BATCH_LIMITS = { maxRows: 5000, maxBytes: 4 * 1024 * 1024 } as const;

export interface AcceptItem {
  event: NewEvent;
  deliveries: readonly NewDelivery[];
}

export interface Command {
  name: CommandName;
  args: readonly unknown[];
}

export interface WriteBatch {
  /** Unix ms: when the batch was sent to be written. */
  wall: number;
  /** How many it makes or changes, about. */
  rows: number;
  settles: Settlement[];
  accepts: AcceptItem[];
  commands: Command[];
  requests: LoggedRequest[];
  claims: ClaimRequest[];
}

export type Stored = { eventSeq: number; claimed: readonly boolean[] } | { duplicateOf: string; isReplay?: boolean };
export type OrFault<T> = T | { failed: FaultReport };

export interface BatchResult {
  settles: OrFault<Settled>[];
  accepts: OrFault<Stored>[];
  commands: OrFault<{ value: CommandResult }>[];
  claims: OrFault<ClaimResult>[];
  /** The process must end: whether the batch is on disk is unknown. */
  fatal: FaultReport | undefined;
}
