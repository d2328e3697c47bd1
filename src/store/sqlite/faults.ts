import { describeFault, FatalFault, type Fault, type FaultReport } from "../commit/batch.ts";

const PRIMARY_CODES: Record<number, Fault> = {
  5: "busy",
  6: "busy",
  7: "busy", // NOMEM
  8: "fatal", // READONLY
  10: "fatal", // IOERR
  // CORRUPT: a page cannot be read. Other pages can, and a restart would meet the same page.
  11: "item",
  13: "full",
  14: "fatal", // CANTOPEN
  15: "busy", // PROTOCOL
  26: "fatal", // NOTADB
};

/** SQLite's own messages: errors of the driver's `all` and `iterate` carry nothing else. */
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

export function classifyFault(error: unknown): Fault {
  if (error instanceof FatalFault) return "fatal";
  const code = sqliteCode(error);
  return code === undefined ? "item" : (PRIMARY_CODES[code & 0xff] ?? "item");
}

export function isCorruption(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && ((code & 0xff) === 11 || (code & 0xff) === 26);
}

/** Whether a statement does not fit the schema; those of a start fit the one that its migrations have made. */
export function isSchemaFault(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && (code & 0xff) === 1;
}

function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, code, message } = error as { errcode?: unknown; code?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode;
  return code === "ERR_SQLITE_ERROR" ? PRIMARY_MESSAGES.get(String(message)) : undefined;
}

export function reportFault(error: unknown): FaultReport {
  return describeFault(error, classifyFault(error), isCorruption(error));
}
