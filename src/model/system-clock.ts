import { randomFillSync } from "node:crypto";
import type { Clock, Random } from "./clock.ts";

/** Real time and real randomness. */

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
