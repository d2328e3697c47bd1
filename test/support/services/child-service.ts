// What services that run as child processes have in common.
import { spawn, type ChildProcess } from "node:child_process";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const POLL_MS = 50;
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

/** Until something on loopback takes connections there. Rejects when the child ends before. */
export async function untilListening(port: number, child: ChildProcess, output: () => string): Promise<void> {
  while (!(await takesConnections(port))) {
    if (hasEnded(child)) throw new Error(`${child.spawnargs.join(" ")} has ended: ${output()}`);
    await wait(POLL_MS);
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const tell = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => tell(true)).once("error", () => tell(false));
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
