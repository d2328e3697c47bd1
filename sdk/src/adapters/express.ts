import type { Secret } from "../secret.ts";
import { type VerifiedWebhook, verify, type VerifyOptions } from "../verify.ts";
import { type NodeRequest, readRawBody } from "./read-body.ts";

export interface WebhookRequest extends NodeRequest {
  /** What was verified, for the handlers behind this one. */
  webhook?: VerifiedWebhook;
}

export interface WebhookMiddlewareOptions extends VerifyOptions {
  maxBytes?: number;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;

/**
 * For Express and whatever calls handlers in its way. Only what is verified reaches the next handler, as
 * `request.webhook`; all else goes to the error handler with the status 401, 413 or 500.
 */
export function verifyWebhook(secrets: Secret | readonly Secret[], options: WebhookMiddlewareOptions = {}) {
  const { maxBytes = DEFAULT_MAX_BYTES, ...rules } = options;
  return (request: WebhookRequest, _response: unknown, next: (error?: unknown) => void): void => {
    readRawBody(request, maxBytes)
      .then((body) => verify(body, request.headers, secrets, rules))
      .then((webhook) => {
        request.webhook = webhook;
      })
      .then(() => next(), next);
  };
}
