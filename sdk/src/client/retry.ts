import { PosthornApiError, PosthornConnectionError } from "./api-error.ts";
import type { RequestOptions, RetryOptions } from "./options.ts";
import type { ApiRequest, Transport } from "./transport.ts";
import { wait } from "./wait.ts";

export interface Backoff {
  retries: number;
  minDelayMs: number;
  maxDelayMs: number;
}

export function readBackoff({ retries = 4, minDelayMs = 250, maxDelayMs = 30_000 }: RetryOptions = {}): Backoff {
  return { retries, minDelayMs, maxDelayMs };
}

/** Rejected before anything was done. */
const REJECTED = new Set<string>(["too_many_requests", "quota_exceeded", "overloaded"]);
/** Somebody on the way, or the gateway itself, may be well again soon; it may have been carried out. */
const UNKNOWN = new Set([408, 502, 503, 504]);

/** Whether the same request may be sent again without being carried out twice. */
export function isWorthRetrying(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof PosthornConnectionError) return isRepeatable;
  if (!(error instanceof PosthornApiError)) return false;
  return REJECTED.has(error.code) || (isRepeatable && UNKNOWN.has(error.status));
}

/** Undefined when the gateway asks for more patience than allowed. Random, so that clients do not come all at once. */
export function delayBefore(retry: number, error: unknown, { minDelayMs, maxDelayMs }: Backoff): number | undefined {
  const askedS = error instanceof PosthornApiError ? error.retryAfterS : undefined;
  if (askedS !== undefined) return askedS * 1000 > maxDelayMs ? undefined : askedS * 1000;
  const longest = Math.min(maxDelayMs, minDelayMs * 2 ** retry);
  return longest / 2 + (Math.random() * longest) / 2;
}

/** Sends each request as often as it takes and as is allowed. */
export function withRetries({ backoff, send, open }: Transport): Transport {
  async function repeat<Result>(
    request: ApiRequest,
    options: RequestOptions,
    attempt: (request: ApiRequest, options: RequestOptions) => Promise<Result>,
  ): Promise<Result> {
    const retries = options.retries ?? backoff.retries;
    for (let retry = 0; ; retry++) {
      try {
        return await attempt(request, options);
      } catch (error) {
        const isOver = retry >= retries || !isWorthRetrying(error, request.isRepeatable);
        const delayMs = isOver ? undefined : delayBefore(retry, error, backoff);
        if (delayMs === undefined) throw error;
        await wait(delayMs, options.signal);
      }
    }
  }

  return {
    backoff,
    send: (request, options = {}) => repeat(request, options, send),
    open: (request, options = {}) => repeat(request, options, open),
  };
}
