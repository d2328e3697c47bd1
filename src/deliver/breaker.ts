import type { Suspension } from "../domain/suspension.ts";
import type { Mode } from "../domain/target.ts";
import { createPace, loadPace, noteBad, noteGood, startRamp, stopMeasuring, type Pace } from "./pace.ts";

/**
 * Whether a destination is well. Closed is shown as NORMAL, open as QUEUE: while it is open, deliveries are kept and
 * one probe at a time finds out whether the destination is back.
 */

export interface BreakerState {
  isOpen: boolean;
  /** Endpoint failures in a row, those of health checks among them. */
  failures: number;
  /** Of these, the failed checks: a check that succeeds takes back no more than they said. */
  failedChecks: number;
  /** An operator has decided: nothing else changes the mode. */
  forced: Mode | undefined;
  /** When and why it came into its mode; undefined when it was never in another. */
  changedAt: number | undefined;
  reason: string | undefined;
  openedAt: number;
  /** While open: when the next probe may go. */
  probeAt: number;
  /** Probes that failed since it opened. */
  failedProbes: number;
  /** When it last took something; undefined when it never did. */
  tookAt: number | undefined;
  /** When it last came out of QUEUE, and how often it went back there soon after. */
  closedAt: number | undefined;
  relapses: number;
  /** How long it was in QUEUE the last time. */
  awayMs: number;
  /** How fast it is sent to while it is not in QUEUE. */
  pace: Pace;
  /** How long an attempt takes, whatever it comes to: a moving average; undefined before the first. */
  attemptMs: number | undefined;
  /** The subscription is paused or suspended: the time does not count. */
  isHeld: boolean;
  lastError: string | undefined;
  /** Deliveries that died in a row, without a success between them. */
  deadInARow: number;
  /** That it will be suspended if nothing changes was told. */
  isWarned: boolean;
  /** Since the last success something failed that is not an event of the gateway itself: what follows is told. */
  failedOthers: boolean;
  /** Why the subscription was suspended; of its own breaker only. */
  suspension: Suspension | undefined;
  /** That it opened was told, so that it closed must be told as well. */
  isOpeningTold: boolean;
}

export const BREAKER = {
  failuresToOpen: 3,
  /** So many in a row are no chance, even where something was taken a moment ago. */
  failuresInAnyCase: 100,
  /** Whoever took something since is not down: among many, three in a row fail by chance. */
  sureAfterMs: 3_000,
  firstProbeMs: 1_000,
  maxProbeMs: 60_000,
  /** Back in QUEUE so soon, it was not really back: probes go on where they were, and what flows starts lower. */
  relapseMs: 60_000,
  maxRelapses: 6,
  slowStartMinPerS: 10,
} as const;

/** What takes longer on average holds up others. */
export const PROMPT_MS = 500;
/** One that takes long among quick ones changes little, a few in a row much. */
const MAX_COUNTED_MS = 4 * PROMPT_MS;
const ATTEMPT_WEIGHT = 1 / 8;

/** `still`: it was open before, and a probe or a check has failed. */
export type BreakerChange = "opened" | "closed" | "still" | undefined;

export function createBreakerState(now: number): BreakerState {
  return {
    isOpen: false,
    failures: 0,
    failedChecks: 0,
    forced: undefined,
    changedAt: undefined,
    reason: undefined,
    openedAt: 0,
    probeAt: 0,
    failedProbes: 0,
    tookAt: undefined,
    closedAt: undefined,
    relapses: 0,
    awayMs: 0,
    pace: createPace(now),
    attemptMs: undefined,
    isHeld: false,
    lastError: undefined,
    deadInARow: 0,
    isWarned: false,
    failedOthers: false,
    suspension: undefined,
    isOpeningTold: false,
  };
}

/** As it was saved, perhaps by an earlier version. */
export function loadBreakerState(saved: string, now: number): BreakerState {
  const { averagePerS, ...state } = JSON.parse(saved) as Partial<BreakerState> & { averagePerS?: number };
  const pace = loadPace(state.pace ?? { usualPerS: averagePerS ?? 0, averagePerS: averagePerS ?? 0 }, now);
  return { ...createBreakerState(now), ...state, pace };
}

/** Also for an answer that says nothing against the destination, such as a 400: it is reachable. */
export function noteSuccess(state: BreakerState, now: number): BreakerChange {
  state.failures = 0;
  state.failedChecks = 0;
  noteTaken(state, now);
  if (!state.isOpen) return undefined;
  closeBreaker(state, now, "it answers again");
  startSlowly(state, now, BREAKER.slowStartMinPerS);
  return "closed";
}

/** It took something, whatever follows from it. */
export function noteTaken(state: BreakerState, now: number): void {
  state.tookAt = now;
  noteGood(state.pace, now);
}

export function closeBreaker(state: BreakerState, now: number, reason: string): void {
  // Not from `openedAt`, which begins anew when its subscription is resumed.
  state.awayMs = now - (state.changedAt ?? state.openedAt);
  state.isOpen = false;
  state.changedAt = now;
  state.closedAt = now;
  state.reason = reason;
  state.failedProbes = 0;
  state.lastError = undefined;
}

/** For a while at most what it is used to, and a little more: not for long when it was away for a moment only. */
export function startSlowly(state: BreakerState, now: number, minPerS: number, awayMs = state.awayMs): void {
  startRamp(state.pace, now, { awayMs, relapses: state.relapses, minPerS });
}

export function openBreaker(state: BreakerState, now: number, reason: string, jitter: number): void {
  const isRelapse = state.closedAt !== undefined && now - state.closedAt < BREAKER.relapseMs;
  state.relapses = isRelapse ? Math.min(BREAKER.maxRelapses, state.relapses + 1) : 0;
  state.isOpen = true;
  state.changedAt = now;
  state.reason = reason;
  state.openedAt = now;
  state.failedProbes = state.relapses;
  stopMeasuring(state.pace, now);
  state.probeAt = now + probeDelayMs(state.failedProbes, jitter);
}

export interface Failure {
  now: number;
  error: string;
  /** Uniform in [0, 1). */
  jitter: number;
  /** While it is open, only a probe says something new. */
  isProbe: boolean;
  /** How many in a row open it; as usual when not given. */
  failuresToOpen?: number;
}

export function noteFailure(state: BreakerState, failure: Failure): BreakerChange {
  const { now, error, jitter, isProbe, failuresToOpen = BREAKER.failuresToOpen } = failure;
  state.failures++;
  state.lastError = error;
  noteBad(state.pace, now, state.failures);
  if (state.isOpen) {
    // What was in flight when it opened proves nothing new.
    if (!isProbe) return undefined;
    state.failedProbes++;
    state.probeAt = now + probeDelayMs(state.failedProbes, jitter);
    return "still";
  }
  if (!isDown(state, now, failuresToOpen)) return undefined;
  openBreaker(state, now, error, jitter);
  return "opened";
}

/** One that is sent to a lot fails three times in a row by chance, and takes the next: it must have taken nothing for a while. */
function isDown({ failures, failedChecks, tookAt }: BreakerState, now: number, failuresToOpen: number): boolean {
  if (failures < failuresToOpen) return false;
  if (tookAt === undefined || now - tookAt >= BREAKER.sureAfterMs) return true;
  return failedChecks >= failuresToOpen || failures >= Math.max(failuresToOpen, BREAKER.failuresInAnyCase);
}

export function noteDuration(state: BreakerState, durationMs: number): void {
  const countedMs = Math.min(durationMs, MAX_COUNTED_MS);
  const beforeMs = state.attemptMs ?? countedMs;
  state.attemptMs = beforeMs + ATTEMPT_WEIGHT * (countedMs - beforeMs);
}

/** Whoever has never answered is taken for slow. */
export function isSlow({ attemptMs }: BreakerState): boolean {
  return attemptMs === undefined || attemptMs >= PROMPT_MS;
}

/** A delivery that died of what the destination said of it. `failing`: half of the way to a suspension, told once. */
export function noteDead(state: BreakerState, limit: number | undefined): "failing" | "exhausted" | undefined {
  state.deadInARow++;
  if (limit === undefined) return undefined;
  if (state.deadInARow > limit) return "exhausted";
  return state.deadInARow >= limit / 2 ? warnOnce(state) : undefined;
}

/** How long it may be open: whether half of that, or all of it, is over. */
export function noteStillOpen(
  state: BreakerState,
  openMs: number,
  limitMs: number | undefined,
): "failing" | "exhausted" | undefined {
  if (limitMs === undefined) return undefined;
  if (openMs >= limitMs) return "exhausted";
  return openMs >= limitMs / 2 ? warnOnce(state) : undefined;
}

/** Whether there is something to forget. */
export function noteDelivered(state: BreakerState): boolean {
  state.failedOthers = false;
  if (state.deadInARow === 0 && !state.isWarned) return false;
  state.deadInARow = 0;
  state.isWarned = false;
  return true;
}

function warnOnce(state: BreakerState): "failing" | undefined {
  if (state.isWarned) return undefined;
  state.isWarned = true;
  return "failing";
}

/**
 * Whether it is to be told that it opened. Once for each failure of what is not the gateway's own: else the news of an
 * opening, failing at the same destination, would be the cause of the next one.
 */
export function takeOpeningNews(state: BreakerState): boolean {
  state.isOpeningTold = state.failedOthers;
  state.failedOthers = false;
  return state.isOpeningTold;
}

/** Whether it is to be told that it closed. */
export function takeClosingNews(state: BreakerState): boolean {
  const wasTold = state.isOpeningTold;
  state.isOpeningTold = false;
  return wasTold;
}

/** A probe that said nothing about the destination: the next one must not follow at once. */
export function postponeProbe(state: BreakerState, now: number, jitter: number): void {
  state.probeAt = now + probeDelayMs(state.failedProbes, jitter);
}

/** Sending goes on after it was paused or suspended: the destination gets its whole time again. */
export function resumeBreaker(state: BreakerState, now: number): void {
  if (state.isHeld && state.isOpen) {
    state.openedAt = now;
    state.failedProbes = 0;
    state.probeAt = now;
  }
  if (state.isHeld) noteDelivered(state);
  state.isHeld = false;
  state.suspension = undefined;
}

function probeDelayMs(failedProbes: number, jitter: number): number {
  const step = Math.min(BREAKER.maxProbeMs, BREAKER.firstProbeMs * 2 ** failedProbes);
  return step * (1 + 0.2 * jitter);
}
