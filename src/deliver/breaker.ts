/**
 * Whether a destination is well. Closed is shown as NORMAL, open as QUEUE: while it is open, deliveries are kept and
 * one probe at a time finds out whether the destination is back.
 */

export interface BreakerState {
  isOpen: boolean;
  /** Endpoint failures in a row. */
  failures: number;
  openedAt: number;
  /** While open: when the next probe may go. */
  probeAt: number;
  /** Probes that failed since it opened. */
  failedProbes: number;
  /** Slow start: until then at most `slowStartPerS`. */
  slowStartUntil: number;
  slowStartPerS: number;
  /** Successes per second while it was well, a moving average. */
  averagePerS: number;
  lastError: string | undefined;
}

export const BREAKER = {
  failuresToOpen: 3,
  firstProbeMs: 5_000,
  maxProbeMs: 60_000,
  slowStartMs: 60_000,
  slowStartFactor: 2,
  slowStartMinPerS: 10,
  /** Open for so long, the subscription is suspended. */
  suspendAfterMs: 72 * 3_600_000,
  averageOverMs: 60_000,
} as const;

export type BreakerChange = "opened" | "closed" | "expired" | undefined;

export function createBreakerState(): BreakerState {
  return {
    isOpen: false,
    failures: 0,
    openedAt: 0,
    probeAt: 0,
    failedProbes: 0,
    slowStartUntil: 0,
    slowStartPerS: 0,
    averagePerS: 0,
    lastError: undefined,
  };
}

/** Also for an answer that says nothing against the destination, such as a 400: it is reachable. */
export function noteSuccess(state: BreakerState, now: number): BreakerChange {
  state.failures = 0;
  if (!state.isOpen) return undefined;
  state.isOpen = false;
  state.failedProbes = 0;
  state.lastError = undefined;
  state.slowStartUntil = now + BREAKER.slowStartMs;
  state.slowStartPerS = Math.max(BREAKER.slowStartMinPerS, state.averagePerS * BREAKER.slowStartFactor);
  return "closed";
}

export function noteFailure(state: BreakerState, now: number, error: string, jitter: number): BreakerChange {
  state.failures++;
  state.lastError = error;
  if (state.isOpen) {
    state.failedProbes++;
    state.probeAt = now + probeDelayMs(state.failedProbes, jitter);
    return now - state.openedAt >= BREAKER.suspendAfterMs ? "expired" : undefined;
  }
  if (state.failures < BREAKER.failuresToOpen) return undefined;
  state.isOpen = true;
  state.openedAt = now;
  state.failedProbes = 0;
  state.slowStartUntil = 0;
  state.probeAt = now + probeDelayMs(0, jitter);
  return "opened";
}

/** Counts successes of the last interval into the average. */
export function noteRate(state: BreakerState, successes: number, elapsedMs: number): void {
  if (elapsedMs <= 0) return;
  const weight = Math.min(1, elapsedMs / BREAKER.averageOverMs);
  state.averagePerS += weight * ((successes * 1000) / elapsedMs - state.averagePerS);
}

function probeDelayMs(failedProbes: number, jitter: number): number {
  const step = Math.min(BREAKER.maxProbeMs, BREAKER.firstProbeMs * 2 ** failedProbes);
  return step * (1 + 0.2 * jitter);
}
