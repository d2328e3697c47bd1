/**
 * How fast a destination is sent to: as fast as one likes while it takes most things, twice what it takes when it
 * fails at most of them, less than that when it says that it is too much, and slowly at first when it was away.
 */
export interface Pace {
  /** Attempts per second; infinite while nothing speaks against any. */
  perS: number;
  /** The part of each lane's concurrency that may be in flight. */
  share: number;
  /** Good deliveries per second that it is used to: the highest average of the last while. */
  usualPerS: number;
  averagePerS: number;
  /** Whether what succeeds shows what is usual: not while it is down, nor while little is sent on purpose. */
  isMeasuring: boolean;
  /** Until then `perS` stays below `rampMaxPerS`; 0 when it does not start slowly. */
  rampUntil: number;
  rampMaxPerS: number;
  /** It asked for nothing before. */
  heldUntil: number;
  /** After many failures in a row: a moment before the next. */
  restUntil: number;
  /** When it last said that it is too much (429); -1 when it is not known to be too much. */
  limitedAt: number;
  /** The best second of the last few: one in which it was away is no measure of what it can take. */
  bestPerS: number;
  /** The share that it took before less was sent, and since when; -1 when nothing is held back. */
  takenBefore: number;
  cutAt: number;
  /** Sending less did not help: until then it is not tried again. */
  uncutUntil: number;
  /** Of this window, and of the one before. */
  windowAt: number;
  good: number;
  bad: number;
  limited: number;
  goodBefore: number;
  badBefore: number;
  limitedBefore: number;
  tokens: number;
  filledAt: number;
}

export const PACE = {
  windowMs: 500,
  /** More than half fail: no more than twice what succeeds. */
  perGood: 2,
  /** Fewer in a second say nothing of a share. */
  enough: 20,
  bestFades: 0.9,
  /** Less is sent for so long before it is asked whether that helped, by so much; if not, it is left alone for a while. */
  judgeAfterMs: 1_500,
  helps: 1.15,
  uncutMs: 30_000,
  /** In each window without complaint. */
  growth: Math.SQRT2,
  /** After so many failures in a row, and again after as many, half of what is in flight. */
  failuresToHalve: 10,
  minShare: 1 / 1024,
  /** After more of them a rest before each: it is found out soon whether it is down, and few tries are spent on it. */
  failuresToRest: 60,
  restMs: 50,
  averageOverMs: 60_000,
  usualHalvesInMs: 600_000,
  minUsualPerS: 5,
  /** A slow start begins with this part of what is usual, but not below `minUsualPerS`. */
  rampFrom: 1 / 16,
  minRampPerS: 1,
  /** Less than two: what is usual is an estimate, and twice of it is the most that is promised. */
  rampMax: 1.9,
  longRampMs: 60_000,
  shortRampMs: 5_000,
  /** After 429: what is left of the rate, and when nothing at all was taken; how it grows while the limit is near. */
  afterLimit: 0.7,
  afterRefusal: 0.5,
  growthNearLimit: 1.1,
  nearLimitMs: 10_000,
  minPerS: 1 / 60,
  maxHoldMs: 3_600_000,
  /** What may go at once, as a part of a second's worth. */
  burst: 0.05,
} as const;

/** Windows that passed without a word: what is not infinite after so many is so by choice. */
const MAX_SILENT_WINDOWS = 64;
/** Forgives rounding, so that a lane never wakes a moment too early for ever. */
const ROUNDING = 0.0005;

export function createPace(now: number): Pace {
  return {
    perS: Number.POSITIVE_INFINITY,
    share: 1,
    usualPerS: 0,
    averagePerS: 0,
    isMeasuring: true,
    rampUntil: 0,
    rampMaxPerS: 0,
    heldUntil: 0,
    restUntil: 0,
    limitedAt: -1,
    bestPerS: 0,
    takenBefore: -1,
    cutAt: 0,
    uncutUntil: 0,
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

/** As it was saved: JSON knows no infinity. */
export function loadPace(saved: Partial<Pace> | undefined, now: number): Pace {
  const pace = { ...createPace(now), ...saved, windowAt: now, filledAt: now };
  return { ...pace, perS: saved?.perS ?? Number.POSITIVE_INFINITY };
}

export function noteGood(pace: Pace, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.good++;
  pace.restUntil = 0;
  if (pace.share < 1) pace.share = Math.min(1, pace.share * 2);
  // It takes something again, after it had said that one a minute is too much.
  if (pace.limitedAt >= 0 && pace.perS < PACE.minRampPerS) setRate(pace, firstRate(pace, 0), now);
}

/** `inARow`: how many failures, with this one. */
export function noteBad(pace: Pace, now: number, inARow: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.bad++;
  if (inARow > 0 && inARow % PACE.failuresToHalve === 0) pace.share = Math.max(PACE.minShare, pace.share / 2);
  if (inARow >= PACE.failuresToRest) pace.restUntil = now + PACE.restMs;
}

/** It is too much (429), and what it asks for. */
export function noteLimited(pace: Pace, now: number, retryAfterMs: number | undefined): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.limited++;
  if (retryAfterMs !== undefined) {
    pace.heldUntil = Math.max(pace.heldUntil, now + Math.min(retryAfterMs, PACE.maxHoldMs));
  }
  // Once for each window: what was in flight beside it says the same.
  if (pace.limited > 1) return;
  const isTaking = pace.good + pace.goodBefore > 0;
  const sentPerS = pace.perS === Number.POSITIVE_INFINITY ? endedPerS(pace, now) : pace.perS;
  pace.limitedAt = now;
  setRate(pace, Math.max(PACE.minPerS, sentPerS * (isTaking ? PACE.afterLimit : PACE.afterRefusal)), now);
}

function endedPerS(pace: Pace, now: number): number {
  const ended = pace.good + pace.bad + pace.limited;
  const before = pace.goodBefore + pace.badBefore + pace.limitedBefore;
  const elapsedMs = now - pace.windowAt + (before > 0 ? PACE.windowMs : 0);
  return Math.max(1, ((ended + before) * 1000) / Math.max(PACE.windowMs, elapsedMs));
}

/** It is down: what succeeds now, or does not, is no measure. */
export function stopMeasuring(pace: Pace, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  pace.isMeasuring = false;
  pace.rampUntil = 0;
}

export interface Ramp {
  /** How long it was away. */
  awayMs: number;
  /** How often it went away again soon after it had come back. */
  relapses: number;
  /** What may flow in any case. */
  minPerS: number;
}

/** It is back: slowly at first, and for a while at most what it is used to and a little more. */
export function startRamp(pace: Pace, now: number, { awayMs, relapses, minPerS }: Ramp): void {
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
export function paceOpensAt(pace: Pace, now: number): number {
  if (isFree(pace)) return now;
  refresh(pace, now);
  if (isHeld(pace, now)) return Math.max(pace.heldUntil, pace.restUntil);
  if (pace.tokens + ROUNDING >= 1) return now;
  return now + Math.ceil(((1 - pace.tokens) * 1000) / pace.perS);
}

/** Attempts per second that it is held to now; infinite when nothing holds it back. */
export function rateAt(pace: Pace, now: number): number {
  if (!isFree(pace)) refresh(pace, now);
  return pace.perS;
}

/** How many attempts may begin now. */
export function paceAllows(pace: Pace, now: number): number {
  if (isFree(pace)) return Number.POSITIVE_INFINITY;
  refresh(pace, now);
  if (isHeld(pace, now)) return 0;
  return pace.perS === Number.POSITIVE_INFINITY ? pace.perS : Math.max(0, Math.floor(pace.tokens + ROUNDING));
}

export function notePaced(pace: Pace, now: number): void {
  if (isFree(pace)) return;
  refresh(pace, now);
  pace.tokens -= 1;
}

/** How many of a lane may be in flight. */
export function paceRoom({ share }: Pace, concurrency: number): number {
  return share === 1 ? concurrency : Math.max(1, Math.floor(concurrency * share));
}

function isFree({ perS, heldUntil, restUntil }: Pace): boolean {
  return perS === Number.POSITIVE_INFINITY && heldUntil === 0 && restUntil === 0;
}

function isHeld({ heldUntil, restUntil }: Pace, now: number): boolean {
  return heldUntil > now || restUntil > now;
}

function refresh(pace: Pace, now: number): void {
  if (now >= pace.windowAt + PACE.windowMs) roll(pace, now);
  if (pace.heldUntil !== 0 && pace.heldUntil <= now) pace.heldUntil = 0;
  if (pace.restUntil !== 0 && pace.restUntil <= now) pace.restUntil = 0;
  fill(pace, now);
}

function fill(pace: Pace, now: number): void {
  if (pace.perS === Number.POSITIVE_INFINITY) pace.tokens = 1;
  else pace.tokens = Math.min(burstOf(pace), pace.tokens + ((now - pace.filledAt) * pace.perS) / 1000);
  pace.filledAt = now;
}

function burstOf({ perS }: Pace): number {
  return Math.max(1, perS * PACE.burst);
}

function setRate(pace: Pace, perS: number, now: number): void {
  // What it had while it was free is not one second's worth of the new rate.
  if (pace.perS === Number.POSITIVE_INFINITY) pace.tokens = 0;
  else fill(pace, now);
  pace.perS = perS;
  pace.filledAt = now;
}

function firstRate({ usualPerS }: Pace, relapses: number): number {
  const perS = Math.max(PACE.minUsualPerS, usualPerS * PACE.rampFrom) / 2 ** Math.min(4, relapses);
  return Math.max(PACE.minRampPerS, perS);
}

function forgetWindows(pace: Pace, now: number): void {
  pace.windowAt = now;
  pace.good = pace.bad = pace.limited = 0;
  pace.goodBefore = pace.badBefore = pace.limitedBefore = 0;
}

function roll(pace: Pace, now: number): void {
  const passed = Math.floor((now - pace.windowAt) / PACE.windowMs);
  for (let window = 0; window < Math.min(passed, MAX_SILENT_WINDOWS); window++) endWindow(pace);
  if (passed <= MAX_SILENT_WINDOWS) return;
  const skipped = passed - MAX_SILENT_WINDOWS;
  if (pace.isMeasuring) measure(pace, 0, skipped * PACE.windowMs);
  pace.windowAt += skipped * PACE.windowMs;
}

function endWindow(pace: Pace): void {
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

/** It fails at most of what comes: is that because it is too much? */
function cut(pace: Pace, taken: number, now: number): void {
  if (pace.takenBefore < 0) {
    pace.takenBefore = taken;
    pace.cutAt = now;
  } else if (taken > 0 && now - pace.cutAt >= PACE.judgeAfterMs && taken < pace.takenBefore * PACE.helps) {
    pace.takenBefore = -1;
    pace.uncutUntil = now + PACE.uncutMs;
    if (pace.rampUntil === 0) setRate(pace, Number.POSITIVE_INFINITY, now);
    return;
  }
  setRate(pace, Math.max(PACE.minRampPerS, PACE.perGood * pace.bestPerS), now);
}

function grow(pace: Pace, now: number): void {
  if (pace.limitedAt >= 0) {
    // Nobody knows whether it would take more before it has taken something.
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

function measure(pace: Pace, good: number, elapsedMs: number): void {
  const weight = Math.min(1, elapsedMs / PACE.averageOverMs);
  pace.averagePerS += weight * ((good * 1000) / elapsedMs - pace.averagePerS);
  pace.usualPerS = Math.max(pace.averagePerS, pace.usualPerS * 2 ** (-elapsedMs / PACE.usualHalvesInMs));
}
