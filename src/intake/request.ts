import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isCredentialHeader } from "../model/headers.ts";
import { PosthornError } from "../model/errors.ts";
import { writeKeptRequest, type KeptRequest } from "../model/event.ts";
import type { HiddenTexts, Source } from "../model/source.ts";
import type { MessageFacts } from "./messages/open-message.ts";
import type { ArrivedRequest } from "../sources/source-kind.ts";
import type { Done } from "../model/accepted.ts";
import type { Work } from "../accept/overload.ts";
import { BlockList, isIP, isIPv6 } from "node:net";
import type { TLSSocket } from "node:tls";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends ArrivedRequest {
  readonly source: Source;
  readonly remoteAddress: string;
  /** When it first came; differs from `receivedAt` only when it is replayed. */
  readonly occurredAt: number;
  /** Set when it came as a message. */
  readonly pulled?: MessageFacts | undefined;
  /** The logged request, if this is a replay of it. */
  readonly keptAs: string | undefined;
}

/** The facts known before the body is read. */
export type RequestHead = Omit<WebhookRequest, "body">;

/** Field by field for speed, because every webhook passes here. */
export function addBody(head: RequestHead, body: Buffer): WebhookRequest {
  return {
    source: head.source,
    method: head.method,
    path: head.path,
    query: head.query,
    remoteAddress: head.remoteAddress,
    headers: head.headers,
    receivedAt: head.receivedAt,
    occurredAt: head.occurredAt,
    url: head.url,
    keptAs: head.keptAs,
    body,
  };
}

/**
 * Finds requests that Node's parser accepts but a proxy in front may read differently, so that one request could become
 * two (RFC 9112 §3.2, §6.1).
 */
export function findAmbiguity(request: IncomingMessage): PosthornError | undefined {
  if (request.httpVersionMinor === 0 && request.headers["transfer-encoding"] !== undefined) {
    return new PosthornError("bad_request", "HTTP/1.0 has no Transfer-Encoding. Send Content-Length, or use HTTP/1.1.");
  }
  return hasSeveralHosts(request.rawHeaders)
    ? new PosthornError("bad_request", "The request has more than one Host header. Send one.")
    : undefined;
}

function hasSeveralHosts(names: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < names.length; i += 2) {
    const name = names[i] as string;
    // Compares the length first, because this runs for every header of every request.
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/** Bodies are stored as they came, so that their signature can be verified: none is decompressed. */
export function checkEncoding(headers: IncomingHttpHeaders): void {
  const encoding = headers["content-encoding"] ?? "";
  const transfer = headers["transfer-encoding"];
  // Node decodes only `chunked`; other transfer encodings stay in the body.
  const isPlain = transfer === undefined || transfer.toLowerCase() === "chunked";
  if (isPlain && (encoding === "" || encoding.toLowerCase() === "identity")) return;
  const given = isPlain ? encoding : transfer;
  throw new PosthornError(
    "unsupported_encoding",
    `The encoding "${given}" is not supported. Send the body without it.`,
  );
}

/** Bodies up to this size are always accepted, however full the memory is. Most are far smaller. */
const SMALL_BODY_BYTES = 2 * 1024 * 1024;

/** The limit for all bodies together. Some kinds accept 25 MB before they can verify the sender. */
export interface BodyMemory {
  readonly work: Pick<Work, "unansweredBytes">;
  readonly maxUnansweredBytes: number;
}

/**
 * Collects a body up to a size. A longer one is rejected as early as possible, never cut off: by its declared length
 * before anything is read, otherwise by counting. If the connection ends before the body does, nothing is called.
 * The body that `done` gets is counted in `work` until its receiver subtracts it.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  { work, maxUnansweredBytes }: BodyMemory,
  done: Done<Buffer>,
  fail: Done<PosthornError>,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return fail(tooLarge(maxBytes, declared));

  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let whole: Buffer | undefined;
  let size = 0;
  let counted = 0;
  let isOver = false;
  const giveUp = () => {
    isOver = true;
    work.unansweredBytes -= counted;
    counted = 0;
    first = chunks = whole = undefined;
  };

  /** Copies each part of a large body as it comes: joining 25 MB at the end would block the event loop for too long. */
  function takeLarge(chunk: Buffer): void {
    if (whole === undefined && declared >= size) {
      whole = Buffer.allocUnsafeSlow(declared);
      Buffer.concat(chunks ?? []).copy(whole);
      chunks = [];
    }
    if (whole === undefined) chunks?.push(chunk);
    else chunk.copy(whole, size - chunk.length);
  }

  request.on("data", (chunk: Buffer) => {
    if (isOver) return;
    size += chunk.length;
    if (size > maxBytes) {
      giveUp();
      fail(tooLarge(maxBytes, size));
    } else if (first === undefined) {
      first = chunk;
    } else {
      // Only a body that comes in pieces can stay in memory indefinitely.
      if (chunks === undefined) {
        chunks = [first];
        request.once("close", () => isOver || giveUp());
      }
      work.unansweredBytes += size - counted;
      counted = size;
      if (size <= SMALL_BODY_BYTES) {
        chunks.push(chunk);
      } else if (work.unansweredBytes <= maxUnansweredBytes) {
        takeLarge(chunk);
      } else {
        giveUp();
        fail(new PosthornError("overloaded", "Too many large bodies are being received.", { retryAfterS: 5 }));
      }
    }
  });
  request.on("end", () => {
    if (isOver) return;
    isOver = true;
    work.unansweredBytes += size - counted;
    done(whole ?? (chunks === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(chunks, size)));
  });
}

function tooLarge(maxBytes: number, size: number): PosthornError {
  return new PosthornError(
    "too_large",
    `The body is larger than the limit of ${maxBytes} bytes (${size} or more). Send less, or raise max_bytes.`,
    { details: { max_bytes: maxBytes } },
  );
}

/** Whether an address belongs to a trusted proxy. */
function createTrust(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const cidr of trustedProxies) {
    const [address = "", bits] = cidr.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    trusted.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return (address) => trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Addresses without limits: trusted proxies, which stand for many clients, and the machine itself. */
export function createExemption(trustedProxies: readonly string[]): (address: string) => boolean {
  const isExempt = createTrust(["127.0.0.0/8", "::1/128", ...trustedProxies]);
  return (address) => {
    const shown = plain(address);
    // A connection over a Unix socket has no address.
    return isIP(shown) === 0 || isExempt(shown);
  };
}

/** The address of the sender. `X-Forwarded-For` is trusted only as far as trusted proxies wrote it. */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return (request) => plain(request.socket.remoteAddress ?? "");
  const isTrusted = createTrust(trustedProxies);
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? "");
    const forwarded = request.headers["x-forwarded-for"];
    const hops = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",").reverse();
    for (const hop of hops) {
      const next = plain(hop.trim());
      if (!isTrusted(address) || isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** The URL that the sender used: some signature schemes include it. Derived from the request without POSTHORN_PUBLIC_URL. */
export function createPublicUrl(publicUrl: string | undefined, trustedProxies: readonly string[]) {
  const base = publicUrl?.replace(/\/+$/, "");
  const isProxy = createTrust(trustedProxies);
  return (request: IncomingMessage): string => {
    const target = request.url ?? "/";
    if (base !== undefined) return base + target;
    const isTrusted = trustedProxies.length > 0 && isProxy(plain(request.socket.remoteAddress ?? ""));
    const protocol = (isTrusted && firstOf(request.headers["x-forwarded-proto"])) || ownProtocol(request);
    const host = (isTrusted && firstOf(request.headers["x-forwarded-host"])) || (request.headers.host ?? "localhost");
    return `${protocol}://${host}${target}`;
  };
}

/** The public URL without the path of the request itself. */
export function publicBaseOf(publicUrl: (request: IncomingMessage) => string, request: IncomingMessage): string {
  const url = publicUrl(request);
  return url.slice(0, url.length - (request.url ?? "/").length);
}

function ownProtocol({ socket }: IncomingMessage): string {
  return (socket as Partial<TLSSocket>).encrypted === true ? "https" : "http";
}

/** With several proxies, the first value is from the one next to the sender. */
function firstOf(value: string | string[] | undefined): string | undefined {
  const [first] = (Array.isArray(value) ? value : [value ?? ""]).flatMap((one) => one.split(","));
  const text = first?.trim();
  return text === "" ? undefined : text;
}

type Headers = KeptRequest["headers"];

const MASK = "***";
/** A shorter secret is masked only if it is the whole value: it may occur in other texts by chance. */
const MIN_PART_LENGTH = 8;

/** Everything of a request except its body, as JSON with secrets masked. */
export function describeRequest(
  request: Pick<RequestHead, "method" | "path" | "query" | "remoteAddress" | "headers">,
  hidden: HiddenTexts | undefined,
): string {
  return writeKeptRequest({
    method: request.method,
    path: request.path,
    query: hidden === undefined || request.query === "" ? request.query : maskQuery(request.query, hidden),
    remote_address: request.remoteAddress,
    headers: maskHeaders(request.headers, hidden),
  });
}

function maskHeaders(headers: Headers, hidden: HiddenTexts | undefined): Headers {
  let masked: Record<string, string | readonly string[] | undefined> | undefined;
  for (const name in headers) {
    if (!isCredentialHeader(name) && (hidden === undefined || !isHidden(name, headers[name], hidden))) continue;
    masked ??= { ...headers };
    masked[name] = MASK;
  }
  return masked ?? headers;
}

/** In all headers: a sender that has a secret may send it in any of them. */
function isHidden(name: string, value: Headers[string], { header, texts }: HiddenTexts): boolean {
  if (name === header) return true;
  if (value === undefined) return false;
  if (typeof value !== "string") return value.some((one) => isHidden(name, one, { header, texts }));
  for (const text of texts) if (value.length >= text.length && holds(value, text)) return true;
  return false;
}

function holds(value: string, text: string): boolean {
  return text.length < MIN_PART_LENGTH ? value === text : value.includes(text);
}

function maskQuery(query: string, { texts }: HiddenTexts): string {
  return query
    .split("&")
    .map((pair) => {
      const at = pair.indexOf("=");
      const isSecret = texts.some((text) => holds(decode(pair.slice(at + 1)), text));
      return isSecret ? `${pair.slice(0, at + 1)}${MASK}` : pair;
    })
    .join("&");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
