import { USUAL_MAX_PROBE_MS, type Mode } from "../model/target.ts";

/**
 * The mode of a target. Closed is shown as NORMAL, open as QUEUE. While it is open, deliveries are kept, and one probe
 * at a time finds out whether the target is back.
 */
export type TargetMode = Readonly<ModeState>;
/** As the functions of this file and of `target.ts` write it; all others have a `TargetMode`. */
export type ModeState = ReturnType<typeof createMode>;

export const MODE = {
  failuresToOpen: 3,
  /** So many failures in a row are no coincidence, even if a delivery was accepted a moment ago. */
  failuresInAnyCase: 100,
  firstProbeMs: 1_000,
  maxProbeMs: USUAL_MAX_PROBE_MS,
  /**
   * A target that returns to QUEUE this soon was not really back: probes continue with their last wait, and the slow
   * start begins lower.
   */
  relapseMs: 60_000,
  maxRelapses: 6,
} as const;

/** `still`: the mode was open already, and a probe or check has failed. */
export type ModeChange = "opened" | "closed" | "still" | undefined;

export function createMode() {
  return {
    isOpen: false,
    /** Failures in a row that are the target's fault, failed health checks included. */
    failures: 0,
    /** How many of these failures are failed checks: a successful check resets only these. */
    failedChecks: 0,
    /** The mode that an operator has set: nothing else changes it. */
    forced: undefined as Mode | undefined,
    /** When and why the mode last changed; undefined when it never did. */
    changedAt: undefined as number | undefined,
    reason: undefined as string | undefined,
    openedAt: 0,
    /** While open: when the next probe may begin. */
    probeAt: 0,
    /** Probes that failed since it opened. */
    failedProbes: 0,
    /** When the target last accepted a delivery; undefined when it never did. */
    acceptedAt: undefined as number | undefined,
    /** When the target last left QUEUE, and how often it returned there soon after. */
    closedAt: undefined as number | undefined,
    relapses: 0,
    /** How long the target was in QUEUE the last time. */
    awayMs: 0,
    lastError: undefined as string | undefined,
  };
}

/** Also for an answer such as 400, which says nothing against the destination: it is reachable. */
export function recordAnswer(mode: ModeState, now: number): "closed" | undefined {
  forgetFailures(mode);
  mode.acceptedAt = now;
  if (!mode.isOpen) return undefined;
  closeMode(mode, now, "it answers again");
  return "closed";
}

export function forgetFailures(mode: ModeState): void {
  mode.failures = 0;
  mode.failedChecks = 0;
}

export function closeMode(mode: ModeState, now: number, reason: string): void {
  // Not from `openedAt`, which is reset when the subscription is resumed.
  mode.awayMs = now - (mode.changedAt ?? mode.openedAt);
  mode.isOpen = false;
  mode.changedAt = now;
  mode.closedAt = now;
  mode.reason = reason;
  mode.failedProbes = 0;
  mode.lastError = undefined;
}

export function openMode(
  mode: ModeState,
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
  /** While the mode is open, only a probe brings new information. */
  isProbe: boolean;
  /** How many failures in a row open it; the usual number when not given. */
  failuresToOpen?: number;
  /** For how long the target must have accepted nothing. */
  sureAfterMs?: number;
  maxProbeMs?: number;
}

export function countFailure(mode: ModeState, failure: Failure): "opened" | "still" | undefined {
  const { now, error, jitter, isProbe, maxProbeMs } = failure;
  const { failuresToOpen = MODE.failuresToOpen, sureAfterMs = 0 } = failure;
  mode.failures++;
  mode.lastError = error;
  if (mode.isOpen) {
    // An attempt that was in flight when the mode opened proves nothing new.
    if (!isProbe) return undefined;
    mode.failedProbes++;
    postponeProbe(mode, now, jitter, maxProbeMs);
    return "still";
  }
  if (!isDown(mode, now, failuresToOpen, sureAfterMs)) return undefined;
  openMode(mode, now, error, jitter, maxProbeMs);
  return "opened";
}

function isDown(
  { failures, failedChecks, acceptedAt }: TargetMode,
  now: number,
  failuresToOpen: number,
  sureAfterMs: number,
): boolean {
  if (failures < failuresToOpen) return false;
  if (acceptedAt === undefined || now - acceptedAt >= sureAfterMs) return true;
  return failedChecks >= failuresToOpen || failures >= Math.max(failuresToOpen, MODE.failuresInAnyCase);
}

/** Delays the next probe, because the last one said nothing about the destination or too many others are running. */
export function postponeProbe(mode: ModeState, now: number, jitter: number, maxProbeMs = USUAL_MAX_PROBE_MS): void {
  const stepMs = Math.min(maxProbeMs, MODE.firstProbeMs * 2 ** mode.failedProbes);
  mode.probeAt = now + stepMs * (1 + 0.2 * jitter);
}

/** Sending continues after a pause: the time in QUEUE is counted from now. */
export function restartOutage(mode: ModeState, now: number): void {
  if (!mode.isOpen) return;
  mode.openedAt = now;
  mode.probeAt = now;
}

/** Which mode changes of a target must be reported, to the subscriptions that send there too. */
export function createModeNotices() {
  return {
    /** Since the last success something failed that is not one of the gateway's own events: mode changes are reported. */
    failedOthers: false,
    /** The opening was reported, so the closing must be reported too. */
    isOpeningTold: false,
  };
}

type NoticeState = ReturnType<typeof createModeNotices>;
/** Written only by the functions of this file. */
export type ModeNotices = Readonly<NoticeState>;

/** A user's event or a check failed, or an operator decided: a change of the mode must be reported. */
export function markReportable({ notices }: { notices: NoticeState }): void {
  notices.failedOthers = true;
}

/** A delivery was accepted: what failed before need not be reported any more. */
export function clearReportable({ notices }: { notices: NoticeState }): void {
  notices.failedOthers = false;
}

/**
 * Whether the change of the mode must be reported; asked once for each change. An opening only once for each failure of
 * a user's event: otherwise the report, failing at the same destination, would cause the next report.
 */
export function takeModeNotice({ mode, notices }: { mode: TargetMode; notices: NoticeState }): boolean {
  if (mode.isOpen) {
    notices.isOpeningTold = notices.failedOthers;
    notices.failedOthers = false;
    return notices.isOpeningTold;
  }
  const wasTold = notices.isOpeningTold;
  notices.isOpeningTold = false;
  return wasTold;
}
