import { ERRORS, PosthornError, type ErrorCode } from "../model/errors.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";

/** Reports errors that are our own fault, with the place, but without secrets of a URL. */
export type NoteServerError = (
  error: unknown,
  place: { method?: string | undefined; path: string; requestId?: string | undefined },
) => void;

const LOG_AGAIN_MS = 10_000;
/** The number of kinds that are kept apart; messages are few, but nothing guarantees it. */
const MAX_KINDS = 200;

/**
 * Each 5xx answer is counted. The first of each kind is logged immediately, then one every ten seconds, with the number
 * of those in between: enough to find the cause, not enough to make an overload worse.
 */
export function createServerErrors(options: {
  logger: Logger;
  metrics: Pick<Metrics, "countServerError">;
  now: () => number;
}): NoteServerError {
  const { logger, metrics, now } = options;
  const told = new Map<string, { at: number; untold: number }>();

  return (error, { method, path, requestId }) => {
    const known = error instanceof PosthornError ? error : undefined;
    const code: ErrorCode = known?.code ?? "internal_error";
    metrics.countServerError(code);
    const message = error instanceof Error ? error.message : String(error);
    const kind = `${code} ${message}`;
    const last = told.get(kind);
    if (last !== undefined && now() - last.at < LOG_AGAIN_MS) {
      last.untold++;
      return;
    }
    if (last === undefined && told.size >= MAX_KINDS) told.clear();
    told.set(kind, { at: now(), untold: 0 });
    const place = {
      code,
      status: ERRORS[code].status,
      method,
      path,
      ...(requestId !== undefined && { request_id: requestId }),
      ...(last?.untold && { untold: last.untold }),
    };
    if (code === "internal_error") logger.error({ ...place, error }, "request failed");
    else logger.warn({ ...place, detail: message, ...(known?.cause !== undefined && { cause: known.cause }) }, FAILED);
  };
}

const FAILED = "request failed because of an internal error";
