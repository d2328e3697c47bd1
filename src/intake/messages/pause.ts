import type { Clock } from "../../model/clock.ts";

/** Waits until the time has passed or a signal ends it. */
export function pause(clock: Clock, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimer(clock.now() + ms, end);
    for (const signal of signals) signal.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}

const FIRST_MS = 1000;
const MAX_MS = 60_000;

/** How long to wait after so many failures in a row. */
export function backOffMs(failures: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
}
