import type { Timer } from "../domain/clock.ts";
import { DEFAULT_RULES, type Mode, type TargetRules } from "../domain/target.ts";
import {
  BREAKER,
  closeBreaker,
  noteFailure,
  noteSuccess,
  noteTaken,
  openBreaker,
  startSlowly,
  type BreakerChange,
  type BreakerState,
  type Failure,
} from "./breaker.ts";
import type { Round } from "./round.ts";
import { noteBad, noteLimited } from "./pace.ts";

/**
 * What subscriptions send to, as it is now. Its mode is a breaker: that of its only subscription, or one that all who
 * share it have in common.
 */
export interface Target {
  readonly mode: BreakerState;
  rules: TargetRules;
  /** A delivery is on its way to find out whether it is back. */
  isProbing: boolean;
  /** What the last health check found, when there was one. */
  check: { at: number; error: string | undefined } | undefined;
  /** Successful checks in a row while it is in QUEUE. */
  successes: number;
  /** A check failed since it came into QUEUE: those who waited for a later try need not, once it is back. */
  wasIll: boolean;
  /** Since the first of these successes, all that waited was tried once. */
  isTried: boolean;
  /** Since then: whether it took one of them, and how many it failed at. */
  isTaking: boolean;
  failedTries: number;
  /** What is sent although it is in QUEUE. */
  round: Round | undefined;
  /** One of its lanes has what waits for a later try; when some of that may next be brought forward. */
  hasMissed: boolean;
  earlyAt: number;
  earlyTimer: Timer | undefined;
}

export function createTarget(mode: BreakerState, rules: TargetRules = DEFAULT_RULES): Target {
  return {
    mode,
    rules,
    isProbing: false,
    check: undefined,
    successes: 0,
    wasIll: false,
    isTried: false,
    isTaking: false,
    failedTries: 0,
    round: undefined,
    hasMissed: false,
    earlyAt: 0,
    earlyTimer: undefined,
  };
}

/** In QUEUE no delivery is risked to find out whether it is back: a check does that, or an operator decides. */
export function sparesDeliveries({ mode, rules }: Target): boolean {
  return mode.forced === "QUEUE" || rules.health !== undefined;
}

/** Whether its health, as far as it is known, is good. */
export function isHealthy(target: Target): boolean {
  const { mode, rules, check } = target;
  // Whatever it says of itself.
  if (mode.isOpen && isFailingAtAll(target)) return false;
  if (check !== undefined && rules.health !== undefined) return check.error === undefined;
  return !mode.isOpen || (mode.forced === "QUEUE" && mode.failures < rules.failuresToOpen);
}

/** A delivery was answered. */
export function noteAnswered(target: Target, now: number): BreakerChange {
  const { mode } = target;
  if (!mode.isOpen || !sparesDeliveries(target)) return noteSuccess(mode, now);
  noteTaken(mode, now);
  target.isTaking = true;
  if (mode.forced === "QUEUE") forgetFailures(mode);
  return undefined;
}

/** It was too much for the destination, which is well: less is sent, but nothing is kept. */
export function noteTooMuch({ mode }: Target, now: number, error: string, retryAfterMs: number | undefined): void {
  mode.lastError = error;
  noteLimited(mode.pace, now, retryAfterMs);
}

/** A delivery failed, and nobody knows whose fault it is. */
export function noteUnclear(target: Target, now: number, error: string): void {
  const { mode } = target;
  if (mode.isOpen) target.failedTries++;
  mode.lastError = error;
  noteBad(mode.pace, now, 0);
}

/** A delivery failed, and it is the destination's fault. */
export function noteIll(target: Target, { now, error, jitter, isProbe }: Failure): BreakerChange {
  const { mode } = target;
  if (mode.isOpen) target.failedTries++;
  const change = noteFailure(mode, { now, error, jitter, isProbe, failuresToOpen: failuresToOpen(target) });
  if (change === "opened") beginQueue(target);
  return mode.forced === "QUEUE" ? undefined : change;
}

export function noteCheckFailed(target: Target, failure: Omit<Failure, "isProbe">): BreakerChange {
  target.mode.failedChecks++;
  const change = noteIll(target, { ...failure, isProbe: true });
  beginQueue(target);
  target.wasIll = true;
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
  if (target.successes === 0) target.failedTries = 0;
  target.successes++;
  if (target.successes > 1) return closeIfBack(target, now);
  mode.failedProbes = 0;
  return closeIfBack(target, now) ?? "recovering";
}

/** All that waited was tried once since the first success. */
export function noteTried(target: Target, now: number): "closed" | undefined {
  if (!target.mode.isOpen || target.successes === 0) return undefined;
  target.isTried = true;
  return closeIfBack(target, now);
}

/** Undefined when that is its mode already. `auto` leaves it to the target what becomes of it. */
export function forceMode(target: Target, to: Mode | "auto", now: number): "opened" | "closed" | undefined {
  const { mode, rules } = target;
  const wasForced = mode.forced;
  mode.forced = to === "auto" ? undefined : to;
  if (to === "QUEUE") {
    if (mode.isOpen) return undefined;
    openBreaker(mode, now, "an operator said so", 0);
    beginQueue(target);
    return "opened";
  }
  if (!mode.isOpen) return undefined;
  if (to === "auto" && (wasForced !== "QUEUE" || mode.failures >= rules.failuresToOpen)) {
    mode.probeAt = now;
    return undefined;
  }
  forgetFailures(mode);
  closeBreaker(mode, now, to === "auto" ? "no operator says otherwise any more" : "an operator said so");
  startSlowly(mode, now, rules.batchSize);
  return "closed";
}

function failuresToOpen({ mode, rules }: Target): number {
  return mode.forced === "NORMAL" ? Number.POSITIVE_INFINITY : rules.failuresToOpen;
}

function forgetFailures(mode: BreakerState): void {
  mode.failures = 0;
  mode.failedChecks = 0;
}

function beginQueue(target: Target): void {
  target.successes = 0;
  target.isTried = false;
  target.isTaking = false;
  target.failedTries = 0;
  target.wasIll = false;
}

/**
 * Its health is good, and it takes nothing all the same. A few that fail among nothing else say little: one event that
 * fails for ever must not keep it in QUEUE for days.
 */
function isFailingAtAll({ isTaking, failedTries }: Target): boolean {
  return !isTaking && failedTries >= BREAKER.failuresToOpen;
}

function closeIfBack(target: Target, now: number): "closed" | undefined {
  const { mode, rules, successes } = target;
  if (mode.forced === "QUEUE" || rules.health === undefined) return undefined;
  if (!target.isTried || successes < rules.successesToClose || isFailingAtAll(target)) return undefined;
  forgetFailures(mode);
  const times = rules.successesToClose === 1 ? "once" : `${rules.successesToClose} times`;
  closeBreaker(mode, now, `its health was good ${times} in a row, and all that waited was tried`);
  return "closed";
}
