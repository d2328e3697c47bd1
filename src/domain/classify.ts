import type { DeadReason } from "./delivery.ts";
import type { Outcome, Response } from "./outcome.ts";
import type { Subscription } from "./subscription.ts";

/** What an attempt's outcome means for its delivery and for its destination. */
export interface Classification {
  verdict: "delivered" | "retry" | "dead";
  deadReason?: DeadReason;
  /** Whether it counts as a failure of the destination, rather than of this one delivery. */
  countsAgainstEndpoint: boolean;
  /** Whether the subscription is to be suspended. */
  suspends: boolean;
  error: string | undefined;
  /** It is well and does not know the source of the event: the delivery waits for that. */
  missesSource?: true;
}

const DELIVERED: Classification = Object.freeze({
  verdict: "delivered",
  countsAgainstEndpoint: false,
  suspends: false,
  error: undefined,
});

export function classify(outcome: Outcome, retryOn: Subscription["retryOn"]): Classification {
  switch (outcome.kind) {
    case "delivered": {
      const objection = findObjection(outcome.response, retryOn);
      return objection === undefined ? DELIVERED : retry(objection, true);
    }
    case "refused": {
      const { status } = outcome.response;
      if (retryOn.statuses.includes(status)) return retry(outcome.error, true);
      if (status === 508 && isLoop(outcome.response)) return dead("refused", `${outcome.error}: ${LOOP}`);
      if (retryOn.sourceStatuses?.includes(status) === true) {
        return { ...retry(outcome.error, false), missesSource: true };
      }
      return isTransient(status) ? retry(outcome.error, isEndpointFailure(status)) : dead("refused", outcome.error);
    }
    case "gone":
      if (retryOn.statuses.includes(outcome.response.status)) return retry(outcome.error, true);
      return { ...dead("gone", outcome.error), suspends: true };
    case "timed_out":
    case "unreachable":
      return retry(outcome.error, true);
    case "blocked":
      return dead("blocked", outcome.error);
    case "too_large":
      return dead("too_large", outcome.error);
    case "error":
      return retry(outcome.error, false);
  }
}

/** Some destinations answer 200 while they cannot work yet (n8n does while it starts). */
function findObjection(response: Response, retryOn: Subscription["retryOn"]): string | undefined {
  if (retryOn.statuses.includes(response.status)) {
    return `answered ${response.status}, which retry_on.statuses names as a failure`;
  }
  const text = retryOn.bodyContains;
  if (text === undefined && retryOn.bodyIs === undefined) return undefined;
  const { buffer, byteOffset, byteLength } = response.body;
  const body = Buffer.from(buffer, byteOffset, byteLength);
  if (retryOn.bodyIs !== undefined && body.toString("utf8").trim() === retryOn.bodyIs) {
    return `answered ${response.status}, but only: ${retryOn.bodyIs}`;
  }
  const found = text !== undefined && body.includes(text, 0, "utf8");
  return found ? `answered ${response.status} with the text of retry_on.body_contains` : undefined;
}

const LOOP = "a gateway says that the event goes round in a loop";

/** Others answer 508 too, and mean something that passes. */
function isLoop({ body }: Response): boolean {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"urn:posthorn:error:loop"');
}

function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status <= 599);
}

function isEndpointFailure(status: number): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

function retry(error: string, countsAgainstEndpoint: boolean): Classification {
  return { verdict: "retry", countsAgainstEndpoint, suspends: false, error };
}

function dead(deadReason: DeadReason, error: string): Classification {
  return { verdict: "dead", deadReason, countsAgainstEndpoint: false, suspends: false, error };
}
