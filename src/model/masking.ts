import { Type } from "typebox";
import { elementSpans, stepInto, skipSpace, trimEnd, type Span, parsePointer } from "./json.ts";
import { MASK } from "./secrets.ts";

/** Values that are replaced before an event is stored, so that the gateway never stores them. */

const POINTER = "(/([^~/]|~[01])*)+";
const MAX_PLACES = 50;

function places(pattern: string, description: string) {
  const Pointer = Type.String({ pattern, maxLength: 512, hint: 'give a JSON Pointer, such as "/customer/email"' });
  return Type.Array(Pointer, { maxItems: MAX_PLACES, description });
}

export const SourceMask = places(
  `^(header:[A-Za-z0-9-]{1,64}|${POINTER})$`,
  'JSON Pointers and `header:NAME`: their values are stored and delivered as `"***"`. The signature is verified first',
);
export const EventTypeMask = places(
  `^${POINTER}$`,
  'JSON Pointers into the payload: their values are stored and delivered as `"***"`, after the schema was checked',
);

/** In the place of an index: each element of a list. */
export const EACH = Symbol("each");

export type MaskPointer = readonly (string | typeof EACH)[];

export interface MaskRules {
  readonly pointers: readonly MaskPointer[];
  /** In lower case. */
  readonly headers: ReadonlySet<string>;
}

const HEADER = "header:";

/** `ofKind`: what all sources of a kind mask. */
export function parseMask(
  list: readonly string[] | null | undefined,
  ofKind: readonly MaskPointer[] = [],
): MaskRules | undefined {
  if ((list ?? []).length + ofKind.length === 0) return undefined;
  const places = list ?? [];
  const headers = places.filter((place) => place.startsWith(HEADER));
  return {
    pointers: [...ofKind, ...places.filter((place) => !place.startsWith(HEADER)).map(parsePointer)],
    headers: new Set(headers.map((place) => place.slice(HEADER.length).toLowerCase())),
  };
}

const MASKED_VALUE = Buffer.from(JSON.stringify(MASK));

/**
 * Replaces the values at these places in a text that is known to be JSON, and changes no other byte. If a name repeats
 * in an object, all of its values are replaced, because a reader may use any of them. `start`: after a BOM.
 */
export function maskJson(
  json: Buffer,
  pointers: MaskRules["pointers"],
  start: number,
): { body: Buffer; count: number } {
  const whole = { start: skipSpace(json, start), end: trimEnd(json) };
  const found = pointers.flatMap((pointer) =>
    pointer.reduce<Span[]>(
      (spans, token) =>
        spans.flatMap((span) => (token === EACH ? allElements(json, span) : stepInto(json, span, token))),
      [whole],
    ),
  );
  const spans = outermost(found);
  if (spans.length === 0) return { body: json, count: 0 };
  const pieces: Buffer[] = [];
  let at = 0;
  for (const span of spans) {
    pieces.push(json.subarray(at, span.start), MASKED_VALUE);
    at = span.end;
  }
  return { body: Buffer.concat([...pieces, json.subarray(at)]), count: spans.length };
}

function allElements(json: Buffer, { start, end }: Span): Span[] {
  return json[start] === 0x5b ? elementSpans(json, start, end) : [];
}

/** Sorted by position, without spans that lie inside another one. */
function outermost(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span);
  }
  return kept;
}
