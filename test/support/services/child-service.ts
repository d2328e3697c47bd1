// What services that run as child processes have in common.
import { spawn, type ChildProcess } from "node:child_process";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findListener } from "../process-tree.ts";

const POLL_MS = 50;
/** What takes longer to listen does not work, also on a busy machine. */
const PATIENCE_MS = 120_000;
/** On loopback, only what has too much to do takes longer to accept a connection. */
const CONNECT_MS = 5_000;
const KEEPER = fileURLToPath(new URL("./keeper.mjs", import.meta.url));

/** Starts it so that it ends with this process, however this one ends, and does not keep it from ending. */
export function startService(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; output?: number; cwd?: string } = {},
): ChildProcess {
  const { env, output = "ignore", cwd } = options;
  const child = spawn(process.execPath, [KEEPER, command, ...args], {
    ...(env !== undefined && { env }),
    ...(cwd !== undefined && { cwd }),
    stdio: ["pipe", output, output],
    detached: true,
  });
  child.unref();
  (child.stdin as unknown as Socket).unref();
  return child;
}

/** Another process has a port that a service was to have. */
export class PortTaken extends Error {}

/** Starts it once more, with ports of its own choice, when another process took one of the first. */
export async function startOnFreePorts<Service>(start: () => Promise<Service>): Promise<Service> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof PortTaken) return start();
    throw error;
  }
}

/**
 * Until the child accepts connections at all these ports of loopback. Rejects with its output when it ends before, or when
 * it does not listen in time.
 */
export async function untilListening(
  child: ChildProcess,
  ports: readonly number[],
  output: () => string,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const command = child.spawnargs.slice(2).join(" ");
  const deadline = performance.now() + patienceMs;
  for (const port of ports) {
    while (!(await isListening(child, port))) {
      if (hasEnded(child)) break;
      if (performance.now() > deadline) {
        throw new Error(`${command} does not listen at port ${port} after ${patienceMs / 1000} s: ${output()}`);
      }
      await wait(POLL_MS);
    }
  }
  if (!hasEnded(child)) return;
  for (const port of ports) if (await acceptsConnections(port)) throw new PortTaken(takenBy(child, port));
  throw new Error(`${command} has ended: ${output()}`);
}

async function isListening(child: ChildProcess, port: number): Promise<boolean> {
  if (!(await acceptsConnections(port))) return false;
  const listener = child.pid === undefined ? undefined : findListener(child.pid, port);
  if (listener === "other" && !hasEnded(child)) throw new PortTaken(takenBy(child, port));
  return listener !== "nobody";
}

function takenBy(child: ChildProcess, port: number): string {
  return `port ${port}, which ${child.spawnargs.slice(2).join(" ")} was to have, belongs to another process`;
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (isAccepted: boolean) => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
    socket.setTimeout(CONNECT_MS, () => end(false));
  });
}

/** Resolves when it is gone, with all its children. */
export async function endService(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.pid === undefined) return;
  const gone = new Promise((resolve) => (hasEnded(child) ? resolve(undefined) : child.once("exit", resolve)));
  child.ref();
  send(-child.pid, signal);
  await gone;
  while (send(-child.pid, 0)) await wait(POLL_MS);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function send(target: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}
