import type { Clock } from "../model/clock.ts";

/** Wakes those that wait for something to happen. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, or when `waitMs` have passed. */
  wait(waitMs: number): Promise<void>;
}

export function createBell(clock: Clock): Bell {
  const waiting = new Set<() => void>();
  return {
    ring() {
      for (const wake of waiting) wake();
    },
    wait: (waitMs) =>
      new Promise((resolve) => {
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
