import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS, PosthornError } from "../model/errors.ts";

/** For all answers that are not pages: not cached, and browsers do not guess the content type. */
export const ANSWER_HEADERS = { "x-content-type-options": "nosniff", "cache-control": "no-store" } as const;

/** RFC 9457. The only place where an error becomes a status. */
export interface Problem {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const DEFAULT_RETRY_AFTER_S = 5;

export function toProblem(error: unknown, requestId?: string): Problem {
  const known = error instanceof PosthornError ? error : undefined;
  const { status } = ERRORS[known?.code ?? "internal_error"];
  const headers: Record<string, string> = { "content-type": "application/problem+json", ...ANSWER_HEADERS };
  if (status === 503 || status === 429) headers["retry-after"] = String(known?.retryAfterS ?? DEFAULT_RETRY_AFTER_S);
  if (status === 401) headers["www-authenticate"] = "Bearer";
  const allow = known?.details?.["allow"];
  if (status === 405 && Array.isArray(allow)) headers["allow"] = allow.join(", ");
  return {
    status,
    headers,
    body: JSON.stringify({ ...describeError(error), ...(requestId && { request_id: requestId }) }),
  };
}

/** The problem as a value, also for one item of a batch. Details of unexpected errors stay in the log. */
export function describeError(error: unknown): Record<string, unknown> {
  const known = error instanceof PosthornError ? error : undefined;
  const code = known?.code ?? "internal_error";
  const { status, title } = ERRORS[code];
  const { type: _, title: __, ...details } = known?.details ?? {};
  return {
    type: `urn:posthorn:error:${code}`,
    title,
    status,
    code,
    detail: known?.message ?? "Something went wrong inside the gateway. It was logged.",
    ...(known?.field !== undefined && { field: known.field }),
    ...details,
  };
}

/** How long a sender that is still writing may take to notice that it was rejected. */
export const LINGER_MS = 2000;

export interface ProblemOptions {
  /** When the body was not read: reading the rest just to keep the connection is not worth it. */
  close?: boolean | undefined;
  /** Under which the rejected request is stored, or found in the log. */
  requestId?: string | undefined;
}

export function sendProblem(response: ServerResponse, error: unknown, options?: ProblemOptions): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const problem = toProblem(error, options?.requestId);
  if (options?.close === true) problem.headers["connection"] = "close";
  response.writeHead(problem.status, { ...problem.headers, "content-length": Buffer.byteLength(problem.body) });
  if (options?.close === true && isStillSending(response.req)) endLate(response, problem.body);
  else response.end(problem.body);
}

function isStillSending(request: IncomingMessage): boolean {
  const { expect, "content-length": length = "0", "transfer-encoding": transfer } = request.headers;
  return !request.complete && expect === undefined && (transfer !== undefined || length !== "0");
}

/**
 * Closing a connection with unread bytes resets it, and senders that are still writing then see a broken pipe instead
 * of the answer. So the rest is read and discarded for a moment first.
 */
function endLate(response: ServerResponse, body: string): void {
  response.write(body);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS).unref();
  response.req.once("end", end).once("close", end).resume();
}
