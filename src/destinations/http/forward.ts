import { FORWARD_WITHIN_MS } from "../../model/forward-rules.ts";
import { createHeaderChoice, isHidden, namesOfConnection } from "../forwarded-headers.ts";
import { buildForwardedPath, type ForwardBase } from "./forwarded-path.ts";
import { type HeaderBlock, headerLine, isFieldName, isFieldValue, maskCredentials } from "../../model/headers.ts";
import { readKeptRequest, type KeptRequest } from "../../model/event.ts";
import { plainHeaderName } from "../outgoing-header.ts";
import type { Attempt } from "../sender.ts";
import type { OpenCredentials } from "../services.ts";
import type { HttpDestination } from "./settings.ts";

/** The parts of a received request that are passed on besides its body. */
export interface ForwardedRequest {
  method: string;
  /** Path and query; undefined when those of the destination are used. */
  path: string | undefined;
  url: string;
  headers: HeaderBlock;
  /** The same headers with secrets masked. */
  recorded: HeaderBlock;
  timeoutMs: number;
}

export interface ForwardOptions {
  /** For requests that came without one; undefined when the header is set elsewhere. */
  userAgent: string | undefined;
  openCredentials: OpenCredentials | undefined;
}

/** Methods whose answer may have a body. */
const METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE", "GET"]);
const MAX_KNOWN_BASES = 1000;

export function prepareForward(
  destination: HttpDestination,
  options: ForwardOptions,
): (attempt: Attempt, url: string) => ForwardedRequest {
  const isChosen = createHeaderChoice(destination.forwardHeaders, namesOf(destination));
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
    const ofConnection = namesOfConnection(textOf(headers["connection"]));
    const isHandedOn = (name: string) => isChosen(name) && ofConnection?.has(plainHeaderName(name)) !== true;
    let block = sealed === undefined ? "" : openedBlock(options.openCredentials?.(event, sealed) ?? {}, isHandedOn);
    for (const name in headers) {
      if (isHandedOn(name)) block += lineOf(name, headers[name]);
    }
    if (options.userAgent !== undefined && headers["user-agent"] === undefined) {
      block += headerLine("User-Agent", options.userAgent);
    }
    // Only the address that the gateway itself has seen: a sender may claim any other.
    return block + lineOf("X-Forwarded-For", address);
  }

  return (attempt, url) => {
    const { timeoutMs: allowedMs } = attempt.subscription;
    const timeoutMs = attempt.number === 1 ? Math.min(allowedMs, FORWARD_WITHIN_MS) : allowedMs;
    if (attempt.request === undefined) {
      const headers = options.userAgent === undefined ? "" : headerLine("User-Agent", options.userAgent);
      return { method: "POST", path: undefined, url, headers, recorded: headers, timeoutMs };
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
function namesOf({ signatureHeader, headers, auth, forwardHeaders }: HttpDestination): ReadonlySet<string> {
  const signature = plainHeaderName(signatureHeader);
  const names = Object.keys(headers).map(plainHeaderName);
  const ofAuth = auth === undefined ? [] : ["authorization"];
  const ofSigning = forwardHeaders?.includes(signatureHeader.toLowerCase()) === true ? [] : [signature];
  return new Set([...names, ...ofAuth, ...ofSigning, `${signature}-next`]);
}

function openedBlock(
  credentials: Readonly<Record<string, string>>,
  isHandedOn: (name: string) => boolean,
): HeaderBlock {
  let block = "";
  for (const [name, value] of Object.entries(credentials)) if (isHandedOn(name)) block += lineOf(name, value);
  return block;
}

/** Empty when the value is masked or invalid in HTTP: the other headers are passed on all the same. */
function lineOf(name: string, value: string | readonly string[] | undefined): HeaderBlock {
  const text = textOf(value);
  if (text === undefined || text === "" || isHidden(text) || !isFieldName(name) || !isFieldValue(text)) return "";
  return headerLine(name, text);
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value.join(", ");
}
