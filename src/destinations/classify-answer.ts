import {
  blocked,
  DELIVERED,
  failed,
  failedHere,
  gone,
  isTransientStatus,
  refused,
  type HealthSign,
  type Outcome,
} from "../model/outcome.ts";
import { parseRetryAfter } from "../model/retry-policy.ts";
import { viewOf } from "./json.ts";
import type { HttpResponse, HttpResult } from "./wire/http.ts";

/** Additional answers that count as failures to retry. */
export interface RetryOn {
  readonly statuses: readonly number[];
  /** Statuses which mean that the destination does not know the event's source, or not yet. */
  readonly sourceStatuses?: readonly number[] | undefined;
  readonly bodyContains?: string | undefined;
  readonly bodyIs?: string | undefined;
  /** Statuses that end the delivery. */
  readonly giveUpOn?: readonly number[] | undefined;
  /** Whether all other answers count as failures to retry. */
  readonly allOthers?: boolean | undefined;
  /** Statuses that, without a body, do not come from the destination itself. */
  readonly emptyStatuses?: readonly number[] | undefined;
}

const TOO_MANY_REQUESTS = 429;

/** What an answer, or a missing answer, means for the delivery and says about the destination. */
export function classify(result: HttpResult, retryOn: RetryOn, wall: () => number): Outcome {
  switch (result.kind) {
    case "response":
      return classifyAnswer(result, retryOn, wall);
    case "timed_out": {
      const isLimited = result.response?.status === TOO_MANY_REQUESTS;
      return failed(result.error, { result: "timeout", says: isLimited ? "limited" : "ill" });
    }
    case "unreachable":
      return failed(result.error, { result: "connection_error" });
    case "blocked":
      return blocked(result.error);
    case "error":
      return failedHere(result.error);
  }
}

function classifyAnswer(answer: HttpResult & { kind: "response" }, retryOn: RetryOn, wall: () => number): Outcome {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const objection = findObjection(answer, retryOn);
    return objection === undefined ? DELIVERED : failed(objection);
  }
  const error = answer.error === undefined ? `answered ${status}` : `answered ${status}; ${answer.error}`;
  const says = signOf(status);
  const isPacing = status === TOO_MANY_REQUESTS || status === 503;
  const retryAfterMs = isPacing ? parseRetryAfter(answer.headers["retry-after"], wall()) : undefined;
  if (retryOn.statuses.includes(status)) {
    return failed(error, { says: says === "limited" ? says : "ill", retryAfterMs });
  }
  if (answer.body.length === 0 && retryOn.emptyStatuses?.includes(status) === true) {
    return failed(`${error} without a body: a tunnel or proxy has no way to the target`, { retryAfterMs });
  }
  if (retryOn.giveUpOn?.includes(status) === true) return refused(error, { says });
  if (status === 410 && retryOn.allOthers !== true) return gone(error);
  if (status === 508 && isLoop(answer)) return refused(`${error}: ${LOOP}`, { says });
  if (retryOn.sourceStatuses?.includes(status)) return failed(error, { says, missesSource: true });
  const isRetried = retryOn.allOthers === true || isTransientStatus(status);
  return isRetried ? failed(error, { says, retryAfterMs }) : refused(error, { says });
}

/** Some destinations answer 200 while they are not ready (n8n does while it starts). */
function findObjection(answer: HttpResponse, retryOn: RetryOn): string | undefined {
  if (retryOn.statuses.includes(answer.status)) {
    return `answered ${answer.status}, which retry_on.statuses names as a failure`;
  }
  const text = retryOn.bodyContains;
  if (text === undefined && retryOn.bodyIs === undefined) return undefined;
  const body = viewOf(answer.body);
  if (retryOn.bodyIs !== undefined && body.toString("utf8").trim() === retryOn.bodyIs) {
    return `answered ${answer.status}, but only: ${retryOn.bodyIs}`;
  }
  const found = text !== undefined && body.includes(text, 0, "utf8");
  return found ? `answered ${answer.status} with the text of retry_on.body_contains` : undefined;
}

const LOOP = "a gateway reports that the event goes round in a loop";

/** Other servers answer 508 too, but for a temporary problem. */
function isLoop({ body }: HttpResponse): boolean {
  return viewOf(body).includes('"urn:posthorn:error:loop"');
}

/** Only for answers that are not a success. */
function signOf(status: number): HealthSign {
  if (status === TOO_MANY_REQUESTS) return "limited";
  if ((status >= 502 && status <= 504) || isOfCloudflare(status)) return "ill";
  return status < 500 ? "well" : "doubtful";
}

/**
 * Cloudflare answers so while it cannot reach the server behind it, or the tunnel to it (530). Not 520, which a faulty
 * answer of the server causes too.
 */
function isOfCloudflare(status: number): boolean {
  return (status >= 521 && status <= 526) || status === 530;
}
