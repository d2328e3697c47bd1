import { randomFillSync } from "node:crypto";

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

export interface SystemClockOptions {
  /** The start of `now()`; the wall clock by default. */
  startAt?: number;
  wall?: () => number;
  /** Milliseconds since any origin; never goes backwards. */
  monotonic?: () => number;
  setTimeout?: (run: () => void, delayMs: number) => unknown;
  clearTimeout?: (handle: unknown) => void;
}

/** `now()` runs at 0.9 to 1.1 times the true speed until it matches the wall clock again. */
const MAX_SLEW = 0.1;
/** Long waits are split, so that a timer set before the speed changed is at most 6 s late, and none exceeds 2^31 ms. */
const MAX_WAIT_MS = 60_000;

export function createSystemClock(options: SystemClockOptions = {}): Clock {
  const wall = options.wall ?? Date.now;
  const monotonic = options.monotonic ?? (() => performance.now());
  const arm = options.setTimeout ?? ((run: () => void, delayMs: number) => setTimeout(run, delayMs).unref());
  const disarm = options.clearTimeout ?? ((handle: unknown) => clearTimeout(handle as NodeJS.Timeout));

  let lastMonotonic = monotonic();
  let current = options.startAt ?? wall();

  function now(): number {
    const reading = monotonic();
    const elapsedMs = reading - lastMonotonic;
    if (elapsedMs > 0) {
      lastMonotonic = reading;
      current += elapsedMs;
      const maxShiftMs = elapsedMs * MAX_SLEW;
      current += Math.max(-maxShiftMs, Math.min(maxShiftMs, wall() - current));
    }
    return Math.floor(current);
  }

  return {
    wall,
    now,
    setTimer(at, run) {
      const waitMs = () => Math.max(0, Math.min(at - now(), MAX_WAIT_MS));
      const wake = () => {
        if (now() < at) handle = arm(wake, waitMs());
        else run();
      };
      let handle = arm(wake, waitMs());
      return { cancel: () => disarm(handle) };
    },
  };
}

const RANDOM_BLOCK_BYTES = 4096;

export function createSystemRandom(): Random {
  const block = new Uint8Array(RANDOM_BLOCK_BYTES);
  let offset = RANDOM_BLOCK_BYTES;
  return {
    next: Math.random,
    bytes(length) {
      if (length > RANDOM_BLOCK_BYTES / 4) return randomFillSync(new Uint8Array(length));
      if (offset + length > RANDOM_BLOCK_BYTES) {
        randomFillSync(block);
        offset = 0;
      }
      const drawn = block.slice(offset, offset + length);
      // These bytes may become a secret, so no second copy is kept.
      block.fill(0, offset, offset + length);
      offset += length;
      return drawn;
    },
  };
}

/** A task that runs again and again. Two rounds never run at the same time. */
export interface Rounds {
  /** Call it when `everyMs` may have become shorter. */
  reschedule(): void;
  /** Resolves when no round is running and none will start. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  clock: Clock;
  /** The time from the end of one round to the start of the next; a function is called each time. */
  everyMs: number | (() => number);
  run: () => void | Promise<void>;
  /** Not called after `stop`: a round may then fail only because something it uses was closed. */
  onFault: (error: unknown) => void;
}

export function startRounds({ clock, everyMs, run, onFault }: RoundsOptions): Rounds {
  let timer: Timer | undefined;
  let round: Promise<void> | undefined;
  let isStopped = false;

  async function runOnce(): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!isStopped) onFault(error);
    }
    round = undefined;
    schedule();
  }

  function schedule(): void {
    timer?.cancel();
    if (isStopped || round !== undefined) return;
    const waitMs = typeof everyMs === "number" ? everyMs : everyMs();
    timer = clock.setTimer(clock.now() + waitMs, () => {
      round = runOnce();
    });
  }
  schedule();

  return {
    reschedule: schedule,
    async stop() {
      isStopped = true;
      timer?.cancel();
      await round;
    },
  };
}

/** Runs one change after the other: each sees the result of the one before, and a failure does not block the next. */
export function createTurns(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return turn;
  };
}
