import { isUtf8 } from "node:buffer";
import { bomLength } from "../../model/json.ts";
import { PosthornError } from "../../model/errors.ts";

/** Throws `unreadable_body` with the position and the reason unless the body is JSON. A leading BOM is skipped. */
export function checkJsonText(body: Buffer, maxDepth: number): void {
  if (!isUtf8(body)) {
    const reason = utf16Reason(body) ?? "a byte that is not UTF-8";
    throw unreadableBody("JSON", faultAt(body, findInvalidUtf8(body), reason));
  }
  try {
    scanJson(body, bomLength(body), maxDepth);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw unreadableBody("JSON", faultAt(body, error.position, utf16Reason(body) ?? error.message));
  }
}

/**
 * The value of a JSON body, for callers that need it: parsing also checks, and a separate check would cost half as
 * much again. Throws as `checkJsonText` does.
 */
export function parseJsonText(body: Buffer, maxDepth: number): unknown {
  if (!isUtf8(body) || mayBeDeeperThan(body, maxDepth)) checkJsonText(body, maxDepth);
  try {
    return JSON.parse(decodeJson(body)) as unknown;
  } catch (error) {
    // The scan reports the position and the reason.
    checkJsonText(body, maxDepth);
    throw error;
  }
}

/** Without a leading BOM. */
export function decodeJson(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8", bomLength(bytes));
}

function utf16Reason(body: Uint8Array): string | undefined {
  const [first, second] = body;
  const hasBom = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const hasZero = body.length > 1 && (first === 0) !== (second === 0);
  return hasBom || hasZero ? "text that looks like UTF-16 where UTF-8 is expected" : undefined;
}

/** Finds U+FFFD that was not in the text: it stands for a byte that cannot be decoded. */
function findInvalidUtf8(body: Buffer): number {
  const text = body.toString("utf8");
  let position = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf("\ufffd", from);
    if (at === -1) return body.length;
    position += Buffer.byteLength(text.slice(from, at));
    if (body[position] !== 0xef || body[position + 1] !== 0xbf || body[position + 2] !== 0xbd) return position;
    position += 3;
    from = at + 1;
  }
}

/**
 * Reads a text as JSON (RFC 8259) without building anything from it: cheaper than JSON.parse, which also takes a depth
 * of a million that nothing can walk later, and it knows where and why a text is rejected.
 */
export class JsonFault extends Error {
  readonly position: number;
  constructor(position: number, reason: string) {
    super(reason);
    this.position = position;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const WORDS = new Map([
  [0x74, Buffer.from("true")],
  [0x66, Buffer.from("false")],
  [0x6e, Buffer.from("null")],
]);

/** Throws a JsonFault unless everything from `start` on is one JSON value. The text must be UTF-8. */
export function scanJson(text: Uint8Array, start: number, maxDepth: number): void {
  const first = skipSpace(text, start);
  if (first >= text.length) throw new JsonFault(first, "no value: the text is empty");
  const end = skipSpace(text, scanValue(text, first, maxDepth));
  if (end < text.length) throw new JsonFault(end, "expected nothing after the end of the value");
}

/** Whether there are more brackets than allowed levels: counting them is much cheaper than reading the structure. */
function mayBeDeeperThan(text: Buffer, maxDepth: number): boolean {
  let opened = 0;
  for (const bracket of [OPEN_BRACE, OPEN_BRACKET]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++opened > maxDepth) return true;
    }
  }
  return false;
}

/**
 * Each scan returns the offset after the part it has read. A loop, because a recursion would be as deep as the text, and
 * the stack is not always.
 */
function scanValue(text: Uint8Array, start: number, maxDepth: number): number {
  /** What each open level ends with. */
  const open: number[] = [];
  let at = start;
  for (;;) {
    const byte = at < text.length ? (text[at] as number) : undefined;
    if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) at = scanScalar(text, at);
    else {
      if (open.length === maxDepth) throw tooDeep(at, maxDepth);
      const end = byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      at = skipSpace(text, at + 1);
      if (at >= text.length || text[at] !== end) {
        open.push(end);
        if (end === CLOSE_BRACE) at = scanName(text, at);
        continue;
      }
      at++;
    }
    at = closeLevels(text, at, open);
    if (open.length === 0) return at;
  }
}

/** After a value: to where the next one begins, or behind the end of the outermost level. */
function closeLevels(text: Uint8Array, from: number, open: number[]): number {
  let at = from;
  for (let end = open.at(-1); end !== undefined; end = open.at(-1)) {
    at = skipSpace(text, at);
    if (at < text.length && text[at] === end) {
      open.pop();
      at++;
      continue;
    }
    if (at >= text.length || text[at] !== COMMA) throw missing(text, at, `',' or '${String.fromCharCode(end)}'`);
    at = skipSpace(text, at + 1);
    return end === CLOSE_BRACE ? scanName(text, at) : at;
  }
  return at;
}

/** With the colon, up to its value. */
function scanName(text: Uint8Array, from: number): number {
  if (from >= text.length || text[from] !== QUOTE) throw missing(text, from, "a name in double quotes");
  const at = skipSpace(text, scanString(text, from));
  if (at >= text.length || text[at] !== COLON) throw missing(text, at, "':'");
  return skipSpace(text, at + 1);
}

function scanScalar(text: Uint8Array, at: number): number {
  if (at >= text.length) throw missing(text, at, "a value");
  const byte = text[at] as number;
  if (byte === QUOTE) return scanString(text, at);
  return isDigit(byte) || byte === MINUS ? scanNumber(text, at) : scanWord(text, at);
}

function tooDeep(at: number, maxDepth: number): JsonFault {
  return new JsonFault(at, `nested deeper than ${maxDepth} levels`);
}

function missing(text: Uint8Array, at: number, what: string): JsonFault {
  return new JsonFault(at, at < text.length ? `expected ${what}` : `the text ends where ${what} is expected`);
}

function skipSpace(text: Uint8Array, from: number): number {
  const end = text.length;
  let at = from;
  for (; at < end; at++) {
    const byte = text[at] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
  }
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

function scanDigits(text: Uint8Array, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text[at] as number)) at++;
  if (at === from) throw missing(text, at, "a digit");
  return at;
}

function scanNumber(text: Uint8Array, from: number): number {
  let at = text[from] === MINUS ? from + 1 : from;
  const hasLeadingZero = at < text.length && text[at] === ZERO;
  const whole = at;
  at = scanDigits(text, at);
  if (hasLeadingZero && at > whole + 1) throw new JsonFault(whole + 1, "a digit after a leading zero");
  if (at < text.length && text[at] === 0x2e) at = scanDigits(text, at + 1);
  if (at < text.length && ((text[at] as number) | 0x20) === 0x65) {
    at++;
    if (at < text.length && (text[at] === 0x2b || text[at] === MINUS)) at++;
    at = scanDigits(text, at);
  }
  return at;
}

function scanWord(text: Uint8Array, from: number): number {
  const word = WORDS.get(text[from] as number);
  if (word === undefined) throw missing(text, from, "a value");
  for (let i = 1; i < word.length; i++) {
    if (from + i >= text.length || text[from + i] !== word[i]) throw missing(text, from + i, `'${word.toString()}'`);
  }
  return from + word.length;
}

function scanString(text: Uint8Array, from: number): number {
  const end = text.length;
  for (let at = from + 1; at < end; at++) {
    const byte = text[at] as number;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at = scanEscape(text, at + 1) - 1;
    else if (byte < 0x20) throw new JsonFault(at, "a control character inside a string (write it as \\u00XX)");
  }
  throw missing(text, end, "the closing '\"' of a string");
}

function scanEscape(text: Uint8Array, at: number): number {
  const letter = at < text.length ? String.fromCharCode(text[at] as number) : "";
  if (letter === "u") {
    for (let digit = at + 1; digit <= at + 4; digit++) {
      if (digit >= text.length || !isHexDigit(text[digit] as number)) throw missing(text, digit, "a hexadecimal digit");
    }
    return at + 5;
  }
  if (letter === "" || !'"\\/bfnrt'.includes(letter)) throw missing(text, at, "one of \"\\/bfnrtu after '\\'");
  return at + 1;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** Where a text stops being readable: in bytes for programs, in lines and columns (from 1, in characters) for people. */
export interface TextFault {
  position: number;
  line: number;
  column: number;
  reason: string;
}

export function unreadableBody(format: "JSON" | "XML", fault: TextFault): PosthornError {
  const { position, line, column, reason } = fault;
  return new PosthornError(
    "unreadable_body",
    `The body is not well-formed ${format}: ${reason} at line ${line}, column ${column} (byte ${position}). ` +
      "Correct the body and send it again.",
    { details: { position, line, column, reason } },
  );
}

/** The fault at a byte of a text in UTF-8 or in an encoding of one byte per character. */
export function faultAt(text: Uint8Array, position: number, reason: string): TextFault {
  let line = 1;
  let column = 1;
  for (let at = bomLength(text); at < position; at++) {
    const byte = text[at] as number;
    if (byte === 0x0a || (byte === 0x0d && text[at + 1] !== 0x0a)) {
      line++;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80 && byte !== 0x0d) {
      column++;
    }
  }
  return { position, line, column, reason };
}
