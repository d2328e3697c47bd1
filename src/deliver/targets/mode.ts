import { USUAL_MAX_PROBE_MS, type Mode } from "../../domain/target.ts";

/**
 * The mode of a target: closed is shown as NORMAL, open as QUEUE. While it is open, deliveries are kept and one probe
 * at a time finds out whether the target is back.
 */
export interface TargetMode {
  isOpen: boolean;
  /** Failures in a row that are the target's, those of health checks among them. */
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
  lastError: string | undefined;
}

export const MODE = {
  failuresToOpen: 3,
  /** So many in a row are no chance, even where something was taken a moment ago. */
  failuresInAnyCase: 100,
  /** Whoever took something since is not down: among many, three in a row fail by chance. */
  sureAfterMs: 3_000,
  firstProbeMs: 1_000,
  maxProbeMs: USUAL_MAX_PROBE_MS,
  /** Back in QUEUE so soon, it was not really back: probes go on where they were, and what flows starts lower. */
  relapseMs: 60_000,
  maxRelapses: 6,
} as const;

/** `still`: it was open before, and a probe or a check has failed. */
export type ModeChange = "opened" | "closed" | "still" | undefined;

export function createMode(): TargetMode {
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
    lastError: undefined,
  };
}

/** Also for an answer that says nothing against the destination, such as a 400: it is reachable. */
export function noteSuccess(mode: TargetMode, now: number): "closed" | undefined {
  forgetFailures(mode);
  mode.tookAt = now;
  if (!mode.isOpen) return undefined;
  closeMode(mode, now, "it answers again");
  return "closed";
}

export function forgetFailures(mode: TargetMode): void {
  mode.failures = 0;
  mode.failedChecks = 0;
}

export function closeMode(mode: TargetMode, now: number, reason: string): void {
  // Not from `openedAt`, which begins anew when its subscription is resumed.
  mode.awayMs = now - (mode.changedAt ?? mode.openedAt);
  mode.isOpen = false;
  mode.changedAt = now;
  mode.closedAt = now;
  mode.reason = reason;
  mode.failedProbes = 0;
  mode.lastError = undefined;
}

export function openMode(
  mode: TargetMode,
  now: number,
  reason: string,
  jitter: number,
  maxProbeMs: number = MODE.maxProbeMs,
): void {
  const isRelapse = mode.closedAt !== undefined && now - mode.closedAt < MODE.relapseMs;
  mode.relapses = isRelapse ? Math.min(MODE.maxRelapses, mode.relapses + 1) : 0;
  mode.isOpen = true;
  mode.changedAt = now;
  mode.reason = reason;
  mode.openedAt = now;
  mode.failedProbes = mode.relapses;
  postponeProbe(mode, now, jitter, maxProbeMs);
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
  maxProbeMs?: number;
}

export function noteFailure(mode: TargetMode, failure: Failure): "opened" | "still" | undefined {
  const { now, error, jitter, isProbe, failuresToOpen = MODE.failuresToOpen, maxProbeMs } = failure;
  mode.failures++;
  mode.lastError = error;
  if (mode.isOpen) {
    // What was in flight when it opened proves nothing new.
    if (!isProbe) return undefined;
    mode.failedProbes++;
    postponeProbe(mode, now, jitter, maxProbeMs);
    return "still";
  }
  if (!isDown(mode, now, failuresToOpen)) return undefined;
  openMode(mode, now, error, jitter, maxProbeMs);
  return "opened";
}

/** One that is sent to a lot fails three times in a row by chance, and takes the next: it must have taken nothing for a while. */
function isDown({ failures, failedChecks, tookAt }: TargetMode, now: number, failuresToOpen: number): boolean {
  if (failures < failuresToOpen) return false;
  if (tookAt === undefined || now - tookAt >= MODE.sureAfterMs) return true;
  return failedChecks >= failuresToOpen || failures >= Math.max(failuresToOpen, MODE.failuresInAnyCase);
}

/** The next probe must not follow at once: one said nothing about the destination, or too many others are under way. */
export function postponeProbe(mode: TargetMode, now: number, jitter: number, maxProbeMs = USUAL_MAX_PROBE_MS): void {
  const stepMs = Math.min(maxProbeMs, MODE.firstProbeMs * 2 ** mode.failedProbes);
  mode.probeAt = now + stepMs * (1 + 0.2 * jitter);
}

/** Sending goes on after a pause: the destination gets its whole time again. */
export function beginAnew(mode: TargetMode, now: number): void {
  if (!mode.isOpen) return;
  mode.openedAt = now;
  mode.probeAt = now;
}

/** What is to be told of a target's mode, and of the subscriptions that send there. */
export interface ModeNotices {
  /** Since the last success something failed that is not an event of the gateway itself: what follows is told. */
  failedOthers: boolean;
  /** That it opened was told, so that it closed must be told as well. */
  isOpeningTold: boolean;
}

export function createModeNotices(): ModeNotices {
  return { failedOthers: false, isOpeningTold: false };
}

/** Somebody's event failed, or a check did, or an operator has decided: no event of the gateway itself is the cause. */
export function noteOthersFailed(notices: ModeNotices): void {
  notices.failedOthers = true;
}

export function noteOthersTaken(notices: ModeNotices): void {
  notices.failedOthers = false;
}

/**
 * Whether it is to be told that it opened. Once for each failure of what is not the gateway's own: else the notice of an
 * opening, failing at the same destination, would be the cause of the next one.
 */
export function takeOpeningNotice(notices: ModeNotices): boolean {
  notices.isOpeningTold = notices.failedOthers;
  notices.failedOthers = false;
  return notices.isOpeningTold;
}

/** Whether it is to be told that it closed. */
export function takeClosingNotice(notices: ModeNotices): boolean {
  const wasTold = notices.isOpeningTold;
  notices.isOpeningTold = false;
  return wasTold;
}
