/**
 * How fast deliveries go to a destination: without limit while it accepts most of them; at twice the rate it accepts
 * when most of them fail; slower when it answers 429; and slowly at first after it was down.
 */
type PaceState = ReturnType<typeof createPace>;
/** Written only by the functions of this file. */
export type Pace = Readonly<PaceState>;

export const PACE = {
  windowMs: 500,
  /** When more than half fail: at most this many attempts for each success. */
  perGood: 2,
  /** Fewer attempts in a second are too few to calculate a share. */
  enough: 20,
  bestFades: 0.9,
  /**
   * After this time it is decided whether reducing the rate helped, by this much; if not, it is not tried again for a
   * while.
   */
  decideAfterMs: 1_500,
  helps: 1.15,
  uncutMs: 30_000,
  /** Growth of the rate in each window without a 429. */
  growth: Math.SQRT2,
  /** After this many failures in a row, and again after as many, the number in flight is halved. */
  failuresToHalve: 10,
  minShare: 1 / 1024,
  /**
   * After more failures there is a rest before each attempt: this soon shows whether the target is down, and costs few
   * tries.
   */
  failuresToRest: 60,
  restMs: 50,
  averageOverMs: 60_000,
  usualHalvesInMs: 600_000,
  minUsualPerS: 5,
  /** A slow start begins with this part of the usual rate, but not below `minUsualPerS`. */
  rampFrom: 1 / 16,
  minRampPerS: 1,
  /** Less than two: the usual rate is an estimate, and at most twice the usual rate is promised. */
  rampMax: 1.9,
  longRampMs: 60_000,
  shortRampMs: 5_000,
  /**
   * After a 429: the part of the rate that remains, the part when nothing at all was accepted, and the growth near the
   * limit.
   */
  afterLimit: 0.7,
  afterRejection: 0.5,
  growthNearLimit: 1.1,
  nearLimitMs: 10_000,
  minPerS: 1 / 60,
  maxHoldMs: 3_600_000,
  /** How many attempts may begin at once, as a part of the rate per second. */
  burst: 0.05,
} as const;

/** Windows without any attempt: a rate that is still finite after so many is set on purpose. */
const MAX_SILENT_WINDOWS = 64;
/** Tolerates rounding errors; otherwise a lane could wake a moment too early again and again. */
const ROUNDING = 0.0005;

export function createPace(now: number) {
  return {
    /** Attempts per second; infinite while nothing limits them. */
    perS: Number.POSITIVE_INFINITY,
    /** The part of each lane's concurrency that may be in flight. */
    share: 1,
    /** The usual number of successful deliveries per second: the highest recent average. */
    usualPerS: 0,
    averagePerS: 0,
    /** Whether successes count for `usualPerS`: not while the target is down or while the rate is limited on purpose. */
    isMeasuring: true,
    /** Until then `perS` stays below `rampMaxPerS`; 0 when there is no slow start. */
    rampUntil: 0,
    rampMaxPerS: 0,
    /** The destination asked to get nothing before this time. */
    heldUntil: 0,
    /** After many failures in a row: a short rest before the next attempt. */
    restUntil: 0,
    /** When the destination last answered 429; -1 when no limit is known. */
    limitedAt: -1,
    /** The best of the last few seconds: a second in which the target was down is no measure of its capacity. */
    bestPerS: 0,
    /** The share of accepted deliveries before the rate was reduced, and since when it is reduced; -1 when it is not. */
    takenBefore: -1,
    cutAt: 0,
    /** Reducing the rate did not help: it is not tried again before this time. */
    uncutUntil: 0,
    /** Counts of the current window and of the one before. */
    windowAt: now,
    good: 0,
    bad: 0,
    limited: 0,
    goodBefore: 0,
    badBefore: 0,
    limitedBefore: 0,
    tokens: 0,
    filledAt: now,
  };
}

/** Loads a saved pace. Infinity is restored here, because JSON cannot express it. */
export function loadPace(saved: Partial<Pace>, now: number): Pace {
  const pace = { ...createPace(now), ...saved, windowAt: now, filledAt: now };
  return { ...pace, perS: saved.perS ?? Number.POSITIVE_INFINITY };
}

export function countGood(pace: PaceState, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.good++;
  pace.restUntil = 0;
  if (pace.share < 1) pace.share = Math.min(1, pace.share * 2);
  // The target accepts deliveries again, after it had rejected even one a minute.
  if (pace.limitedAt >= 0 && pace.perS < PACE.minRampPerS) setRate(pace, firstRate(pace, 0), now);
}

/** `inARow`: the number of failures in a row, this one included. */
export function countBad(pace: PaceState, now: number, inARow: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.bad++;
  if (inARow > 0 && inARow % PACE.failuresToHalve === 0) pace.share = Math.max(PACE.minShare, pace.share / 2);
  if (inARow >= PACE.failuresToRest) pace.restUntil = now + PACE.restMs;
}

/** The destination answered 429, perhaps with a time to wait. */
export function countLimited(pace: PaceState, now: number, retryAfterMs: number | undefined): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.limited++;
  if (retryAfterMs !== undefined) {
    pace.heldUntil = Math.max(pace.heldUntil, now + Math.min(retryAfterMs, PACE.maxHoldMs));
  }
  // Once per window: the other attempts in flight only say the same.
  if (pace.limited > 1) return;
  const isAccepting = pace.good + pace.goodBefore > 0;
  const sentPerS = pace.perS === Number.POSITIVE_INFINITY ? endedPerS(pace, now) : pace.perS;
  pace.limitedAt = now;
  setRate(pace, Math.max(PACE.minPerS, sentPerS * (isAccepting ? PACE.afterLimit : PACE.afterRejection)), now);
}

function endedPerS(pace: PaceState, now: number): number {
  const ended = pace.good + pace.bad + pace.limited;
  const before = pace.goodBefore + pace.badBefore + pace.limitedBefore;
  const elapsedMs = now - pace.windowAt + (before > 0 ? PACE.windowMs : 0);
  return Math.max(1, ((ended + before) * 1000) / Math.max(PACE.windowMs, elapsedMs));
}

/** The target is down: neither successes nor failures are a measure now. */
export function stopMeasuring(pace: PaceState, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.isMeasuring = false;
  pace.rampUntil = 0;
}

export interface Ramp {
  /** How long the target was down. */
  awayMs: number;
  /** How often the target went down again soon after it came back. */
  relapses: number;
  /** The rate that is always allowed. */
  minPerS: number;
}

/** The target is back: the rate starts low, and for a while stays near the usual rate. */
export function startRamp(pace: PaceState, now: number, { awayMs, relapses, minPerS }: Ramp): void {
  forgetWindows(pace, now);
  pace.isMeasuring = false;
  pace.share = 1;
  pace.heldUntil = 0;
  pace.restUntil = 0;
  pace.limitedAt = -1;
  pace.takenBefore = -1;
  pace.uncutUntil = 0;
  pace.rampUntil = now + (awayMs > 2 * PACE.shortRampMs ? PACE.longRampMs : PACE.shortRampMs);
  pace.rampMaxPerS = Math.max(minPerS, pace.usualPerS * PACE.rampMax);
  pace.tokens = 0;
  pace.filledAt = now;
  setRate(pace, Math.min(pace.rampMaxPerS, firstRate(pace, relapses)), now);
}

/** When the next attempt may begin. */
export function paceOpensAt(pace: PaceState, now: number): number {
  if (isFree(pace)) return now;
  refresh(pace, now);
  if (isHeld(pace, now)) return Math.max(pace.heldUntil, pace.restUntil);
  if (pace.tokens + ROUNDING >= 1) return now;
  return now + Math.ceil(((1 - pace.tokens) * 1000) / pace.perS);
}

/** The current limit in attempts per second; infinite when there is none. */
export function rateAt(pace: PaceState, now: number): number {
  if (!isFree(pace)) refresh(pace, now);
  return pace.perS;
}

/** How many attempts may begin now. */
export function paceAllows(pace: PaceState, now: number): number {
  if (isFree(pace)) return Number.POSITIVE_INFINITY;
  refresh(pace, now);
  if (isHeld(pace, now)) return 0;
  return pace.perS === Number.POSITIVE_INFINITY ? pace.perS : Math.max(0, Math.floor(pace.tokens + ROUNDING));
}

export function takePaceToken(pace: PaceState, now: number): void {
  if (isFree(pace)) return;
  refresh(pace, now);
  pace.tokens -= 1;
}

/** How many attempts of a lane may be in flight. */
export function paceRoom({ share }: Pace, concurrency: number): number {
  return share === 1 ? concurrency : Math.max(1, Math.floor(concurrency * share));
}

function isFree({ perS, heldUntil, restUntil }: Pace): boolean {
  return perS === Number.POSITIVE_INFINITY && heldUntil === 0 && restUntil === 0;
}

function isHeld({ heldUntil, restUntil }: Pace, now: number): boolean {
  return heldUntil > now || restUntil > now;
}

function refresh(pace: PaceState, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  if (pace.heldUntil !== 0 && pace.heldUntil <= now) pace.heldUntil = 0;
  if (pace.restUntil !== 0 && pace.restUntil <= now) pace.restUntil = 0;
  fill(pace, now);
}

function fill(pace: PaceState, now: number): void {
  if (pace.perS === Number.POSITIVE_INFINITY) pace.tokens = 1;
  else pace.tokens = Math.min(burstOf(pace), pace.tokens + ((now - pace.filledAt) * pace.perS) / 1000);
  pace.filledAt = now;
}

function burstOf({ perS }: Pace): number {
  return Math.max(1, perS * PACE.burst);
}

function setRate(pace: PaceState, perS: number, now: number): void {
  // Tokens from the time without a limit do not count for the new rate.
  if (pace.perS === Number.POSITIVE_INFINITY) pace.tokens = 0;
  else fill(pace, now);
  pace.perS = perS;
  pace.filledAt = now;
}

function firstRate({ usualPerS }: Pace, relapses: number): number {
  const perS = Math.max(PACE.minUsualPerS, usualPerS * PACE.rampFrom) / 2 ** Math.min(4, relapses);
  return Math.max(PACE.minRampPerS, perS);
}

function forgetWindows(pace: PaceState, now: number): void {
  pace.windowAt = now;
  pace.good = pace.bad = pace.limited = 0;
  pace.goodBefore = pace.badBefore = pace.limitedBefore = 0;
}

function roll(pace: PaceState, now: number): void {
  const passed = Math.floor((now - pace.windowAt) / PACE.windowMs);
  for (let window = 0; window < Math.min(passed, MAX_SILENT_WINDOWS); window++) endWindow(pace);
  if (passed <= MAX_SILENT_WINDOWS) return;
  const skipped = passed - MAX_SILENT_WINDOWS;
  if (pace.isMeasuring) measure(pace, 0, skipped * PACE.windowMs);
  pace.windowAt += skipped * PACE.windowMs;
}

function endWindow(pace: PaceState): void {
  const endsAt = pace.windowAt + PACE.windowMs;
  const good = pace.good + pace.goodBefore;
  const bad = pace.bad + pace.badBefore;
  if (pace.isMeasuring) measure(pace, pace.good, PACE.windowMs);
  pace.bestPerS = Math.max(good, pace.bestPerS * PACE.bestFades);
  if (good + bad >= PACE.enough && bad > good * (PACE.perGood - 1) && pace.uncutUntil <= endsAt) {
    cut(pace, good / (good + bad), endsAt);
  } else if (pace.perS !== Number.POSITIVE_INFINITY) grow(pace, endsAt);
  pace.goodBefore = pace.good;
  pace.badBefore = pace.bad;
  pace.limitedBefore = pace.limited;
  pace.good = pace.bad = pace.limited = 0;
  pace.windowAt = endsAt;
}

/** Most deliveries fail: reduces the rate, to find out whether the rate is the reason. */
function cut(pace: PaceState, taken: number, now: number): void {
  if (pace.takenBefore < 0) {
    pace.takenBefore = taken;
    pace.cutAt = now;
  } else if (taken > 0 && now - pace.cutAt >= PACE.decideAfterMs && taken < pace.takenBefore * PACE.helps) {
    pace.takenBefore = -1;
    pace.uncutUntil = now + PACE.uncutMs;
    if (pace.rampUntil === 0) setRate(pace, Number.POSITIVE_INFINITY, now);
    return;
  }
  setRate(pace, Math.max(PACE.minRampPerS, PACE.perGood * pace.bestPerS), now);
}

function grow(pace: PaceState, now: number): void {
  if (pace.limitedAt >= 0) {
    // Before the target has accepted something, it is not known whether it would accept more.
    if (pace.limited > 0 || pace.good === 0) return;
    if (now - pace.limitedAt < PACE.nearLimitMs) return setRate(pace, pace.perS * PACE.growthNearLimit, now);
    pace.limitedAt = -1;
  }
  let perS = pace.perS * PACE.growth;
  if (pace.rampUntil > now) perS = Math.min(perS, pace.rampMaxPerS);
  else if (pace.rampUntil !== 0) {
    pace.rampUntil = 0;
    pace.isMeasuring = true;
  }
  const isFreed = pace.rampUntil === 0 && perS > 4 * Math.max(PACE.minUsualPerS, pace.usualPerS, pace.bestPerS);
  if (isFreed) pace.takenBefore = -1;
  setRate(pace, isFreed ? Number.POSITIVE_INFINITY : perS, now);
}

function measure(pace: PaceState, good: number, elapsedMs: number): void {
  const weight = Math.min(1, elapsedMs / PACE.averageOverMs);
  pace.averagePerS += weight * ((good * 1000) / elapsedMs - pace.averagePerS);
  pace.usualPerS = Math.max(pace.averagePerS, pace.usualPerS * 2 ** (-elapsedMs / PACE.usualHalvesInMs));
}
