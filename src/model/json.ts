import { invalidField } from "./errors.ts";

/** Finds values in JSON as byte ranges, so that they can be kept exactly as they were sent. */

export interface Span {
  start: number;
  end: number;
}

/**
 * The values of an object's members by name; if a name repeats, the last value, like JSON.parse. The object lies
 * between `start` and `end`, perhaps with white space around it, in a text that is known to be JSON.
 */
export function memberSpans(json: Buffer, start: number, end: number): Map<string, Span> {
  const spans = new Map<string, Span>();
  let at = skipSpace(json, skipSpace(json, start, end) + 1, end);
  while (at < end && json[at] === 0x22) {
    const nameEnd = skipString(json, at, end);
    const name = readString(json, at, nameEnd);
    const valueStart = skipSpace(json, skipSpace(json, nameEnd, end) + 1, end);
    const valueEnd = skipValue(json, valueStart, end);
    spans.set(name, { start: valueStart, end: valueEnd });
    at = skipSpace(json, skipSpace(json, valueEnd, end) + 1, end);
  }
  return spans;
}

/** The value of one member, without listing the others; if the name repeats, the last value. */
export function findMember(json: Buffer, start: number, end: number, name: string): Span | undefined {
  return findMembers(json, start, end, name).at(-1);
}

/** The values of all members with this name. */
function findMembers(json: Buffer, start: number, end: number, name: string): Span[] {
  const wanted = Buffer.from(name);
  const found: Span[] = [];
  let at = skipSpace(json, skipSpace(json, start, end) + 1, end);
  while (at < end && json[at] === 0x22) {
    const nameEnd = skipString(json, at, end);
    const valueStart = skipSpace(json, skipSpace(json, nameEnd, end) + 1, end);
    const valueEnd = skipValue(json, valueStart, end);
    if (isNamed(json, at, nameEnd, name, wanted)) found.push({ start: valueStart, end: valueEnd });
    at = skipSpace(json, skipSpace(json, valueEnd, end) + 1, end);
  }
  return found;
}

/** An escape makes a name longer, by at most six bytes for one. */
function isNamed(json: Buffer, start: number, end: number, name: string, wanted: Buffer): boolean {
  const byteLength = end - start - 2;
  if (byteLength !== wanted.length) {
    return byteLength > wanted.length && byteLength <= 6 * wanted.length && readString(json, start, end) === name;
  }
  for (let i = 0; i < byteLength; i++) if (json[start + 1 + i] !== wanted[i]) return false;
  return true;
}

/** The elements of an array, at most `maxElements` of them. */
export function elementSpans(json: Buffer, start: number, end: number, maxElements = Infinity): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(json, skipSpace(json, start, end) + 1, end);
  while (at < end && json[at] !== 0x5d && spans.length < maxElements) {
    const valueEnd = skipValue(json, at, end);
    spans.push({ start: at, end: valueEnd });
    at = skipSpace(json, skipSpace(json, valueEnd, end) + 1, end);
  }
  return spans;
}

/**
 * The string whose quotes are the first and last byte of the span. If it is not valid JSON, the bytes between the
 * quotes.
 */
export function readString(json: Buffer, start: number, end: number): string {
  const text = json.toString("utf8", start + 1, end - 1);
  if (!text.includes("\\")) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

export function skipSpace(json: Uint8Array, from: number, end = json.length): number {
  let at = from;
  while (at < end && (json[at] as number) <= 0x20) at++;
  return at;
}

export function trimEnd(json: Uint8Array): number {
  let end = json.length;
  while (end > 0 && (json[end - 1] as number) <= 0x20) end--;
  return end;
}

function skipString(json: Uint8Array, from: number, end: number): number {
  for (let at = from + 1; at < end; at++) {
    const byte = json[at] as number;
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at++;
  }
  return end;
}

function skipValue(json: Uint8Array, from: number, end: number): number {
  const first = json[from] as number;
  if (first === 0x22) return skipString(json, from, end);
  return (first | 0x20) === 0x7b ? skipNested(json, from, end) : skipWord(json, from, end);
}

/** `| 0x20` turns `[` into `{` and `]` into `}`. */
function skipNested(json: Uint8Array, from: number, end: number): number {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const byte = json[at] as number;
    if (byte === 0x22) {
      for (at++; at < end; at++) {
        const inside = json[at] as number;
        if (inside === 0x22) break;
        if (inside === 0x5c) at++;
      }
    } else if ((byte | 0x20) === 0x7b) {
      depth++;
    } else if ((byte | 0x20) === 0x7d && --depth === 0) {
      return at + 1;
    }
  }
  return end;
}

/**
 * Skips a number, `true`, `false` or `null`, up to a byte that can follow a value. Always advances, even if the text is
 * not JSON.
 */
function skipWord(json: Uint8Array, from: number, end: number): number {
  let at = from + 1;
  for (; at < end; at++) {
    const byte = json[at] as number;
    if (byte <= 0x20 || byte === 0x2c || (byte | 0x20) === 0x7d) break;
  }
  return at;
}

/** The length of the byte order mark at the beginning of a text. */
export function bomLength(text: Uint8Array): 0 | 3 {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? 3 : 0;
}

/**
 * The text of the scalar at a JSON Pointer, in a body that is known to be JSON: a string as it is, a number or a
 * boolean as its text; nothing else has one. It is cut out of the bytes, because a value built from two megabytes of
 * brackets keeps the loop busy for 100 ms, and because ids beyond 2^53 are common.
 */
export function scalarTextAt(json: Buffer, pointer: readonly string[]): string | undefined {
  let span: Span | undefined = { start: skipSpace(json, bomLength(json)), end: trimEnd(json) };
  for (const token of pointer) {
    // If a name repeats, the last value, like JSON.parse.
    span = stepInto(json, span, token).at(-1);
    if (span === undefined) return undefined;
  }
  return scalarText(json, span);
}

/** The values of the member, or the element of the array, that a token of a JSON Pointer names. */
export function stepInto(json: Buffer, { start, end }: Span, token: string): Span[] {
  if (json[start] === 0x7b) return findMembers(json, start, end, token);
  // An index is canonical: no sign, no leading zero.
  if (json[start] !== 0x5b || !/^(0|[1-9][0-9]{0,8})$/.test(token)) return [];
  return elementSpans(json, start, end, Number(token) + 1).slice(Number(token));
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

/** A JSON Pointer (RFC 6901): the names and indices on the way to a value. */
export function parsePointer(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) {
    throw invalidField(
      undefined,
      `"${text}" is not a JSON Pointer. Write it as /name/0/name, with ~1 for "/" and ~0 for "~" inside a name.`,
    );
  }
  return text
    .slice(1)
    .split("/")
    .map((token) => (token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token));
}

/** Goes level by level, because the nesting may be too deep for recursion and for JSON.stringify. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const inner of Object.values(one)) if (typeof inner === "object" && inner !== null) next.push(inner);
    }
    level = next;
  }
  return false;
}

/** The shortest part of a body is an empty list and its comma. */
const MIN_PART_BYTES = 3;

/**
 * Building a value takes 0.2 to 0.7 µs for each list, object and member: two megabytes of `[],` keep the loop busy for
 * more than 100 ms. Brackets and colons inside of texts are counted too: to tell them apart would cost as much again.
 */
export function hasTooManyParts(bytes: Buffer, maxParts: number): boolean {
  if (bytes.length <= maxParts * MIN_PART_BYTES) return false;
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x5b || byte === 0x7b || byte === 0x3a) count++;
  }
  return count > maxParts;
}

const JSON_TYPE = /[/+]json\s*(;|$)/i;

/** Whether a body of this content type may be JSON; a missing content type may be. */
export function mayBeJson(contentType: string | undefined): boolean {
  return contentType === undefined || contentType.trim() === "" || JSON_TYPE.test(contentType);
}
