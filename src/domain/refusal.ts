import { PosthornError, type ErrorCode, type ErrorOptions } from "./errors.ts";

/** A "no" as a value: as things stand, what was asked for cannot be done. An exception is a fault. */
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

/** Where somebody is to be told: the refusal becomes the error that they are shown. */
export function orThrow<T>(result: T | Refused): T {
  if (!isRefused(result)) return result;
  const { code, message, field, details } = result.refused;
  throw new PosthornError(code, message, { field, details });
}
