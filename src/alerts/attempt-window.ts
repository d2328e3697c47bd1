import type { ActiveRule } from "../model/alert.ts";
import type { Clock } from "../model/clock.ts";
import { bucketOf, createHistogram, LATENCY_BUCKETS, quantileOf } from "../model/latency-histogram.ts";

/** The results of each subscription's attempts in the last minutes, in memory. A restart starts empty. */
export type AttemptWindow = ReturnType<typeof createAttemptWindow>;

export interface CountedAttempt {
  durationMs: number;
  isSuccess: boolean;
  isRetry: boolean;
}

export interface AttemptTally {
  attempts: number;
  failures: number;
  retries: number;
  /** The error is at most 5 %. */
  p99Ms: number;
}

/** The window moves on by one slot at a time. */
const SLOTS = 5;
const COUNTS = 3;
const SLOT_LENGTH = COUNTS + LATENCY_BUCKETS;

interface Ring {
  /** The slots, one after the other. */
  readonly counts: Uint32Array;
  /** The number of the slot written last. */
  at: number;
}

function createAttemptWindow(clock: Pick<Clock, "now">, windowMs: number) {
  const slotMs = windowMs / SLOTS;
  const rings = new Map<number, Ring>();
  const startedAt = clock.now();

  function moveOn(ring: Ring, slot: number): void {
    const passed = Math.min(SLOTS, slot - ring.at);
    for (let n = 1; n <= passed; n++) {
      const from = ((ring.at + n) % SLOTS) * SLOT_LENGTH;
      ring.counts.fill(0, from, from + SLOT_LENGTH);
    }
    ring.at = slot;
  }

  function add(counts: Uint32Array, at: number): void {
    counts[at] = (counts[at] as number) + 1;
  }

  return {
    record(subscriptionSeq: number, { durationMs, isSuccess, isRetry }: CountedAttempt): void {
      const slot = Math.floor(clock.now() / slotMs);
      let ring = rings.get(subscriptionSeq);
      if (ring === undefined) {
        ring = { counts: new Uint32Array(SLOTS * SLOT_LENGTH), at: slot };
        rings.set(subscriptionSeq, ring);
      }
      if (slot > ring.at) moveOn(ring, slot);
      const from = (slot % SLOTS) * SLOT_LENGTH;
      add(ring.counts, from);
      if (!isSuccess) add(ring.counts, from + 1);
      if (isRetry) add(ring.counts, from + 2);
      add(ring.counts, from + COUNTS + bucketOf(durationMs));
    },
    /** The subscriptions that had attempts in the window. */
    read(): ReadonlyMap<number, AttemptTally> {
      const slot = Math.floor(clock.now() / slotMs);
      const tallies = new Map<number, AttemptTally>();
      for (const [seq, ring] of rings) {
        if (slot > ring.at) moveOn(ring, slot);
        const tally = sumUp(ring.counts);
        if (tally.attempts === 0) rings.delete(seq);
        else tallies.set(seq, tally);
      }
      return tallies;
    },
    /** Whether it has been counting for the whole length of the window. */
    get isFull() {
      return clock.now() - startedAt >= windowMs;
    },
  };
}

/** One window for each length that a rule needs; most rules share one. */
export function createAttemptWindows(clock: Pick<Clock, "now">) {
  const byLength = new Map<number, AttemptWindow>();
  return {
    byLength,
    record(subscriptionSeq: number, attempt: CountedAttempt): void {
      for (const window of byLength.values()) window.record(subscriptionSeq, attempt);
    },
    /** Removes windows that no rule needs any more. */
    watch(rules: readonly Pick<ActiveRule, "isEnabled" | "windowS">[]): void {
      const wanted = new Set(rules.flatMap(({ isEnabled, windowS }) => (isEnabled && windowS ? [windowS] : [])));
      for (const length of byLength.keys()) if (!wanted.has(length)) byLength.delete(length);
      for (const length of wanted) {
        if (!byLength.has(length)) byLength.set(length, createAttemptWindow(clock, length * 1000));
      }
    },
  };
}

function sumUp(counts: Uint32Array): AttemptTally {
  const histogram = createHistogram();
  const sums = [0, 0, 0];
  for (let from = 0; from < counts.length; from += SLOT_LENGTH) {
    for (let n = 0; n < COUNTS; n++) sums[n] = (sums[n] as number) + (counts[from + n] as number);
    for (let n = 0; n < LATENCY_BUCKETS; n++) {
      histogram[n] = (histogram[n] as number) + (counts[from + COUNTS + n] as number);
    }
  }
  const [attempts = 0, failures = 0, retries = 0] = sums;
  return { attempts, failures, retries, p99Ms: quantileOf(histogram, 0.99) ?? 0 };
}
