/** What the kind http makes of answers, for those who play a destination without one. */
import { classify, type RetryOn } from "../../src/destinations/classify-answer.ts";
import type { HttpDestination } from "../../src/destinations/http/settings.ts";
import { failed, UNSENT, type KindRecord, type Outcome } from "../../src/model/outcome.ts";
import type { Subscription } from "../../src/model/subscription.ts";

export const NO_RETRY_ON: RetryOn = {
  statuses: [],
  sourceStatuses: [],
  bodyContains: undefined,
  bodyIs: undefined,
};

export const HTTP_DESTINATION: HttpDestination = {
  url: "https://example.com/hook",
  format: "auto",
  signatureHeader: "X-Webhook-Signature",
  retryOn: NO_RETRY_ON,
  headers: {},
  allowedIps: undefined,
  auth: undefined,
  forwardHeaders: undefined,
  allowOwnUrl: false,
  maxBytes: undefined,
  templates: undefined,
  needsPermission: false,
  wantsPlainJson: false,
};

export function destinationOf({ destination }: Pick<Subscription, "destination">): HttpDestination {
  return destination as HttpDestination;
}

/** As if this had been answered; the error is the status alone. */
export function answered(
  status: number,
  { retryOn = NO_RETRY_ON, retryAfterMs }: { retryOn?: RetryOn; retryAfterMs?: number | undefined } = {},
): Outcome {
  const body = new Uint8Array(0);
  const answer = { kind: "response", status, headers: {}, body, address: "192.0.2.1", url: "" } as const;
  const outcome = classify(answer, retryOn, () => 0);
  if (outcome.kind === "delivered") return outcome;
  return { ...outcome, error: String(status), retryAfterMs: outcome.kind === "failed" ? retryAfterMs : undefined };
}

export function unreachable(error = "connection refused"): Outcome {
  return failed(error, { result: "connection_error" });
}

export function timedOut(error = "no answer in time"): Outcome {
  return failed(error, { result: "timeout" });
}

export function recordOf({ place }: Pick<Subscription, "place">, code?: number): KindRecord {
  return { ...UNSENT, place, sent: "{}", code };
}
