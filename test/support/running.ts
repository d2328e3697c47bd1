/** What was begun and is awaited later: what fails before that is nobody's unhandled rejection. */
export interface Running {
  add(begun: Promise<unknown>): void;
  /** Resolves when all of it has ended; rejects then when some of it failed. */
  ended(): Promise<void>;
}

export function createRunning(): Running {
  const all: Promise<unknown>[] = [];
  return {
    add(begun) {
      begun.catch(() => undefined);
      all.push(begun);
    },
    async ended() {
      await Promise.allSettled(all);
      await Promise.all(all);
    },
  };
}
