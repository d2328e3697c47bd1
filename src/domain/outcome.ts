import type { DeadReason } from "./delivery.ts";

/** How an attempt is told to users (`attempts[].result`). */
export const ATTEMPT_RESULTS = ["success", "failed", "timeout", "connection_error", "blocked", "error"] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/**
 * What one attempt came to for one delivery, in words that hold for every kind of destination. A failed delivery is a
 * value, never an exception.
 */
export interface Outcome {
  /**
   * `failed` is tried again. The others that are not `delivered` end the delivery: it will never be taken (`refused`),
   * the destination is gone for good and so is the subscription (`gone`), or our own guard forbade it (`blocked`).
   */
  readonly kind: "delivered" | "refused" | "failed" | "gone" | "blocked";
  readonly result: AttemptResult;
  readonly error: string | undefined;
  /** What it says about the destination, whatever becomes of the delivery. */
  readonly says: HealthSign;
  /** With `failed`: how long the destination asked to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** With `failed`: it is well and does not know the source of the event, which the delivery waits for. */
  readonly missesSource: boolean;
  /** With `refused`, when there is a better word for it. */
  readonly deadReason: DeadReason | undefined;
  /** With `failed`: nothing was sent, by a limit of ours. It is tried again after this, and no try is counted. */
  readonly postponedMs?: number | undefined;
}

/**
 * `limited`: it is too much for the destination. `doubtful`: something is wrong there, or with this one delivery: the
 * first try counts as `ill`.
 */
export type HealthSign = "well" | "ill" | "limited" | "doubtful" | "nothing";

export const DELIVERED: Outcome = Object.freeze({
  kind: "delivered",
  result: "success",
  error: undefined,
  says: "well",
  retryAfterMs: undefined,
  missesSource: false,
  deadReason: undefined,
});

interface FailureFacts {
  result?: AttemptResult | undefined;
  says?: HealthSign | undefined;
  retryAfterMs?: number | undefined;
  missesSource?: boolean | undefined;
}

export function failed(error: string, facts: FailureFacts = {}): Outcome {
  const { result = "failed", says = "ill", retryAfterMs, missesSource = false } = facts;
  return { kind: "failed", result, error, says, retryAfterMs, missesSource, deadReason: undefined };
}

/** A fault of ours: nothing can be said about the destination. */
export function failedHere(error: string): Outcome {
  return failed(error, { result: "error", says: "nothing" });
}

/** A limit of the gateway itself: its turn comes later. */
export function postponed(error: string, postponedMs: number): Outcome {
  return { ...failed(error, { result: "blocked", says: "nothing" }), postponedMs };
}

/** It was taken, but not all went well. */
export function deliveredWith(warning: string): Outcome {
  return { ...DELIVERED, error: warning };
}

export function refused(
  error: string,
  facts: { result?: AttemptResult; says?: HealthSign; deadReason?: DeadReason } = {},
): Outcome {
  const { result = "failed", says = "well", deadReason } = facts;
  return { kind: "refused", result, error, says, retryAfterMs: undefined, missesSource: false, deadReason };
}

/** It would be refused however often it came; nothing was sent. */
export function tooLarge(error: string): Outcome {
  return refused(error, { result: "blocked", says: "nothing", deadReason: "too_large" });
}

export function gone(error: string): Outcome {
  return { ...refused(error), kind: "gone" };
}

export function blocked(error: string): Outcome {
  return { ...refused(error, { result: "blocked", says: "nothing" }), kind: "blocked" };
}

/** Answers of a destination after which another try may succeed. All others that are no success are for good. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status <= 599);
}
