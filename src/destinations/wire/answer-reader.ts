import { isFieldName, isFieldValue } from "../../model/headers.ts";

/** Gets an answer piece by piece. Each of these methods may call the reader's `expect` for the next answer. */
export interface AnswerTaker {
  /** Called for each 1xx, and once for the final answer. */
  takeHead(head: AnswerHead): void;
  /** The bytes belong to the reader: copy what must be kept. */
  takeBody(bytes: Uint8Array): void;
  /** `isClean`: the connection may be used again. */
  takeEnd(isClean: boolean): void;
}

export type Reading = "going on" | { problem: string };

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = String.raw`"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"`;
/** Chunk extensions are ignored, but their end must be unambiguous. */
const CHUNK_SIZE = new RegExp(
  `^([0-9A-Fa-f]{1,8})[ \\t]*(?:;[ \\t]*${TOKEN}[ \\t]*(?:=[ \\t]*(?:${TOKEN}|${QUOTED})[ \\t]*)?)*$`,
);
const HEAD_END = Buffer.from("\r\n\r\n", "latin1");
const NEWLINE = 0x0a;
const GOING_ON = "going on";

/** Reads one answer at a time from pieces of any size. Only heads are limited here: the caller counts bytes. */
export class AnswerReader {
  readonly #maxHeadBytes: number;
  #taker: AnswerTaker | undefined;
  #reads: "head" | "length" | "size" | "chunk" | "chunk end" | "trailers" | "close" = "head";
  /** The beginning of an incomplete head. */
  #begun: Buffer | undefined;
  #begunBytes = 0;
  /** The beginning of an incomplete line. */
  #line = "";
  #left = 0;
  #keepsAlive = false;
  /** Most answers of one destination within a second are identical, so the last head is kept. */
  #knownText = "";
  #known: AnswerHead | undefined;

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** The next bytes are an answer for `taker`. */
  expect(taker: AnswerTaker): void {
    this.#taker = taker;
    this.#reads = "head";
    this.#begun = undefined;
    this.#line = "";
  }

  /** The rest of the answer is not needed. */
  stop(): void {
    this.#taker = undefined;
  }

  read(bytes: Buffer): Reading {
    const taker = this.#taker;
    if (taker === undefined) return GOING_ON;
    // With another taker this answer has ended, and the bytes after it have made its end unclean.
    for (let at = 0; at < bytes.length && this.#taker === taker;) {
      const next = this.#step(bytes, at, taker);
      if (typeof next === "string") return { problem: next };
      at = next;
    }
    return GOING_ON;
  }

  /** The destination has closed its side. Returns true when that ends an answer properly. */
  end(): boolean {
    const taker = this.#taker;
    if (taker === undefined || this.#reads !== "close") return false;
    this.#finish(taker, false);
    return true;
  }

  /** Returns where to continue, or the problem. */
  #step(bytes: Buffer, at: number, taker: AnswerTaker): number | string {
    switch (this.#reads) {
      case "head":
        return this.#readHead(bytes, at, taker);
      case "length":
      case "chunk":
        return this.#readCounted(bytes, at, taker);
      case "close":
        taker.takeBody(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
      default:
        return this.#readLine(bytes, at, taker);
    }
  }

  #readHead(bytes: Buffer, at: number, taker: AnswerTaker): number | string {
    if (this.#begun !== undefined) return this.#readBegun(this.#begun, bytes, at, taker);
    const end = bytes.indexOf(HEAD_END, at);
    if (end - at > this.#maxHeadBytes) return HEADERS_TOO_LARGE;
    if (end >= 0) {
      const problem = this.#takeHead(bytes.toString("latin1", at, end), end + 4 === bytes.length, taker);
      return problem ?? end + 4;
    }
    const length = bytes.length - at;
    if (length > this.#maxHeadBytes) return HEADERS_TOO_LARGE;
    this.#begun = Buffer.allocUnsafe(Math.max(1024, 2 * length));
    bytes.copy(this.#begun, 0, at);
    this.#begunBytes = length;
    return bytes.length;
  }

  /** A head may arrive byte by byte: it must not be copied or searched again for each byte. */
  #readBegun(begun: Buffer, bytes: Buffer, at: number, taker: AnswerTaker): number | string {
    const before = this.#begunBytes;
    const length = bytes.length - at;
    let all = begun;
    if (before + length > begun.length) {
      all = Buffer.allocUnsafe(2 * (before + length));
      begun.copy(all, 0, 0, before);
      this.#begun = all;
    }
    bytes.copy(all, before, at);
    this.#begunBytes = before + length;
    const end = all.subarray(0, this.#begunBytes).indexOf(HEAD_END, Math.max(0, before - 3));
    if (end > this.#maxHeadBytes || (end < 0 && this.#begunBytes > this.#maxHeadBytes)) return HEADERS_TOO_LARGE;
    if (end < 0) return bytes.length;
    this.#begun = undefined;
    const next = at + end + 4 - before;
    return this.#takeHead(all.toString("latin1", 0, end), next === bytes.length, taker) ?? next;
  }

  #takeHead(text: string, isAll: boolean, taker: AnswerTaker): string | undefined {
    if (this.#known === undefined || this.#knownText !== text) {
      const parsed = parseAnswerHead(text);
      if (typeof parsed === "string") return `${NOT_HTTP}: ${parsed}`;
      this.#known = parsed;
      this.#knownText = text;
    }
    const head = this.#known;
    if (head.status === 101) return `${NOT_HTTP}: it switches to another protocol`;
    if (head.status < 200 && !head.keepsAlive) return `${NOT_HTTP}: it ends before the final answer`;
    taker.takeHead(head);
    if (this.#taker !== taker || head.status < 200) return undefined;
    this.#keepsAlive = head.keepsAlive;
    if (head.framing === "none") this.#finish(taker, isAll && head.keepsAlive);
    else {
      this.#left = head.length;
      this.#reads = head.framing === "chunked" ? "size" : head.framing;
    }
    return undefined;
  }

  #readCounted(bytes: Buffer, at: number, taker: AnswerTaker): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    taker.takeBody(bytes.subarray(at, end));
    if (this.#taker !== taker || this.#left > 0) return end;
    if (this.#reads === "chunk") this.#reads = "chunk end";
    else this.#finish(taker, end === bytes.length && this.#keepsAlive);
    return end;
  }

  /** Reads the lines that frame a chunked body. */
  #readLine(bytes: Buffer, at: number, taker: AnswerTaker): number | string {
    const newline = bytes.indexOf(NEWLINE, at);
    const next = newline < 0 ? bytes.length : newline + 1;
    this.#line += bytes.toString("latin1", at, next);
    if (newline < 0) return next;
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) return `${NOT_HTTP}: a line in its body does not end with CR LF`;
    return this.#takeLine(line.slice(0, -2), next === bytes.length, taker) ?? next;
  }

  #takeLine(line: string, isAll: boolean, taker: AnswerTaker): string | undefined {
    if (this.#reads === "chunk end") {
      if (line !== "") return `${NOT_HTTP}: a chunk is longer than it says`;
      this.#reads = "size";
    } else if (this.#reads === "trailers") {
      const field = line === "" ? undefined : parseField(line);
      if (typeof field === "string") return `${NOT_HTTP}: ${field}`;
      if (field === undefined) this.#finish(taker, isAll && this.#keepsAlive);
    } else {
      const size = CHUNK_SIZE.exec(line)?.[1];
      if (size === undefined) return `${NOT_HTTP}: the size of a chunk is not a number`;
      this.#left = Number.parseInt(size, 16);
      this.#reads = this.#left === 0 ? "trailers" : "chunk";
    }
    return undefined;
  }

  #finish(taker: AnswerTaker, isClean: boolean): void {
    this.#taker = undefined;
    taker.takeEnd(isClean);
  }
}

const HEADERS_TOO_LARGE = "the answer's headers are too large";
const NOT_HTTP = "the answer is not HTTP";

/** The status line and headers of an HTTP/1.1 answer. Parsed strictly: anything ambiguous is rejected. */
export interface AnswerHead {
  readonly status: number;
  /** Names are in lower case; values of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: "none" | "length" | "chunked" | "close";
  /** Only for the framing `length`. */
  readonly length: number;
  /** Whether the destination allows another request on the connection. */
  readonly keepsAlive: boolean;
  /** How long the destination says it keeps an idle connection. */
  readonly keepAliveMs: number | undefined;
}

const LINE_END = "\r\n";

/** Returns a text for an invalid head. `text` does not contain the empty line at the end. */
function parseAnswerHead(text: string): AnswerHead | string {
  const firstEnd = text.indexOf(LINE_END);
  const end = firstEnd < 0 ? text.length : firstEnd;
  const status = parseStatus(text.slice(0, end));
  if (status === undefined) return "its first line is not a status line";
  const headers: Record<string, string> = {};
  for (let at = end + 2; at < text.length;) {
    const found = text.indexOf(LINE_END, at);
    const lineEnd = found < 0 ? text.length : found;
    const field = parseField(text.slice(at, lineEnd));
    if (typeof field === "string") return field;
    add(headers, field);
    at = lineEnd + 2;
  }
  return withFraming(status, headers, text.charCodeAt(7) === ZERO);
}

export interface Field {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** Parses a header or a trailer; returns a text when it is invalid. */
function parseField(line: string): Field | string {
  const colon = line.indexOf(":");
  if (colon < 0) return "a header has no colon";
  const name = line.slice(0, colon);
  const value = withoutSpaces(line, colon + 1, line.length);
  if (!isFieldName(name) || !isFieldValue(value)) return "a header has characters that are not allowed";
  return { name: name.toLowerCase(), value };
}

const ZERO = 0x30;
const SPACE = 0x20;
const TAB = 0x09;

/** Only space and tab may surround a value (RFC 9110 §5.6.3); `trim` would also remove a no-break space. */
function withoutSpaces(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** `HTTP/1.1 200 OK`; the reason phrase may be missing. */
function parseStatus(line: string): number | undefined {
  if (!/^HTTP\/1\.[01] [1-9]\d\d(?: |$)/.test(line) || !isFieldValue(line)) return undefined;
  return Number(line.slice(9, 12));
}

function add(headers: Record<string, string>, { name, value }: Field): void {
  // Assigning to it would set the prototype.
  if (name === "__proto__") return;
  headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
}

function withFraming(status: number, headers: Record<string, string>, isOld: boolean): AnswerHead | string {
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  const connection = headers["connection"] ?? "";
  const keepsAlive = isOld ? KEEPS_ALIVE.test(connection) : !CLOSES.test(connection);
  const keepAliveMs = parseKeepAlive(headers["keep-alive"]);
  const made = (framing: AnswerHead["framing"], bytes = 0): AnswerHead => ({
    status,
    headers,
    framing,
    length: bytes,
    // RFC 9112 §6.1: after a chunked answer of an HTTP/1.0 server, the connection cannot be trusted.
    keepsAlive: keepsAlive && framing !== "close" && !(isOld && framing === "chunked"),
    keepAliveMs,
  });
  // A server in between might use one of them while we use the other.
  if (coding !== undefined && length !== undefined) return "it has two lengths";
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return "its length is not a number";
  const isChunked = coding !== undefined && /chunked/i.test(coding);
  // Other codings, or chunked twice, were not asked for, and other servers may read them differently.
  const isCoding = coding === undefined || (isChunked ? coding.length === "chunked".length : CODINGS.test(coding));
  if (!isCoding) return "its transfer encoding is invalid";
  if (status < 200 || status === 204 || status === 304) return made("none");
  if (coding !== undefined) return made(isChunked ? "chunked" : "close");
  if (length === undefined) return made("close");
  return Number(length) === 0 ? made("none") : made("length", Number(length));
}

const KEEPS_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;
const CLOSES = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
/** A list of names. Without `chunked`, the body ends with the connection. */
const CODINGS = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*,[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+)*$/;

function parseKeepAlive(value: string | undefined): number | undefined {
  const seconds = value === undefined ? undefined : /timeout=(\d{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
