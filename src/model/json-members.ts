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
export function findMembers(json: Buffer, start: number, end: number, name: string): Span[] {
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
