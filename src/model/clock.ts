/** Time and randomness are always passed in, so that a whole gateway can run in virtual time with a seed. */
export interface Clock {
  /** Unix milliseconds as the rest of the world sees them; may jump when the machine's clock is set. */
  wall(): number;
  /** Unix milliseconds for scheduling: never goes backwards, follows `wall()` only slowly. */
  now(): number;
  /** Calls `run` once at or after `at` (in `now()` time). The timer never keeps the process alive. */
  setTimer(at: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Fills and returns `length` random bytes; cryptographically strong outside of simulations. */
  bytes(length: number): Uint8Array;
}
