import type { IncomingHttpHeaders } from "node:http";
import { isCredentialHeader } from "../model/credential-header.ts";
import { PosthornError } from "../model/errors.ts";
import { writeKeptRequest, type KeptRequest } from "../model/kept-request.ts";
import type { HiddenTexts, Source } from "../model/source.ts";
import type { PulledFacts } from "../sources/opened-message.ts";
import type { ArrivedRequest } from "../sources/source-kind.ts";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends ArrivedRequest {
  readonly source: Source;
  readonly remoteAddress: string;
  /** When it first came; differs from `receivedAt` only when it is replayed. */
  readonly occurredAt: number;
  /** Set when it came as a message. */
  readonly pulled?: PulledFacts | undefined;
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
