import { MASK } from "../../domain/mask.ts";
import type { FieldProblem } from "../../domain/subscription-rules.ts";
import { findHeaderProblem, isHeaderName } from "./outgoing-header.ts";

/** Headers that are sent with every attempt; `signatureHeader` in lower case. */
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
      (value === MASK ? `${MASK} is how a stored value is shown; give it anew` : undefined) ??
      (seen.has(key) ? "is given twice; header names do not differ by case" : undefined);
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
