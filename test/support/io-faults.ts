import { readFileSync } from "node:fs";
import { databaseOf, dataDirOf } from "./gateway-process.ts";

/** A system call of the gateway's database that fails, once or from then on, as an ill disk would make it fail. */
export interface IoFault {
  call: "fsync" | "pwrite64" | "pread64" | "ftruncate" | "openat";
  error: "EIO" | "ENOSPC";
  /** The first that fails, counted from 1 in each thread. */
  number: number;
  forGood: boolean;
  /** By default the database and its log; the database alone is synced by checkpoints only. */
  files?: "database" | "directory";
}

const CALLS = ["fsync", "fdatasync", "pwrite64", "pread64", "ftruncate", "openat"];

/** A command that runs the gateway under it, watching what touches its database and making one call fail. */
export function faultCommand(folder: string, outputFile: string, fault: IoFault | undefined): string[] {
  const database = databaseOf(folder);
  const files = { database: [database], directory: [dataDirOf(folder)], both: [database, `${database}-wal`] };
  const paths = files[fault?.files ?? "both"].flatMap((path) => ["-P", path]);
  const watch = [
    "-D",
    "-f",
    "--seccomp-bpf",
    "-ttt",
    "-s",
    "0",
    "-e",
    "signal=SIGKILL",
    ...paths,
    "-e",
    `trace=${CALLS.join(",")}`,
  ];
  return ["strace", ...watch, ...(fault === undefined ? [] : inject(fault)), "-o", outputFile];
}

function inject({ call, error, number, forGood }: IoFault): string[] {
  // Builds of SQLite differ in which of the two they use.
  const calls = call === "fsync" ? "fsync,fdatasync" : call;
  return ["-e", `inject=${calls}:error=${error}:when=${number}${forGood ? "+" : ""}`];
}

export interface FaultTrace {
  /** Most calls of each kind that one thread made. */
  counts: Record<IoFault["call"], number>;
  /** In seconds; undefined when nothing was made to fail. */
  failedAt: number | undefined;
  /** Made after the first that failed. */
  writesAfter: number;
  endedAt: number;
}

export function readFaultTrace(outputFile: string): FaultTrace {
  const perThread = new Map<string, number>();
  let failedAt: number | undefined;
  let endedAt = 0;
  let writesAfter = 0;
  for (const line of readFileSync(outputFile, "latin1").split("\n")) {
    const [, thread = "", at = "", call = ""] = /^(\d+) +([\d.]+) (?:<\.\.\. )?(\w+|\+\+\+)/.exec(line) ?? [];
    if (call === "+++") endedAt = Number(at);
    if (line.includes("(INJECTED)")) failedAt ??= Number(at);
    if (line.includes("resumed>")) continue;
    if (call === "pwrite64" && failedAt !== undefined && Number(at) > failedAt) writesAfter++;
    const key = `${thread} ${call.replace("fdatasync", "fsync")}`;
    perThread.set(key, (perThread.get(key) ?? 0) + 1);
  }
  const counts = { fsync: 0, pwrite64: 0, pread64: 0, ftruncate: 0, openat: 0 };
  for (const [key, number] of perThread) {
    const call = key.slice(key.indexOf(" ") + 1);
    if (call in counts) counts[call as IoFault["call"]] = Math.max(counts[call as IoFault["call"]], number);
  }
  return { counts, failedAt, writesAfter, endedAt };
}
