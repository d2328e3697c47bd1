import type { Clock } from "../model/clock.ts";
import type { Claims } from "./claims.ts";
import type { Lane } from "./lane.ts";

/**
 * Sources that a healthy target does not know: n8n answers 404 for a workflow that is not active. The deliveries of
 * such a source wait for a success of that source, and do not hold up others.
 */
export type MissingSources = ReturnType<typeof createMissingSources>;

export interface MissingSource {
  source: string;
  /** In scheduling time. */
  since: number;
  nextTryAt: number;
  error: string;
}

/** The target may be just starting: the first retries come soon, each after the one before. */
const QUICK_MS = [5_000, 15_000, 30_000, 60_000];
const EVERY_MS = 300_000;
/** When many deliveries wait, at most one a second is tried. */
const PER_MS = 1 / 1000;
const MAX_MS = 3_600_000;

/**
 * Anybody may send to any name, and a name that is not known here costs memory until its deliveries have died. All names
 * beyond this many share one entry.
 */
const MAX_NAMES = 1000;
const OTHERS = "";
/** A retry may begin late. When none has come by then, nothing of the source waits: what did was cancelled or died. */
const LATE_MS = 300_000;

interface Missing extends MissingSource {
  /** Recent misses, and when counting them began. */
  misses: number;
  countedFrom: number;
  /** The latest retry of all waiting deliveries. */
  waitsUntil: number;
}

export function createMissingSources(clock: Clock, hasten: Claims["hasten"]) {
  const lanes = new Map<number, Map<string, Missing>>();

  function bringForward(lane: Lane, source: string): void {
    hasten(lane, { keptOf: source }, (count) => {
      if (count > 0 && lanes.get(lane.seq)?.has(source) !== true) bringForward(lane, source);
    });
  }

  function forget(seq: number, source: string): boolean {
    const sources = lanes.get(seq);
    if (sources?.delete(source) !== true) return false;
    if (sources.size === 0) lanes.delete(seq);
    return true;
  }

  function forgetLate(seq: number, now: number): void {
    for (const { source, waitsUntil } of lanes.get(seq)?.values() ?? []) {
      if (waitsUntil + LATE_MS < now) forget(seq, source);
    }
  }

  function nameIn(seq: number, given: string, now: number): string {
    const isFull = () => (lanes.get(seq)?.size ?? 0) >= MAX_NAMES && lanes.get(seq)?.has(given) !== true;
    if (isFull()) forgetLate(seq, now);
    return isFull() ? OTHERS : given;
  }

  return {
    /** The target does not know the source. Returns how long to wait before the next try. */
    recordMiss(seq: number, given: string, error: string): number {
      const now = clock.now();
      const source = nameIn(seq, given, now);
      const sources = lanes.get(seq) ?? new Map<string, Missing>();
      lanes.set(seq, sources);
      const known = sources.get(source);
      const one = known ?? { source, since: now, nextTryAt: now, error, misses: 0, countedFrom: now, waitsUntil: now };
      if (now - one.countedFrom >= EVERY_MS) {
        one.misses = 0;
        one.countedFrom = now;
      }
      one.misses++;
      one.error = error;
      const delayMs = Math.min(MAX_MS, Math.max(waitAfter(now - one.since), one.misses / PER_MS));
      // The earliest retry of all waiting deliveries.
      one.nextTryAt = one.nextTryAt > now ? Math.min(one.nextTryAt, now + delayMs) : now + delayMs;
      one.waitsUntil = Math.max(one.waitsUntil, now + delayMs);
      sources.set(source, one);
      return delayMs;
    },
    /** The next try of a delivery that was missed; undefined when it died instead. */
    recordNext(seq: number, source: string, nextAttemptAt: number | undefined): void {
      const one = lanes.get(seq)?.get(source);
      if (one === undefined) return;
      if (nextAttemptAt !== undefined) one.waitsUntil = Math.max(one.waitsUntil, nextAttemptAt);
      else if (one.waitsUntil <= clock.now()) forget(seq, source);
    },
    /** The target accepted a delivery of the source. */
    recordAccepted(lane: Lane, source: string): void {
      if (lanes.size > 0 && forget(lane.seq, source)) bringForward(lane, source);
    },
    /** The target is back: all sources may be tried again. */
    wake(lane: Lane): void {
      const sources = lanes.get(lane.seq);
      lanes.delete(lane.seq);
      for (const source of sources?.keys() ?? []) if (source !== OTHERS) bringForward(lane, source);
    },
    /** The subscription was deleted. */
    forget: (seq: number): void => void lanes.delete(seq),
    /** Only sources of which something waits. */
    list(seq: number): readonly MissingSource[] {
      forgetLate(seq, clock.now());
      return [...(lanes.get(seq)?.values() ?? [])].filter(({ source }) => source !== OTHERS);
    },
  };
}

function waitAfter(missingForMs: number): number {
  let at = 0;
  for (const quickMs of QUICK_MS) {
    // Jitter makes a wait longer, never shorter.
    if (missingForMs < at + quickMs) return quickMs;
    at += quickMs;
  }
  return EVERY_MS;
}
