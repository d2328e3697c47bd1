import {
  isCredentialHeader,
  type HeaderBlock,
  headerLine,
  isFieldName,
  isFieldValue,
  maskCredentials,
} from "../model/headers.ts";
import { MASK } from "../model/secrets.ts";
import { findForwardedNameProblem, isHeaderName, isOursUnlessNamed, plainHeaderName } from "./outgoing-header.ts";
import { FORWARD_WITHIN_MS } from "../model/forward-rules.ts";
import type { FieldCheck } from "../model/subscription-rules.ts";
import { readKeptRequest, type KeptRequest } from "../model/event.ts";
import type { Attempt, OpenCredentials } from "./sender.ts";

/**
 * Which headers of a received request a forwarding subscription passes on. `*` means the usual ones: all except those
 * of the connection, of proxies, credentials, and headers that every delivery sets itself. Credentials, the sender's User-Agent,
 * and its headers of Standard Webhooks and the like, which then replace ours, are passed on only when they are named.
 */
export const USUAL_HEADERS = "*";

const MAX_REMEMBERED = 1000;

/** The setting `forward_headers`. */
export function checkForwardHeaders(names: readonly string[] | null | undefined): FieldCheck[] {
  return (names ?? []).map((name, i) => [`forward_headers[${i}]`, findForwardedHeaderProblem(name)]);
}

function findForwardedHeaderProblem(name: string): string | undefined {
  if (name === USUAL_HEADERS) return undefined;
  if (!isHeaderName(name)) return `${JSON.stringify(name)} is neither a valid header name nor *`;
  return findForwardedNameProblem(name);
}

/** The credentials among the headers to pass on: their values must be kept, separate from the rest. */
export function namedCredentials(forwardHeaders: readonly string[] | undefined): readonly string[] {
  return forwardHeaders?.filter(isCredentialHeader) ?? [];
}

/** `taken`: the names that the subscription itself sets, as `plainHeaderName` writes them. All are in lower case. */
export function createHeaderChoice(
  forwardHeaders: readonly string[] = [USUAL_HEADERS],
  taken: ReadonlySet<string> = new Set(),
): (name: string) => boolean {
  const named = new Set(forwardHeaders);
  const hasUsual = named.has(USUAL_HEADERS);
  const known = new Map<string, boolean>();

  function decide(name: string): boolean {
    if (taken.has(plainHeaderName(name)) || findForwardedNameProblem(name) !== undefined) return false;
    return named.has(name) || (hasUsual && isUsual(name));
  }

  return (name) => {
    let isChosen = known.get(name);
    if (isChosen === undefined) {
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(name, (isChosen = decide(name)));
    }
    return isChosen;
  };
}

function isUsual(name: string): boolean {
  return !isCredentialHeader(name) && !isOursUnlessNamed(name) && name !== "user-agent";
}

/** Headers that `Connection` names belong to the connection of the received request (RFC 9110 §7.6.1). */
export function namesOfConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close|)$/i.test(connection)) return undefined;
  return new Set(connection.split(",").map((name) => plainHeaderName(name.trim())));
}

/** Chooses among the headers of one request. */
export function createHeaderFilter(
  headers: KeptRequest["headers"],
  isChosen: (name: string) => boolean,
): (name: string) => boolean {
  const ofConnection = namesOfConnection(textOf(headers["connection"]));
  return (name) => isChosen(name) && ofConnection?.has(plainHeaderName(name)) !== true;
}

/** The value of a header that is passed on; undefined when it is empty, masked or invalid in HTTP. */
export function findValue(name: string, value: string | readonly string[] | undefined): string | undefined {
  const text = textOf(value);
  // A value that was masked when the request was stored is useless.
  if (text === undefined || text === "" || text === MASK || !isFieldName(name) || !isFieldValue(text)) return undefined;
  return text;
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value.join(", ");
}

/** What a destination sets itself, and what it wants of a request. */
interface ForwardTarget {
  readonly signatureHeader: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: object | undefined;
  readonly forwardHeaders: readonly string[] | undefined;
}

/** Methods whose answer may have a body. */
const METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE", "GET"]);
const MAX_KNOWN_BASES = 1000;

/** `userAgent`: for requests that came without one; undefined when the header is set elsewhere. */
export function prepareForward(
  destination: ForwardTarget,
  { userAgent, openCredentials }: { userAgent: string | undefined; openCredentials: OpenCredentials },
) {
  const isChosen = createHeaderChoice(destination.forwardHeaders, namesOf(destination));
  const agent = userAgent === undefined ? "" : headerLine("User-Agent", userAgent);
  const bases = new Map<string, ForwardBase & { origin: string }>();

  function baseOf(url: string): ForwardBase & { origin: string } {
    let base = bases.get(url);
    if (base === undefined) {
      const { pathname, search, origin } = new URL(url);
      if (bases.size >= MAX_KNOWN_BASES) bases.clear();
      bases.set(url, (base = { pathname, search, origin }));
    }
    return base;
  }

  function headersOf(kept: KeptRequest, { event }: Attempt): HeaderBlock {
    const { headers, remote_address: address, sealed } = kept;
    const isHandedOn = createHeaderFilter(headers, isChosen);
    let block = "";
    for (const part of sealed === undefined ? [headers] : [openCredentials(event, sealed), headers]) {
      for (const name in part) if (isHandedOn(name)) block += lineOf(name, part[name]);
    }
    if (headers["user-agent"] === undefined) block += agent;
    // Only the address that the gateway itself has seen: a sender may claim any other.
    return block + lineOf("X-Forwarded-For", address);
  }

  /** The parts of a received request that are passed on besides its body. */
  return (attempt: Attempt, url: string) => {
    const { timeoutMs: allowedMs } = attempt.subscription;
    const timeoutMs = attempt.number === 1 ? Math.min(allowedMs, FORWARD_WITHIN_MS) : allowedMs;
    // Without a path, those of the destination are used.
    if (attempt.request === undefined) {
      return { method: "POST", path: undefined, url, headers: agent, recorded: agent, timeoutMs };
    }
    const kept = readKeptRequest(attempt.request);
    const base = baseOf(url);
    const path = buildForwardedPath(base, kept.path, kept.query);
    const headers = headersOf(kept, attempt);
    const method = METHODS.has(kept.method) ? kept.method : "POST";
    return { method, path, url: base.origin + path, headers, recorded: maskCredentials(headers), timeoutMs };
  };
}

/** Headers that the subscription sets are not taken from the sender. */
function namesOf({ signatureHeader, headers, auth, forwardHeaders }: ForwardTarget): ReadonlySet<string> {
  const signature = plainHeaderName(signatureHeader);
  const names = Object.keys(headers).map(plainHeaderName);
  const ofAuth = auth === undefined ? [] : ["authorization"];
  const ofSigning = forwardHeaders?.includes(signatureHeader.toLowerCase()) === true ? [] : [signature];
  return new Set([...names, ...ofAuth, ...ofSigning, `${signature}-next`]);
}

/** Empty when the value is of no use: the other headers are passed on all the same. */
function lineOf(name: string, value: string | readonly string[] | undefined): HeaderBlock {
  const text = findValue(name, value);
  return text === undefined ? "" : headerLine(name, text);
}

/**
 * The URL of a forwarded request: below the path of its destination, with the rest of the path and the query unchanged.
 * Anybody who can send to a public source chooses these, so they must not lead out of the destination's path.
 */
interface ForwardBase {
  /** As in a `URL`. */
  pathname: string;
  search: string;
}

const WEBHOOK = "/webhook/";
const DOT_SEGMENT = /^\.{1,2}$/;
/** A `..` step for servers that decode the path first, or that cut off everything after a semicolon. */
const HIDDEN_STEP = /(?:^|[/\\])\.{1,2}(?:;[^/\\]*)?(?:$|[/\\])/;
const MAX_DECODES = 5;
const UNSAFE_IN_PATH = /[^\x21-\x7e]|[\\#?]/g;
const UNSAFE_IN_QUERY = /[^\x21-\x7e]|#/g;

/** Returns path and query for the request line. `path` begins with `/webhook/{source}`. */
export function buildForwardedPath(base: ForwardBase, path: string, query: string): string {
  const rest = toSafeRest(restOf(path));
  const stem = rest !== "" && base.pathname.endsWith("/") ? base.pathname.slice(0, -1) : base.pathname;
  // Some servers would read `//host` at the beginning as a host.
  const whole = stem === "" ? rest.replace(/^\/+/, "/") : stem + rest;
  return whole + joinQueries(base.search, query.replace(UNSAFE_IN_QUERY, encodeBytes));
}

function restOf(path: string): string {
  const end = path.indexOf("/", WEBHOOK.length);
  return end < 0 ? "" : path.slice(end);
}

/** Resolves `.` and `..` here, never above the place where the rest begins. */
function toSafeRest(rest: string): string {
  if (rest === "") return "";
  const kept: string[] = [];
  const segments = rest.slice(1).split("/");
  segments.forEach((segment, i) => {
    const plain = segment.replace(/%2e/gi, ".");
    if (!DOT_SEGMENT.test(plain)) return void kept.push(toSafeSegment(segment));
    if (plain === "..") kept.pop();
    // As in a URL: a path that ends with a step is a folder.
    if (i === segments.length - 1) kept.push("");
  });
  return `/${kept.join("/")}`;
}

function toSafeSegment(segment: string): string {
  const encoded = segment.replace(UNSAFE_IN_PATH, encodeBytes);
  if (!HIDDEN_STEP.test(decodeFully(encoded))) return encoded;
  return encoded.replaceAll("%", "%25").replaceAll(";", "%3B");
}

function decodeFully(segment: string): string {
  let text = segment;
  for (let i = 0; i < MAX_DECODES && text.includes("%"); i++) {
    text = text.replace(/%(2e|2f|5c|3b|25)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
  return text;
}

/** Characters beyond Latin-1 cannot come from a request line; they become the replacement character. */
function encodeBytes(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 0xff) return "%EF%BF%BD";
  return `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

function joinQueries(first: string, second: string): string {
  if (second === "") return first;
  return first === "" ? `?${second}` : `${first}&${second}`;
}
