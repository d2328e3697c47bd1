import { isFieldName, isFieldValue } from "../../../model/headers.ts";

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
export function parseAnswerHead(text: string): AnswerHead | string {
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
export function parseField(line: string): Field | string {
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
