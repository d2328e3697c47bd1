// What Linux shows of processes in /proc: what a process and those below it have used, and where they listen. Elsewhere
// nothing is known.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const MS_PER_TICK = 10;
/** The state of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

export interface ProcessStat {
  pid: number;
  parent: number;
  cpuMs: number;
  /** Of its children that have ended. */
  endedChildrenMs: number;
}

export function readProcess(pid: number): ProcessStat | undefined {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name of the process, in parentheses, may hold spaces. The first field after it is the third of all.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ms = (number: number) => Number(fields[number - 3]) * MS_PER_TICK;
  return { pid, parent: Number(fields[1]), cpuMs: ms(14) + ms(15), endedChildrenMs: ms(16) + ms(17) };
}

/** The CPU time of a process and all below it, also of those that have ended. */
export function readTreeCpuMs(root: number): number {
  return readTree(root).reduce((sum, { cpuMs, endedChildrenMs }) => sum + cpuMs + endedChildrenMs, 0);
}

/**
 * Who listens at this port: a process or one below it ("own"), another one, or nobody (any more); undefined where that is
 * not known.
 */
export function findListener(root: number, port: number): "own" | "other" | "nobody" | undefined {
  if (process.platform !== "linux") return undefined;
  const before = findListening(port);
  const opened = readTree(root).map(({ pid }) => listOpenFiles(pid));
  if (before.some((socket) => opened.some((files) => files?.includes(socket)))) return "own";
  if (opened.includes(undefined)) return undefined;
  // Some only try whether a port is free, and close it again while this looks.
  return findListening(port).some((socket) => before.includes(socket)) ? "other" : "nobody";
}

function readTree(root: number): ProcessStat[] {
  const all = listPids().flatMap((pid) => readProcess(pid) ?? []);
  const tree = all.filter(({ pid }) => pid === root);
  // The list grows while it is read.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

function listPids(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function findListening(port: number): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = ["tcp", "tcp6"].flatMap((name) => readOrUndefined(`/proc/net/${name}`)?.split("\n") ?? []);
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === LISTENING && local?.endsWith(`:${hexPort}`) ? [`socket:[${inode}]`] : [];
  });
}

/** Undefined where this process may not know them, or the other one has just ended. */
function listOpenFiles(pid: number): string[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    });
  } catch {
    return undefined;
  }
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
