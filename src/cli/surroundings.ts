import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Environment, readEnvironment } from "../config/environment.ts";
import type { ApiClient } from "./api-client.ts";
import { CommandFailure, EXIT_INTERRUPTED, ReportedFailure } from "./failure.ts";

/** All that a command reads from and writes to outside of its arguments. A program may run several at once. */
export interface Surroundings {
  readonly stdout: Output;
  readonly stderr: Output;
  readStdin(): Buffer<ArrayBuffer>;
  /** For dialogues. Once this is open, the whole can no longer be read at once. */
  openStdin(): NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly env: Environment;
  /** Some of the variables are from this file. */
  readonly envFile?: string | undefined;
  readonly cwd: string;
  readonly signals: Signals;
  /** Connected to the gateway, once the command needs it. */
  readonly asked: { client?: ApiClient };
}

export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Signal = "SIGINT" | "SIGTERM";

interface Signals {
  once(signal: Signal, action: () => void): unknown;
  off(signal: Signal, action: () => void): unknown;
}

const STDIN = 0;

export const getProcess = (): Surroundings => ({
  stdout: process.stdout,
  stderr: process.stderr,
  readStdin: () => readFileSync(STDIN),
  openStdin: () => process.stdin,
  env: readEnvironment(),
  cwd: process.cwd(),
  signals: process,
  asked: {},
});

const ofCommand = new AsyncLocalStorage<Surroundings>();
let ofProcess: Surroundings | undefined;

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
  return ofCommand.getStore() ?? (ofProcess ??= getProcess());
}

export function resolvePath(path: string): string {
  return resolve(getSurroundings().cwd, path);
}

/** What a command does when a signal ends it. The same signal again ends the process at once. */
export function openInterruption(names: readonly Signal[] = ["SIGINT", "SIGTERM"]) {
  const { signals } = getSurroundings();
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const name of names) signals.once(name, abort);
  return {
    signal: controller.signal,
    close(): void {
      for (const name of names) signals.off(name, abort);
    },
  };
}

/** Runs a long task that cleans up when it is interrupted. */
export async function runInterruptible<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, close } = openInterruption();
  try {
    return await run(signal);
  } catch (error) {
    throw signal.aborted ? new CommandFailure("Interrupted; all temporary files were removed.") : error;
  } finally {
    close();
  }
}

/** Ctrl+C ends the command without waiting for the answer that it is waiting for: the gateway goes on by itself. */
export async function runUntilInterrupted<T>(
  run: (signal: AbortSignal) => Promise<T>,
  onInterrupted: () => void,
): Promise<T> {
  const { signal, close } = openInterruption(["SIGINT"]);
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new ReportedFailure(EXIT_INTERRUPTED)));
  });
  try {
    return await Promise.race([run(signal), interrupted]);
  } catch (error) {
    if (signal.aborted) onInterrupted();
    throw error;
  } finally {
    close();
  }
}
