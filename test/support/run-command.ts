import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";

export interface Finished {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  /** Resolves when what it printed (on standard output, if not told otherwise) contains `text`. */
  printed(text: string, stream?: "stdout" | "stderr"): Promise<void>;
  output(): { stdout: string; stderr: string };
  finished: Promise<Finished>;
}

export function startCommand(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  /** A descriptor of ours that it gets as its descriptor 3. */
  handedOver?: number,
): Running {
  const extra = handedOver === undefined ? [] : [handedOver];
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["pipe", "pipe", "pipe", ...extra],
  }) as ChildProcessWithoutNullStreams;
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  const output = () => ({ stdout, stderr });
  const printed = (text: string, stream: "stdout" | "stderr" = "stdout"): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (output()[stream].includes(text)) resolve();
      };
      child[stream].on("data", look);
      child.once("close", () => reject(new Error(`ended without printing ${text}: ${stdout}${stderr}`)));
      look();
    });
  return { child, printed, output, finished };
}

export function runCommand(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  return startCommand(command, args, cwd, env).finished;
}
