import type { Timer } from "../domain/clock.ts";
import { DEFAULT_RULES, type Mode, type TargetRules } from "../domain/target.ts";
import {
  closeMode,
  createMode,
  forgetFailures,
  MODE,
  noteFailure,
  noteSuccess,
  openMode,
  type Failure,
  type ModeChange,
  type TargetMode,
  createModeNotices,
  type ModeNotices,
} from "./mode.ts";
import { createPace, noteBad, noteGood, noteLimited, startRamp, stopMeasuring, type Pace } from "./pace.ts";
import type { Round } from "./trial-rounds.ts";

/** The condition of a target, as it is saved over a restart. */
export interface TargetCondition {
  readonly mode: TargetMode;
  /** How fast deliveries go there while it is not in QUEUE. */
  readonly pace: Pace;
  readonly notices: ModeNotices;
}

/** The target of one subscription, or of several that share it, with its current condition. */
export interface Target extends TargetCondition {
  rules: TargetRules;
  /** A delivery is under way to find out whether the target is back. */
  isProbing: boolean;
  /** The result of the last health check, if there was one. */
  check: { at: number; error: string | undefined } | undefined;
  /** Successful checks in a row while it is in QUEUE. */
  successes: number;
  /** The target may be back: before the next round all waiting retries are brought forward. */
  hastens: boolean;
  /** Since then, all waiting deliveries were tried once. */
  isTried: boolean;
  /** Since then: whether the target accepted one of them, and how many failed. */
  isTaking: boolean;
  failedTries: number;
  /** Whether the deliveries that went to fallbacks have been taken from there, as far as is known. */
  isDrained: boolean;
  /** This is being checked: meanwhile no more deliveries go to the fallbacks. */
  isLooking: boolean;
  /** The round that sends although the target is in QUEUE. */
  round: Round | undefined;
  /** A lane of the target has retries that wait; and when some of them may next be brought forward. */
  hasMissed: boolean;
  earlyAt: number;
  earlyTimer: Timer | undefined;
}

const SLOW_START_MIN_PER_S = 10;

export function createTargetCondition(now: number): TargetCondition {
  return { mode: createMode(), pace: createPace(now), notices: createModeNotices() };
}

export function createTarget({ mode, pace, notices }: TargetCondition, rules: TargetRules = DEFAULT_RULES): Target {
  return {
    mode,
    pace,
    notices,
    rules,
    isProbing: false,
    check: undefined,
    successes: 0,
    hastens: false,
    isTried: false,
    isTaking: false,
    failedTries: 0,
    isDrained: true,
    isLooking: false,
    round: undefined,
    hasMissed: false,
    earlyAt: 0,
    earlyTimer: undefined,
  };
}

/** In QUEUE no delivery is used as a probe: a health check does that, or an operator decides. */
export function sparesDeliveries({ mode, rules }: Target): boolean {
  return mode.forced === "QUEUE" || rules.health !== undefined;
}

/** Whether the health is good, as far as is known. */
export function isHealthy(target: Target): boolean {
  const { mode, rules, check } = target;
  // Even when its health check succeeds.
  if (mode.isOpen && isFailingAtAll(target)) return false;
  if (check !== undefined && rules.health !== undefined) return check.error === undefined;
  return !mode.isOpen || (mode.forced === "QUEUE" && mode.failures < rules.failuresToOpen);
}

/** A delivery was answered. */
export function noteAnswered(target: Target, now: number): ModeChange {
  const { mode } = target;
  noteGood(target.pace, now);
  if (!mode.isOpen || !sparesDeliveries(target)) {
    const change = noteSuccess(mode, now);
    if (change === "closed") startSlowly(target, now, SLOW_START_MIN_PER_S);
    return change;
  }
  mode.tookAt = now;
  // Until now it failed at all of them: those that it failed at are tried once more.
  if (isFailingAtAll(target)) target.hastens = true;
  target.isTaking = true;
  if (mode.forced === "QUEUE") forgetFailures(mode);
  return undefined;
}

/** A healthy destination got too many requests (429): less is sent, but the mode does not change. */
export function noteTooMuch(
  { mode, pace }: Target,
  now: number,
  error: string,
  retryAfterMs: number | undefined,
): void {
  mode.lastError = error;
  noteLimited(pace, now, retryAfterMs);
}

/** A delivery failed, and it is not known whether the destination is at fault. */
export function noteUnclear(target: Target, now: number, error: string): void {
  const { mode } = target;
  if (mode.isOpen) target.failedTries++;
  mode.lastError = error;
  noteBad(target.pace, now, 0);
}

/** A delivery failed because of the destination. */
export function noteIll(target: Target, { now, error, jitter, isProbe }: Failure): ModeChange {
  const { mode } = target;
  if (mode.isOpen) target.failedTries++;
  noteBad(target.pace, now, mode.failures + 1);
  const { maxProbeMs, sureAfterMs } = target.rules;
  const toOpen = { failuresToOpen: failuresToOpen(target), sureAfterMs, maxProbeMs };
  const change = noteFailure(mode, { now, error, jitter, isProbe, ...toOpen });
  if (change === "opened") beginQueue(target, now);
  return mode.forced === "QUEUE" ? undefined : change;
}

export function noteCheckFailed(target: Target, failure: Omit<Failure, "isProbe">): ModeChange {
  target.mode.failedChecks++;
  const change = noteIll(target, { ...failure, isProbe: true });
  forgetTries(target);
  return change;
}

/** `recovering`: the first success in QUEUE. */
export function noteCheckSucceeded(target: Target, now: number): "recovering" | "closed" | undefined {
  const { mode } = target;
  if (!mode.isOpen || mode.forced === "QUEUE") {
    mode.failures -= Math.min(mode.failures, mode.failedChecks);
    mode.failedChecks = 0;
    if (mode.failures === 0 && !mode.isOpen) mode.lastError = undefined;
    return undefined;
  }
  target.successes++;
  if (target.successes > 1) return closeIfBack(target, now);
  target.failedTries = 0;
  mode.failedProbes = 0;
  return closeIfBack(target, now) ?? "recovering";
}

/** Results from before checks began no longer count. */
export function beginChecks(target: Target): void {
  target.successes = 0;
  target.isTried = false;
}

/** For a while the rate stays near the usual one; only briefly when the target was down for a moment. */
export function startSlowly({ mode, pace }: Target, now: number, minPerS: number, awayMs = mode.awayMs): void {
  startRamp(pace, now, { awayMs, relapses: mode.relapses, minPerS });
}

/** All waiting deliveries were tried once since the first success. */
export function noteTried(target: Target, now: number): "closed" | undefined {
  if (!target.mode.isOpen || target.successes === 0 || target.hastens) return undefined;
  target.isTried = true;
  return closeIfBack(target, now);
}

/** Undefined when the target already has this mode. `auto` lets the target's condition decide again. */
export function forceMode(target: Target, to: Mode | "auto", now: number): "opened" | "closed" | undefined {
  const { mode, rules } = target;
  const wasForced = mode.forced;
  mode.forced = to === "auto" ? undefined : to;
  if (to === "QUEUE") {
    if (mode.isOpen) return undefined;
    openMode(mode, now, "an operator said so", 0, target.rules.maxProbeMs);
    beginQueue(target, now);
    return "opened";
  }
  if (!mode.isOpen) return undefined;
  if (to === "auto" && (wasForced !== "QUEUE" || mode.failures >= rules.failuresToOpen)) {
    mode.probeAt = now;
    return undefined;
  }
  forgetFailures(mode);
  closeMode(mode, now, to === "auto" ? "no operator says otherwise any more" : "an operator said so");
  startSlowly(target, now, rules.batchSize);
  return "closed";
}

function failuresToOpen({ mode, rules }: Target): number {
  return mode.forced === "NORMAL" ? Number.POSITIVE_INFINITY : rules.failuresToOpen;
}

function beginQueue(target: Target, now: number): void {
  stopMeasuring(target.pace, now);
  forgetTries(target);
}

function forgetTries(target: Target): void {
  target.successes = 0;
  target.isTried = false;
  target.isTaking = false;
  target.failedTries = 0;
  target.hastens = false;
}

/**
 * The health is good, but the target accepts nothing. A few failures and nothing else say little: one event that always
 * fails must not keep the target in QUEUE for days.
 */
export function isFailingAtAll({ isTaking, failedTries }: Target): boolean {
  return !isTaking && failedTries >= MODE.failuresToOpen;
}

function closeIfBack(target: Target, now: number): "closed" | undefined {
  const { mode, rules, successes } = target;
  if (mode.forced === "QUEUE" || rules.health === undefined) return undefined;
  if (
    !target.isDrained ||
    !target.isTried ||
    target.hastens ||
    successes < rules.successesToClose ||
    isFailingAtAll(target)
  )
    return undefined;
  forgetFailures(mode);
  const times = rules.successesToClose === 1 ? "once" : `${rules.successesToClose} times`;
  closeMode(mode, now, `its health was good ${times} in a row, and all that waited was tried`);
  return "closed";
}
