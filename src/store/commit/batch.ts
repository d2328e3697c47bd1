/** The input of a driver's group commit, and its result. */
import type { Duplicate, Stored } from "../../model/accepted.ts";
import type { LoggedRequest, NewDelivery, NewEvent } from "../port/event-log.ts";
import type { ClaimRequest, ClaimResult, Settled, Settlement } from "../port/lanes.ts";
import type { FaultReport } from "./faults.ts";

/** The limits of one batch; a transaction holds hardly more. Items beyond them wait for the next batch. */
export const BATCH_LIMITS = { maxRows: 5000, maxBytes: 4 * 1024 * 1024 } as const;

export interface AcceptItem {
  event: NewEvent;
  deliveries: readonly NewDelivery[];
}

/** A write that is not needed for every event: a method of a port. */
export interface Command {
  port: string;
  name: string;
  args: readonly unknown[];
}

/** When a batch was posted; all of its writes happen at this time. */
export interface BatchTime {
  /** Scheduling time. */
  now: number;
  /** Wall time. */
  wall: number;
}

export interface WriteBatch {
  at: BatchTime;
  /** Roughly how many rows the batch creates or changes. */
  rows: number;
  settles: Settlement[];
  accepts: AcceptItem[];
  commands: Command[];
  requests: LoggedRequest[];
  claims: ClaimRequest[];
}

export type OrFault<T> = T | { failed: FaultReport };

export interface BatchResult {
  settles: OrFault<Settled>[];
  accepts: OrFault<Stored | Duplicate>[];
  commands: OrFault<{ value: unknown }>[];
  claims: OrFault<ClaimResult>[];
  /** The process must end: it is unknown whether the batch is on disk. */
  fatal: FaultReport | undefined;
  /** Stored data that was found to be damaged. */
  damages?: readonly string[] | undefined;
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
