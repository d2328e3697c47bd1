import { PosthornError } from "../../model/errors.ts";

/** What the check of a body finds, and why a check is not possible. Without the packages that check. */

export interface Mismatch {
  /** A JSON Pointer; for XML, an XPath. */
  path: string;
  message: string;
  line?: number;
}

/** The error of a payload whose check would exceed its steps or its time. */
export const TOO_LONG = "takes too long to check";

export class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

/** Why a schema cannot be used. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

/** A document that cannot be read only because it is nested too deeply can be parsed: that is its fault. */
export function tooDeepOr(error: unknown, maxDepth: number): unknown {
  const isTooDeep = error instanceof PosthornError && String(error.details?.["reason"]).startsWith("nested deeper");
  return isTooDeep ? new SchemaFault(`is nested more than ${maxDepth} levels deep`) : error;
}
