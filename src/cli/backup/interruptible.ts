import { CommandFailure } from "../failure.ts";

/** Runs a long task that cleans up when it is interrupted. */
export async function runInterruptible<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await run(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? new CommandFailure("Interrupted; all temporary files were removed.") : error;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}
