import { PosthornError, type ErrorCode, type ErrorOptions } from "./errors.ts";

/** A rejection as a value: the request cannot be done in the current state. An exception is a fault. */
export interface Refused {
  refused: Refusal;
}

export interface Refusal extends Pick<ErrorOptions, "field" | "details"> {
  code: ErrorCode;
  message: string;
}

export function refuse(code: ErrorCode, message: string, more: Pick<ErrorOptions, "field" | "details"> = {}): Refused {
  return { refused: { code, message, ...more } };
}

export function isRefused(result: unknown): result is Refused {
  return typeof result === "object" && result !== null && "refused" in result;
}

/** Turns a rejection into the error that the client is shown. */
export function orThrow<T>(result: T | Refused): T {
  if (!isRefused(result)) return result;
  const { code, message, field, details } = result.refused;
  throw new PosthornError(code, message, { field, details });
}
