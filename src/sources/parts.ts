import { PosthornError } from "../model/errors.ts";
import { elementSpans, findMember, skipSpace, trimEnd, type Span, bomLength } from "../model/json.ts";
import type { ReadEvent, Reading } from "./source-kind.ts";

/** Splits a request with several events into the bytes of each, exactly as they were sent. */

/** More than any provider puts into one request. */
const MAX_PARTS = 10_000;

export function rootSpan(body: Buffer): Span {
  return { start: skipSpace(body, bomLength(body)), end: trimEnd(body) };
}

/** The elements of the array at a span; undefined when there is none. */
export function partsOf(body: Buffer, span: Span | undefined): readonly Buffer[] | undefined {
  if (span === undefined || body[span.start] !== 0x5b) return undefined;
  const spans = elementSpans(body, span.start, span.end, MAX_PARTS + 1);
  if (spans.length > MAX_PARTS) {
    throw new PosthornError("too_large", `The request has more than ${MAX_PARTS} events.`);
  }
  return spans.map(({ start, end }) => body.subarray(start, end));
}

export function partsOfMember(body: Buffer, name: string): readonly Buffer[] | undefined {
  const { start, end } = rootSpan(body);
  return body[start] === 0x7b ? partsOf(body, findMember(body, start, end, name)) : undefined;
}

/** Elements that are not objects are not events. */
export function readParts(parts: readonly Buffer[], read: (part: Buffer) => ReadEvent): Reading {
  const events: ReadEvent[] = [];
  const ignored: { cause: string }[] = [];
  for (const part of parts) {
    if (part[0] === 0x7b) events.push(read(part));
    else ignored.push({ cause: "invalid" });
  }
  return { events, ignored };
}
