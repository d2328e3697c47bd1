import { DEFAULT_RULES, type Mode, type TargetRules } from "../model/target.ts";
import {
  closeMode,
  createMode,
  createModeNotices,
  forgetFailures,
  MODE,
  countFailure,
  recordAnswer,
  openMode,
  type Failure,
  type ModeChange,
  type ModeNotices,
  type ModeState,
  type TargetMode,
} from "./mode.ts";
import { createPace, countBad, countGood, countLimited, startRamp, stopMeasuring, type Pace } from "./pace.ts";

/** The condition of a target, as it is saved over a restart. */
export interface TargetCondition {
  readonly mode: TargetMode;
  /** How fast deliveries go there while it is not in QUEUE. */
  readonly pace: Pace;
  readonly notices: ModeNotices;
}

export interface CheckResult {
  /** In wall time. */
  readonly at: number;
  readonly error: string | undefined;
}

const SLOW_START_MIN_PER_S = 10;

export function createTargetCondition(now: number): TargetCondition {
  return { mode: createMode(), pace: createPace(now), notices: createModeNotices() };
}

export function createTarget({ mode, pace, notices }: TargetCondition, rules: TargetRules = DEFAULT_RULES) {
  return {
    mode,
    pace,
    notices,
    rules,
    /** A delivery is under way to find out whether the target is back. */
    isProbing: false,
    /** The result of the last health check, if there was one. */
    check: undefined as CheckResult | undefined,
    /** Successful checks in a row while it is in QUEUE. */
    successes: 0,
    /** The target may be back: before the next round all waiting retries are brought forward. */
    hastens: false,
    /** Since then, all waiting deliveries were tried once. */
    isTried: false,
    /** Since then: whether the target accepted one of them, and which events failed; only as many as are asked about. */
    hasAccepted: false,
    failedEvents: new Set<number>(),
    /** Whether the deliveries that went to fallbacks have been taken from there, as far as is known. */
    isDrained: true,
    /** This is being checked: meanwhile no more deliveries go to the fallbacks. */
    isCheckingDrain: false,
    /** A lane of the target has retries that wait. */
    hasWaitingRetries: false,
  };
}

type NewTarget = ReturnType<typeof createTarget>;
type TargetState = Omit<NewTarget, "mode"> & { readonly mode: ModeState };
/** Facts without a rule: the part that finds them out sets them. */
type SetByOthers = "rules" | "isProbing" | "check" | "hastens" | "isDrained" | "isCheckingDrain" | "hasWaitingRetries";

/**
 * The target of one subscription, or of several that share it, with its current condition. What is read-only here is
 * changed by the functions of this file.
 */
export type Target = Readonly<Omit<NewTarget, SetByOthers>> & Pick<NewTarget, SetByOthers>;

/** The subscription whose own target this is continues: probes begin with their first wait again. */
export function resumeProbes({ mode }: TargetState): void {
  if (mode.isOpen) mode.failedProbes = 0;
}

/** In QUEUE no delivery is used as a probe: a health check does that, or an operator decides. */
export function probesWithoutDeliveries({ mode, rules }: Target): boolean {
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
export function recordSuccess(target: TargetState, now: number): ModeChange {
  const { mode } = target;
  countGood(target.pace, now);
  if (!mode.isOpen || !probesWithoutDeliveries(target)) {
    const change = recordAnswer(mode, now);
    if (change === "closed") startSlowly(target, now, SLOW_START_MIN_PER_S);
    return change;
  }
  mode.acceptedAt = now;
  // Until now it failed at all of them: those that it failed at are tried once more.
  if (isFailingAtAll(target)) target.hastens = true;
  target.hasAccepted = true;
  if (mode.forced === "QUEUE") forgetFailures(mode);
  return undefined;
}

/** A healthy destination got too many requests (429): less is sent, but the mode does not change. */
export function recordLimited(
  { mode, pace }: TargetState,
  now: number,
  error: string,
  retryAfterMs: number | undefined,
): void {
  mode.lastError = error;
  countLimited(pace, now, retryAfterMs);
}

/** A delivery failed, and it is not known whether the destination is at fault. */
export function recordUnclear({ mode, pace }: TargetState, now: number, error: string): void {
  mode.lastError = error;
  countBad(pace, now, 0);
}

/** While the target is in QUEUE: an event failed because of it, or perhaps because of it. */
export function recordFailedEvent({ mode, failedEvents }: TargetState, eventSeq: number): void {
  if (mode.isOpen && failedEvents.size < MODE.failuresToOpen) failedEvents.add(eventSeq);
}

/** A delivery failed because of the destination. */
export function recordFailure(target: TargetState, { now, error, jitter, isProbe }: Failure): ModeChange {
  const { mode } = target;
  countBad(target.pace, now, mode.failures + 1);
  const { maxProbeMs, sureAfterMs } = target.rules;
  const toOpen = { failuresToOpen: failuresToOpen(target), sureAfterMs, maxProbeMs };
  const change = countFailure(mode, { now, error, jitter, isProbe, ...toOpen });
  if (change === "opened") beginQueue(target, now);
  return mode.forced === "QUEUE" ? undefined : change;
}

export function recordCheckFailed(target: TargetState, failure: Omit<Failure, "isProbe">): ModeChange {
  target.mode.failedChecks++;
  const change = recordFailure(target, { ...failure, isProbe: true });
  forgetTries(target);
  return change;
}

/** `recovering`: the first success in QUEUE. */
export function recordCheckSucceeded(target: TargetState, now: number): "recovering" | "closed" | undefined {
  const { mode } = target;
  if (!mode.isOpen || mode.forced === "QUEUE") {
    // Failed checks no longer count, failed deliveries do.
    mode.failures -= Math.min(mode.failures, mode.failedChecks);
    mode.failedChecks = 0;
    if (mode.failures === 0 && !mode.isOpen) mode.lastError = undefined;
    return undefined;
  }
  target.successes++;
  if (target.successes > 1) return closeIfBack(target, now);
  target.failedEvents.clear();
  mode.failedProbes = 0;
  return closeIfBack(target, now) ?? "recovering";
}

/** Results from before checks began no longer count. */
export function beginChecks(target: TargetState): void {
  target.successes = 0;
  target.isTried = false;
}

/** For a while the rate stays near the usual one; only briefly when the target was down for a moment. */
export function startSlowly({ mode, pace }: Target, now: number, minPerS: number, awayMs = mode.awayMs): void {
  startRamp(pace, now, { awayMs, relapses: mode.relapses, minPerS });
}

/** All waiting deliveries were tried once since the first success; `isEmpty`: none is left that could fail again. */
export function recordAllTried(target: TargetState, now: number, isEmpty: boolean): "closed" | undefined {
  if (!target.mode.isOpen || target.successes === 0 || target.hastens) return undefined;
  target.isTried = true;
  if (isEmpty) target.failedEvents.clear();
  return closeIfBack(target, now);
}

/** Undefined when the target already has this mode. `auto` lets the target's condition decide again. */
export function forceMode(target: TargetState, to: Mode | "auto", now: number): "opened" | "closed" | undefined {
  const { mode, rules } = target;
  const wasForced = mode.forced;
  mode.forced = to === "auto" ? undefined : to;
  if (to === "QUEUE") {
    if (mode.isOpen) return undefined;
    openMode(mode, now, "set by an operator", 0, target.rules.maxProbeMs);
    beginQueue(target, now);
    return "opened";
  }
  if (!mode.isOpen) return undefined;
  if (to === "auto" && (wasForced !== "QUEUE" || mode.failures >= rules.failuresToOpen)) {
    mode.probeAt = now;
    return undefined;
  }
  forgetFailures(mode);
  closeMode(mode, now, to === "auto" ? "set back to automatic by an operator" : "set by an operator");
  startSlowly(target, now, rules.batchSize);
  return "closed";
}

function failuresToOpen({ mode, rules }: Target): number {
  return mode.forced === "NORMAL" ? Number.POSITIVE_INFINITY : rules.failuresToOpen;
}

function beginQueue(target: TargetState, now: number): void {
  stopMeasuring(target.pace, now);
  forgetTries(target);
}

function forgetTries(target: TargetState): void {
  target.successes = 0;
  target.isTried = false;
  target.hasAccepted = false;
  target.failedEvents.clear();
  target.hastens = false;
}

/**
 * The health is good, but the target accepts nothing. A few events that fail and nothing else say little: one that always
 * fails must not keep the target in QUEUE for days.
 */
export function isFailingAtAll({ hasAccepted, failedEvents }: Target): boolean {
  return !hasAccepted && failedEvents.size >= MODE.failuresToOpen;
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
