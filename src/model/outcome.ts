import type { DeadReason } from "./delivery.ts";

/** The result of an attempt, as users see it (`attempts[].result`). */
export const ATTEMPT_RESULTS = ["success", "failed", "timeout", "connection_error", "blocked", "error"] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/**
 * The outcome of one attempt for one delivery, in terms that fit every kind of destination. A failed delivery is a
 * value, never an exception.
 */
export interface Outcome {
  /**
   * `failed` is retried. The others, except `delivered`, end the delivery without success: the destination will never
   * accept it (`refused`), the destination no longer exists and its subscription ends too (`gone`), or the gateway's
   * own guard forbade it (`blocked`).
   */
  readonly kind: "delivered" | "refused" | "failed" | "gone" | "blocked";
  readonly result: AttemptResult;
  readonly error: string | undefined;
  /** What the attempt says about the destination's health, whatever happens to the delivery. */
  readonly says: HealthSign;
  /** With `failed`: how long the destination asked us to wait. */
  readonly retryAfterMs: number | undefined;
  /**
   * With `failed`: the destination is healthy but does not know the event's source yet; the delivery waits for that.
   */
  readonly missesSource: boolean;
  /** With `refused`: a more specific reason, if there is one. */
  readonly deadReason: DeadReason | undefined;
  /**
   * With `failed`: a limit of the gateway stopped the attempt before anything was sent. It is retried after this time
   * and does not count as an attempt.
   */
  readonly postponedMs?: number | undefined;
}

/**
 * `limited`: the destination gets too much traffic. `doubtful`: either the destination or this one delivery is at
 * fault; the first attempt of a delivery counts as `ill`.
 */
export type HealthSign = "well" | "ill" | "limited" | "doubtful" | "nothing";

/**
 * What a kind of destination records about an attempt. Only the kind knows what it means; the store knows how long it
 * keeps each part. Secrets are masked.
 */
export interface KindRecord {
  /** Where the attempt went. */
  place: string | undefined;
  /** The IP address connected to, when a connection was made. */
  address: string | undefined;
  /** What was sent, in lines; empty when nothing was. Erased with the event, and what attempts have in common is stored once. */
  sent: string | undefined;
  /** The status of the answer, for lists and logs. */
  code: number | undefined;
  /** What the kind knows since the attempt: a JSON object. Kept as long as answers. */
  facts: string | undefined;
  /** At most 8 KB of the answer. */
  answer: Uint8Array | undefined;
}

export const UNSENT: Omit<KindRecord, "place"> = Object.freeze({
  address: undefined,
  sent: "",
  code: undefined,
  facts: undefined,
  answer: undefined,
});

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

/** A fault of the gateway: says nothing about the destination. */
export function failedHere(error: string): Outcome {
  return failed(error, { result: "error", says: "nothing" });
}

/** A limit of the gateway: the delivery is attempted later. */
export function postponed(error: string, postponedMs: number): Outcome {
  return { ...failed(error, { result: "blocked", says: "nothing" }), postponedMs };
}

/** The destination accepted it, with a warning. */
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

/** The destination would reject it every time, so nothing was sent. */
export function tooLarge(error: string): Outcome {
  return refused(error, { result: "blocked", says: "nothing", deadReason: "too_large" });
}

export function gone(error: string): Outcome {
  return { ...refused(error), kind: "gone" };
}

export function blocked(error: string): Outcome {
  return { ...refused(error, { result: "blocked", says: "nothing" }), kind: "blocked" };
}

/** Statuses after which a retry may succeed. All other failures are final. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status <= 599);
}
