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

/** Whether a process or one below it listens at this port; undefined where that is not known. */
export function doesListen(root: number, port: number): boolean | undefined {
  const sockets = findListening(port).map((inode) => `socket:[${inode}]`);
  if (sockets.length === 0) return undefined;
  const opened = readTree(root).map(({ pid }) => listOpenFiles(pid));
  if (opened.some((files) => files?.some((file) => sockets.includes(file)))) return true;
  return opened.includes(undefined) ? undefined : false;
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
    return state === LISTENING && local?.endsWith(`:${hexPort}`) && inode !== undefined ? [inode] : [];
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
