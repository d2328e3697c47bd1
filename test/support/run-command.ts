import { spawn, type ChildProcess } from "node:child_process";

export interface Finished {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  /** Resolves when standard output contains `text`. */
  printed(text: string): Promise<void>;
  finished: Promise<Finished>;
}

export function startCommand(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Running {
  const child = spawn(command, args, { cwd, env: { ...process.env, NO_COLOR: "1", ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  const printed = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stdout.includes(text)) resolve();
      };
      child.stdout.on("data", look);
      child.once("close", () => reject(new Error(`ended without printing ${text}: ${stdout}${stderr}`)));
      look();
    });
  return { child, printed, finished };
}

export function runCommand(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  return startCommand(command, args, cwd, env).finished;
}
