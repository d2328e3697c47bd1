// The built command line as a process of its own, in an empty folder and with nothing of ours in its environment.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand, startCommand, type Finished, type Running } from "./run-command.ts";
import { PROJECT_ROOT } from "./sample-checkout.ts";

export const LAUNCHER = join(PROJECT_ROOT, "bin/posthorn.js");

/** Short of the cores that several processes share in a test; shedding has tests of its own. */
export const NO_SHEDDING = { POSTHORN_MAX_LOOP_LAG_MS: "60000" };

export interface CliFolder {
  path: string;
  /** Set for every command that runs here. */
  env: Record<string, string>;
  run(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Finished>;
  start(args: readonly string[], env?: NodeJS.ProcessEnv): Running;
  /** `posthorn start` on a free port; resolves when it listens. */
  startGateway(args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<RunningGateway>;
  /** Ends what still runs, and the folder. */
  remove(): Promise<void>;
}

export interface RunningGateway extends Running {
  url: string;
  /** Sends the signal and resolves when the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export async function openCliFolder(): Promise<CliFolder> {
  const path = await mkdtemp(join(tmpdir(), "posthorn-cli-"));
  const running = new Set<Running>();
  const own: Record<string, string> = {};

  const environment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...withoutOwnSettings(), ...own, ...env });

  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const command = startCommand(process.execPath, [LAUNCHER, ...args], path, environment(env));
    running.add(command);
    void command.finished.finally(() => running.delete(command));
    return command;
  }

  return {
    path,
    env: own,
    start,
    run: (args, env = {}) => runCommand(process.execPath, [LAUNCHER, ...args], path, environment(env)),
    async startGateway(args = [], env = {}) {
      const command = start(["start", "--port", "0", ...args], { ...NO_SHEDDING, ...env });
      await command.printed("gateway is listening");
      const url = /"url":"([^"]+)"/.exec(command.output().stdout)?.[1] ?? "";
      return {
        ...command,
        url,
        stop(signal = "SIGTERM") {
          command.child.kill(signal);
          return command.finished;
        },
      };
    },
    async remove() {
      const left = [...running];
      for (const { child } of left) child.kill("SIGKILL");
      await Promise.all(left.map(({ finished }) => finished));
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** The environment of the tests with their own settings undefined, which a process then does not get. */
export function withoutOwnSettings(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => name.startsWith("POSTHORN_"));
  return { ...process.env, ...Object.fromEntries(names.map((name) => [name, undefined])) };
}
