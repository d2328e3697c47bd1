import { MASK } from "../model/secrets.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";
import { findHeaderProblem, isHeaderName } from "./outgoing-header.ts";

/** Checks headers that are sent with every attempt; `signatureHeader` is in lower case. */
export function checkOwnHeaders(
  headers: Readonly<Record<string, string>> | null | undefined,
  signatureHeader?: string,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers ?? {})) {
    const key = name.toLowerCase();
    const isSignature = key === signatureHeader || key === `${signatureHeader}-next`;
    const message =
      findHeaderProblem(name, value) ??
      (isSignature ? "is set by the gateway" : undefined) ??
      (value === MASK ? `${MASK} is only how a stored value is shown; give the value again` : undefined) ??
      (seen.has(key) ? "is given twice; upper and lower case make no difference in header names" : undefined);
    seen.add(key);
    if (message === undefined) continue;
    problems.push(
      isHeaderName(name)
        ? { field: `headers.${name}`, message }
        : { field: "headers", message: `${JSON.stringify(name)} ${message}` },
    );
  }
  return problems;
}
