/** What a group commit hands to a driver, and what it gets back. */
import type { LoggedRequest, NewDelivery, NewEvent } from "../port/event-log.ts";
import type { ClaimRequest, ClaimResult, Settled, Settlement } from "../port/lanes.ts";
import type { FaultReport } from "./faults.ts";

/** One batch holds at most this, and one transaction hardly more; what is beyond waits for the next. */
export const BATCH_LIMITS = { maxRows: 5000, maxBytes: 4 * 1024 * 1024 } as const;

export interface AcceptItem {
  event: NewEvent;
  deliveries: readonly NewDelivery[];
}

/** One of the writes that are not on the way of every event: a method of a port. */
export interface Command {
  port: string;
  name: string;
  args: readonly unknown[];
}

/** When a batch was sent to be written: all of it happens then. */
export interface BatchTime {
  /** Scheduling time. */
  now: number;
  /** As the rest of the world sees it. */
  wall: number;
}

export interface WriteBatch {
  at: BatchTime;
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
  commands: OrFault<{ value: unknown }>[];
  claims: OrFault<ClaimResult>[];
  /** The process must end: whether the batch is on disk is unknown. */
  fatal: FaultReport | undefined;
}

export function failAll(batch: WriteBatch, failed: FaultReport): BatchResult {
  const fail = (items: readonly unknown[]) => items.map(() => ({ failed }));
  return {
    settles: fail(batch.settles),
    accepts: fail(batch.accepts),
    commands: fail(batch.commands),
    claims: fail(batch.claims),
    fatal: failed.fault === "fatal" ? failed : undefined,
  };
}
