import type { Duplicate, Stored } from "../../model/accepted.ts";
import type { LoggedRequest, NewDelivery, NewEvent } from "../port/event-log.ts";
import type { ClaimRequest, ClaimResult, Settled, Settlement } from "../port/lanes.ts";
import { PosthornError } from "../../model/errors.ts";

/** The input of a driver's group commit, and its result. */

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

export const NOTHING_FOLLOWS: Settled = { applied: true, next: undefined, movedUp: false };

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

/** What a database error means for the batch in which it happened. */
export type Fault =
  /** The state of the disk is unknown or bad: stop, and recover at the next start. Never retry an fsync. */
  | "fatal"
  /** Nothing was written; the disk is full. */
  | "full"
  /** Nothing was written; another process holds the database. */
  | "busy"
  /** Only this item cannot be written. */
  | "item";

/** The state from which the next transaction would start is unknown. */
export class FatalFault extends Error {}

/** A fault in a form that can be sent between threads. */
export interface FaultReport {
  fault: Fault;
  message: string;
  isCorruption?: boolean | undefined;
  code?: PosthornError["code"] | undefined;
  field?: string | undefined;
  details?: PosthornError["details"] | undefined;
  retryAfterS?: number | undefined;
}

/** `fault` is the driver's classification of the error. */
export function describeFault(error: unknown, fault: Fault, isCorruption = false): FaultReport {
  const report: FaultReport = {
    fault,
    message: error instanceof Error ? error.message : String(error),
    isCorruption: isCorruption || undefined,
  };
  if (!(error instanceof PosthornError)) return report;
  const { code, field, details, retryAfterS } = error;
  return { ...report, code, field, details, retryAfterS };
}

export function faultError(report: FaultReport): PosthornError {
  if (report.code !== undefined) return new PosthornError(report.code, report.message, report);
  if (report.isCorruption === true) {
    return new PosthornError(
      "unavailable",
      `The database is damaged (${report.message}). ` +
        "Keep a copy of the data directory, then restore a backup or move the files away.",
      { retryAfterS: 5, details: { damage: `the database cannot be read in one place: ${report.message}` } },
    );
  }
  switch (report.fault) {
    case "full":
      return new PosthornError("store_full", `The disk is full (${report.message}). Free space on the data disk.`, {
        retryAfterS: 5,
      });
    case "busy":
    case "fatal":
      return new PosthornError("unavailable", `The store cannot write now (${report.message}).`, { retryAfterS: 5 });
    case "item":
      return new PosthornError("internal_error", `The store could not write this item (${report.message}).`);
  }
}
