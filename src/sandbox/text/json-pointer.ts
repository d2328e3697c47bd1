import { elementSpans, findMember, readString, skipSpace, trimEnd, type Span } from "../../model/json-members.ts";
import { bomLength } from "./unreadable.ts";

/**
 * The text of the scalar at a JSON Pointer, in a body that is known to be JSON: a string as it is, a number or a
 * boolean as its text; nothing else has one. It is cut out of the bytes, because a value built from two megabytes of
 * brackets keeps the loop busy for 100 ms, and because ids beyond 2^53 are common.
 */
export function scalarTextAt(json: Buffer, pointer: readonly string[]): string | undefined {
  let span: Span | undefined = { start: skipSpace(json, bomLength(json)), end: trimEnd(json) };
  for (const token of pointer) {
    span = stepInto(json, span, token);
    if (span === undefined) return undefined;
  }
  return scalarText(json, span);
}

function stepInto(json: Buffer, { start, end }: Span, token: string): Span | undefined {
  if (json[start] === 0x7b) return findMember(json, start, end, token);
  // An index is canonical: no sign, no leading zero.
  if (json[start] !== 0x5b || !/^(0|[1-9][0-9]{0,8})$/.test(token)) return undefined;
  return elementSpans(json, start, end, Number(token) + 1)[Number(token)];
}

function scalarText(json: Buffer, { start, end }: Span): string | undefined {
  const text = json.toString("latin1", start, Math.min(end, start + 1));
  if (text === '"') return readString(json, start, end);
  if (text === "{" || text === "[" || text === "n") return undefined;
  const written = json.toString("latin1", start, end);
  const number = Number(written);
  // 1.0 and 1 are the same id; a number that a float would round keeps its text.
  return Number.isSafeInteger(number) ? String(number) : written;
}
