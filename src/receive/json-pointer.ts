import { elementSpans, memberSpans, skipSpace, type Span } from "./json-members.ts";
import { bomLength } from "./unreadable.ts";

/** Reads values by JSON Pointer out of a body. */

/** The value at a pointer; undefined where there is none. Sees own properties only. */
export function valueAt(value: unknown, pointer: readonly string[]): unknown {
  let found = value;
  for (const token of pointer) {
    if (typeof found !== "object" || found === null) return undefined;
    if (Array.isArray(found)) {
      if (!isIndex(token)) return undefined;
      found = (found as unknown[])[Number(token)];
    } else {
      if (!Object.hasOwn(found, token)) return undefined;
      found = (found as Record<string, unknown>)[token];
    }
  }
  return found;
}

/** A string as it is, a number or a boolean as its text; nothing else has one. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/**
 * The text of the scalar at a pointer of `value`, which was parsed from `json`. A number that a float may have
 * rounded is read again as it was written: ids beyond 2^53 are common.
 */
export function scalarTextAt(json: Buffer, value: unknown, pointer: readonly string[]): string | undefined {
  const found = valueAt(value, pointer);
  if (typeof found !== "number" || Number.isSafeInteger(found)) return scalarText(found);
  const span = findSpan(json, pointer);
  return span === undefined ? undefined : json.toString("latin1", span.start, span.end).trim();
}

function findSpan(json: Buffer, pointer: readonly string[]): Span | undefined {
  let span: Span | undefined = { start: bomLength(json), end: json.length };
  for (const token of pointer) {
    if (span === undefined) return undefined;
    span =
      json[skipSpace(json, span.start)] === 0x5b
        ? elementSpans(json, span.start, span.end, Number(token) + 1)[Number(token)]
        : memberSpans(json, span.start, span.end).get(token);
  }
  return span;
}

/** Canonical: no sign, no leading zero. */
function isIndex(token: string): boolean {
  return /^(0|[1-9][0-9]*)$/.test(token);
}
