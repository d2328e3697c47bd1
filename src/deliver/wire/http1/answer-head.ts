import { isFieldName, isFieldValue } from "../../../domain/header-block.ts";

/** The status line and headers of an HTTP/1.1 answer, read strictly: what can be understood in two ways is refused. */
export interface AnswerHead {
  readonly status: number;
  /** Names in lower case; values of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: "none" | "length" | "chunked" | "close";
  /** With the framing `length`. */
  readonly length: number;
  /** Whether another request may follow on the connection, as far as the destination says. */
  readonly keepsAlive: boolean;
  /** How long it says that it keeps an unused connection. */
  readonly keepAliveMs: number | undefined;
}

const LINE_END = "\r\n";

/** A problem is a text. `text` is without the empty line at its end. */
export function parseAnswerHead(text: string): AnswerHead | string {
  const firstEnd = text.indexOf(LINE_END);
  const end = firstEnd < 0 ? text.length : firstEnd;
  const status = parseStatus(text.slice(0, end));
  if (status === undefined) return "its first line is none";
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

/** A header, or a trailer. A problem is a text. */
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

/** Space and tab are all that may stand around a value (RFC 9110 §5.6.3); `trim` would also take a no-break space. */
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

/** `HTTP/1.1 200 OK`, where the words may be missing. */
function parseStatus(line: string): number | undefined {
  if (!/^HTTP\/1\.[01] [1-9]\d\d(?: |$)/.test(line) || !isFieldValue(line)) return undefined;
  return Number(line.slice(9, 12));
}

function add(headers: Record<string, string>, { name, value }: Field): void {
  // Assigned, it would be taken for the prototype.
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
    // RFC 9112 §6.1: with an old server's chunks the connection is not to be trusted again.
    keepsAlive: keepsAlive && framing !== "close" && !(isOld && framing === "chunked"),
    keepAliveMs,
  });
  // Whoever stands between might believe one of them and we the other.
  if (coding !== undefined && length !== undefined) return "it has two lengths";
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return "its length is none";
  const isChunked = coding !== undefined && /chunked/i.test(coding);
  // Chunks of something else, or twice, are what nobody asked for and others may read differently.
  const isCoding = coding === undefined || (isChunked ? coding.length === "chunked".length : CODINGS.test(coding));
  if (!isCoding) return "its transfer encoding is none";
  if (status < 200 || status === 204 || status === 304) return made("none");
  if (coding !== undefined) return made(isChunked ? "chunked" : "close");
  if (length === undefined) return made("close");
  return Number(length) === 0 ? made("none") : made("length", Number(length));
}

const KEEPS_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;
const CLOSES = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
/** A list of names; without `chunked` the body ends with the connection. */
const CODINGS = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*,[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+)*$/;

function parseKeepAlive(value: string | undefined): number | undefined {
  const seconds = value === undefined ? undefined : /timeout=(\d{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
