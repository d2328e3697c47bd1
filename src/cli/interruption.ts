import { CommandFailure, EXIT_INTERRUPTED, ReportedFailure } from "./failure.ts";
import { getSurroundings, type Signal } from "./surroundings.ts";

/** What a command does when it is told to end. The same signal again ends the process at once. */

interface Interruption {
  readonly signal: AbortSignal;
  close(): void;
}

export function openInterruption(names: readonly Signal[] = ["SIGINT", "SIGTERM"]): Interruption {
  const { signals } = getSurroundings();
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const name of names) signals.once(name, abort);
  return {
    signal: controller.signal,
    close() {
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
export async function runUntilInterrupted<T>(run: (signal: AbortSignal) => Promise<T>, tell: () => void): Promise<T> {
  const { signal, close } = openInterruption(["SIGINT"]);
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new ReportedFailure(EXIT_INTERRUPTED)));
  });
  try {
    return await Promise.race([run(signal), interrupted]);
  } catch (error) {
    if (signal.aborted) tell();
    throw error;
  } finally {
    close();
  }
}
