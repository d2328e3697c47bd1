import { spawn } from "node:child_process";

/** A command that a page leaves running in a terminal of its own. */
export interface Terminal {
  /** When it says that it listens. */
  readonly ready: Promise<void>;
  output(): string;
  /** As Ctrl+C does: the command and all that it has started. */
  stop(): Promise<void>;
}

export function startTerminal(script: string, cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const child = spawn("bash", ["--noprofile", "--norc", "-c", script], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let hasEnded = false;
  const closed = new Promise<void>((resolve) =>
    child.once("close", () => {
      hasEnded = true;
      resolve();
    }),
  );
  const ready = new Promise<void>((resolve, reject) => {
    const take = (chunk: string) => {
      output += chunk;
      if (/\blisten(?:s|ing)\b/.test(output)) resolve();
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    void closed.then(() => reject(new Error(`ended before it listened:\n${output}`)));
  });
  return {
    ready,
    output: () => output,
    async stop() {
      if (!hasEnded && child.pid !== undefined) interruptGroup(child.pid);
      await closed;
    },
  };
}

function interruptGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGINT");
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
