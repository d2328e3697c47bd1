import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readEnvironment, type Environment } from "../config/environment.ts";

/** All that a command reads from and writes to outside of its arguments. A program may run several at once. */
export interface Surroundings {
  readonly stdout: Output;
  readonly stderr: Output;
  /** The whole of standard input. */
  readStdin(): Buffer<ArrayBuffer>;
  /** For dialogues. Once this is open, the whole can no longer be read at once. */
  openStdin(): NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Environment;
  /** The folder that paths are relative to. */
  readonly cwd: string;
  readonly signals: Signals;
  /** The gateway that the command asks, once it does. */
  readonly asked: { url?: string };
}

export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Signal = "SIGINT" | "SIGTERM";

interface Signals {
  once(signal: Signal, act: () => void): unknown;
  off(signal: Signal, act: () => void): unknown;
}

const STDIN = 0;

export const OF_PROCESS: Surroundings = {
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  readStdin: () => readFileSync(STDIN),
  openStdin: () => process.stdin,
  get env() {
    return readEnvironment();
  },
  get cwd() {
    return process.cwd();
  },
  signals: process,
  asked: {},
};

const ofCommand = new AsyncLocalStorage<Surroundings>();
let ofProcess = OF_PROCESS;

export function runIn<Result>(surroundings: Surroundings, run: () => Promise<Result>): Promise<Result> {
  return ofCommand.run(surroundings, run);
}

/** For the only command of a process: a gateway would be slower while its asynchronous calls are followed. */
export function runAlone<Result>(surroundings: Surroundings, run: () => Promise<Result>): Promise<Result> {
  ofProcess = surroundings;
  return run();
}

/** Of the command that runs here; what listens to signals has none, and only ends the wait of its command. */
export function getSurroundings(): Surroundings {
  return ofCommand.getStore() ?? ofProcess;
}

/** A path as it was typed. */
export function resolvePath(path: string): string {
  return resolve(getSurroundings().cwd, path);
}
