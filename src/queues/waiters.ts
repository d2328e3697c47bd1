import type { Clock } from "../model/clock.ts";

/** Those that wait for something to happen. */
export function createWaiters(clock: Clock) {
  const waiting = new Set<() => void>();
  return {
    wake(): void {
      for (const wake of waiting) wake();
    },
    /** Resolves when all are woken, or when `waitMs` have passed. */
    wait: (waitMs: number) =>
      new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          timer.cancel();
          resolve();
        };
        const timer = clock.setTimer(clock.now() + waitMs, wake);
        waiting.add(wake);
      }),
  };
}
