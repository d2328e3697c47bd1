import { CommandFailure } from "../failure.ts";

/** Runs something long that cleans up behind itself when it is told to end. */
export async function runInterruptible<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await run(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? new CommandFailure("Interrupted; nothing is left behind.") : error;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}
