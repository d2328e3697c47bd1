import { PosthornError } from "../../domain/errors.ts";

/** What an error of SQLite means for the batch in which it happened. */
export type Fault =
  /** The state of the disk is unknown or bad: stop, and recover at the next start. Never retry an fsync. */
  | "fatal"
  /** Nothing was written; there is no room. */
  | "full"
  /** Nothing was written; somebody else holds the database. */
  | "busy"
  /** This item alone cannot be written. */
  | "item";

const PRIMARY_CODES: Record<number, Fault> = {
  5: "busy",
  6: "busy",
  7: "busy", // NOMEM
  8: "fatal", // READONLY
  10: "fatal", // IOERR
  11: "fatal", // CORRUPT
  13: "full",
  14: "fatal", // CANTOPEN
  15: "busy", // PROTOCOL
  26: "fatal", // NOTADB
};

/** SQLite's own words: the driver's `all` and `iterate` throw errors that carry nothing else. */
const PRIMARY_MESSAGES = new Map([
  ["database is locked", 5],
  ["database table is locked", 6],
  ["out of memory", 7],
  ["attempt to write a readonly database", 8],
  ["disk I/O error", 10],
  ["database disk image is malformed", 11],
  ["database or disk is full", 13],
  ["unable to open database file", 14],
  ["locking protocol", 15],
  ["file is not a database", 26],
]);

export class FatalFault extends Error {}

export function judgeFault(error: unknown): Fault {
  if (error instanceof FatalFault) return "fatal";
  const code = sqliteCode(error);
  return code === undefined ? "item" : (PRIMARY_CODES[code & 0xff] ?? "item");
}

export function isCorruption(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && ((code & 0xff) === 11 || (code & 0xff) === 26);
}

function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, code, message } = error as { errcode?: unknown; code?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode;
  return code === "ERR_SQLITE_ERROR" ? PRIMARY_MESSAGES.get(String(message)) : undefined;
}

/** A fault in a form that crosses threads. */
export interface FaultReport {
  fault: Fault;
  message: string;
  isCorruption?: boolean | undefined;
  code?: PosthornError["code"] | undefined;
  field?: string | undefined;
  details?: PosthornError["details"] | undefined;
  retryAfterS?: number | undefined;
}

export function reportFault(error: unknown): FaultReport {
  const report: FaultReport = {
    fault: judgeFault(error),
    message: error instanceof Error ? error.message : String(error),
    isCorruption: isCorruption(error) || undefined,
  };
  if (!(error instanceof PosthornError)) return report;
  const { code, field, details, retryAfterS } = error;
  return { ...report, code, field, details, retryAfterS };
}

export function faultError(report: FaultReport): PosthornError {
  if (report.code !== undefined) return new PosthornError(report.code, report.message, report);
  switch (report.fault) {
    case "full":
      return new PosthornError("store_full", `The disk is full (${report.message}). Free space on the data disk.`, {
        retryAfterS: 5,
      });
    case "busy":
    case "fatal":
      if (report.isCorruption === true) {
        return new PosthornError(
          "unavailable",
          `The database is damaged (${report.message}). ` +
            "Keep a copy of the data directory, then restore a backup or move the files away.",
          { retryAfterS: 5 },
        );
      }
      return new PosthornError("unavailable", `The store cannot write now (${report.message}).`, { retryAfterS: 5 });
    case "item":
      return new PosthornError("internal_error", `The store refused one item (${report.message}).`);
  }
}
