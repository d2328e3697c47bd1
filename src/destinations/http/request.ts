import { attemptTrace } from "../../model/trace-context.ts";
import { type EventContent, HOPS_HEADER } from "../../model/event.ts";
import {
  type HeaderBlock,
  headerValue,
  maskCredentials,
  parseHeaderBlock,
  withoutHeaders,
} from "../../model/headers.ts";
import type { KindRecord } from "../../model/outcome.ts";
import type { Signer } from "../../model/signature.ts";
import type { RetryOn } from "../classify-answer.ts";
import type { RecordedAttempt } from "../destination-kind.ts";
import { buildData, cloudEventOf, CLOUDEVENTS_TYPE, wrapData } from "../event-data.ts";
import type { ForwardedRequest } from "../forward.ts";
import type { PreparedAuth } from "../login.ts";
import { traceLines } from "../outgoing-header.ts";
import type { DestinationAuthInput } from "../request-settings.ts";
import type { Attempt } from "../sender.ts";
import type { HttpRequest } from "../wire/http.ts";
import { expandUrl, type RequestParts, type RequestTemplates } from "./request-templates.ts";

/** The settings as the sender uses them: with defaults, decrypted, only in memory. */
export interface HttpDestination {
  readonly url: string;
  readonly format: "auto" | "envelope" | "raw" | "cloudevents";
  readonly signatureHeader: string;
  readonly retryOn: RetryOn;
  readonly headers: Readonly<Record<string, string>>;
  /** CIDRs; when not given, any address that the guard allows. */
  readonly allowedIps: readonly string[] | undefined;
  readonly auth: DestinationAuthInput | undefined;
  /** In lower case; the usual headers when not given. */
  readonly forwardHeaders: readonly string[] | undefined;
  /** Whether deliveries to this gateway itself are allowed. */
  readonly allowOwnUrl: boolean;
  /** Larger bodies are not sent. */
  readonly maxBytes: number | undefined;
  /** Undefined when the event itself is sent. */
  readonly templates: RequestTemplates | undefined;
  /** The destination must first agree to get deliveries. */
  readonly needsPermission: boolean;
  /** JSON with any other content type is sent as `application/json`. */
  readonly wantsPlainJson: boolean;
}

/** What all attempts of one subscription have in common. */
export interface Prepared {
  destination: HttpDestination;
  /** The URL has a placeholder for the event's source. */
  hasSource: boolean;
  signer: Signer;
  /** The header for the signature with a rotation's new secret; undefined when there is none. */
  nextHeader: string | undefined;
  /** The name is checked already. */
  signatureHeader: string;
  headers: HeaderBlock;
  /** Headers that the subscription sets, only for its own destination. */
  originHeaders: HeaderBlock;
  /** Both sets of headers, with the subscription's values masked: any of them may be a secret. */
  recorded: HeaderBlock;
  auth: PreparedAuth;
  findHopProblem: HttpRequest["findHopProblem"];
  /** Why nothing can be sent at all. */
  problem: string | undefined;
  /** Our headers that a forwarded request does not have, because it has the sender's; undefined when there are none. */
  leftOut: ReadonlySet<string> | undefined;
  /** Only for subscriptions that forward requests. */
  forward: ((attempt: Attempt, url: string) => ForwardedRequest) | undefined;
}

/** A request, and what is recorded of it. */
export interface BuiltRequest extends HttpRequest {
  headers: HeaderBlock;
  originHeaders: HeaderBlock;
  /** The headers as they are recorded: without those that are built again, and with secrets masked. */
  recorded: string;
  /** The whole URL. */
  place: string;
}

/** The smallest timeout that can be configured. */
const MIN_TIMEOUT_MS = 1000;
/** `application/cloudevents+json` and similar types. */
const SOME_JSON = /^[^;]*\+json\s*(;|$)/i;

/**
 * Returns a text when the body is too large for the target. `parts`: what is sent instead of the event; `spentMs`: how
 * much of the attempt's time rendering them has used.
 */
export function buildRequest(
  prepared: Prepared,
  attempt: Attempt,
  startedAt: number,
  parts: RequestParts | undefined,
  spentMs: number,
): BuiltRequest | string {
  const { deliveryId, number, event, subscription } = attempt;
  const { destination, signatureHeader, nextHeader, leftOut } = prepared;
  const { body, contentType: ownType } =
    parts?.body === undefined ? buildPayload(deliveryId, event, destination.format) : toPayload(parts, parts.body);
  const { maxBytes } = destination;
  if (maxBytes !== undefined && body.length > maxBytes) {
    return `its body of ${body.length} bytes is larger than the target accepts (${maxBytes})`;
  }
  const contentType = destination.wantsPlainJson && SOME_JSON.test(ownType) ? JSON_TYPE : ownType;
  const startedAtS = Math.floor(startedAt / 1000);
  const eventId = event.originId ?? event.id;
  const { plain, next, standard } = prepared.signer.sign(eventId, startedAtS, body);
  const isTraced = (attempt.trace ?? event.trace) !== undefined;
  // All values that users or senders chose were checked, here or in `prepare`; the rest is built here.
  const own =
    `Content-Type: ${headerValue(contentType)}\r\n${signatureHeader}: ${plain}\r\n` +
    `webhook-signature: ${standard}\r\n${nextHeader === undefined ? "" : `${nextHeader}: ${next}\r\n`}` +
    `${HOPS_HEADER}: ${(event.hops ?? 0) + 1}\r\n${isTraced ? traceLines(attempt) : ""}`;
  const url = parts?.url ?? (prepared.hasSource ? expandUrl(destination.url, event.source) : destination.url);
  const templated = parts?.headers ?? "";
  const forwarded = prepared.forward?.(attempt, url);
  const ours = buildAttemptHeaders({ deliveryId, eventId, eventType: event.type, number, startedAtS, isTraced }) + own;
  const rest = prepared.recorded + maskCredentials(templated) + (forwarded?.recorded ?? "");
  let [sent, recorded] = [ours, own + rest];
  if (leftOut !== undefined && attempt.request !== undefined) {
    sent = withoutHeaders(ours, leftOut);
    recorded = recordInFull(sent + rest);
  }
  return {
    method: forwarded?.method ?? "POST",
    url,
    path: forwarded?.path,
    headers: sent + prepared.headers + templated + (forwarded?.headers ?? ""),
    originHeaders: prepared.originHeaders,
    body,
    timeoutMs: forwarded?.timeoutMs ?? Math.max(MIN_TIMEOUT_MS, subscription.timeoutMs - spentMs),
    owner: subscription.tenantId,
    terms: prepared.auth.terms,
    findHopProblem: prepared.findHopProblem,
    recorded,
    place: forwarded?.url ?? url,
  };
}

function toPayload({ contentType = UNKNOWN_TYPE }: RequestParts, body: Uint8Array): Payload {
  return { body, contentType };
}

/**
 * For an attempt without some of the headers that are otherwise built again when it is shown. The line end keeps it out
 * of the forms that attempts share.
 */
function recordInFull(headers: HeaderBlock): string {
  return `${JSON.stringify(parseHeaderBlock(headers))}\r\n`;
}

/** The body that a destination receives: the raw bytes unchanged, or an envelope around them. */
interface Payload {
  body: Uint8Array;
  contentType: string;
}

const JSON_TYPE = "application/json";
const UNKNOWN_TYPE = "application/octet-stream";

/** The part that is the same in all deliveries of an event, created once: an event can have a thousand deliveries. */
interface Envelope {
  /** JSON from the second member up to the data. */
  head: string;
  data: Uint8Array;
}

const envelopes = new WeakMap<EventContent, Envelope>();

export function buildPayload(deliveryId: string, event: EventContent, format: HttpDestination["format"]): Payload {
  const isRaw = format === "raw" || (format === "auto" && event.origin === "webhook");
  if (isRaw) return { body: event.body, contentType: event.contentType ?? UNKNOWN_TYPE };
  if (format === "cloudevents") {
    return { body: cloudEventOf(event), contentType: CLOUDEVENTS_TYPE };
  }
  const { head, data } = envelopeOf(event);
  return { body: wrapData(`{"webhook_id":${JSON.stringify(deliveryId)},${head}`, data), contentType: JSON_TYPE };
}

function envelopeOf(event: EventContent): Envelope {
  let envelope = envelopes.get(event);
  if (envelope === undefined) envelopes.set(event, (envelope = buildEnvelope(event)));
  return envelope;
}

function buildEnvelope(event: EventContent): Envelope {
  const { name, data } = buildData(event);
  const facts = [
    `"event":${JSON.stringify(event.type)}`,
    `"event_id":${JSON.stringify(event.id)}`,
    `"timestamp":"${new Date(event.occurredAt).toISOString()}"`,
    `"${name}":`,
  ];
  return { head: facts.join(","), data };
}

/** The facts of an attempt that its headers are built from. */
interface AttemptFacts {
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** From 1. */
  number: number;
  /** Unix seconds. */
  startedAtS: number;
  /** The event came with a trace: its `traceparent` is stored with the other headers. */
  isTraced?: boolean;
}

/**
 * Headers that can be calculated from an attempt's other facts. They are sent but not stored: code that shows the
 * attempt builds them again. This saves two thirds of the bytes that each attempt would take.
 */
export function buildAttemptHeaders(facts: AttemptFacts): HeaderBlock {
  const { deliveryId, number, startedAtS } = facts;
  const eventId = headerValue(facts.eventId);
  const trace = attemptTrace({ id: eventId }, deliveryId, number);
  return (
    `X-Webhook-ID: ${deliveryId}\r\nX-Webhook-Event: ${headerValue(facts.eventType)}\r\n` +
    `X-Webhook-Timestamp: ${startedAtS}\r\nX-Webhook-Attempt: ${number}\r\nwebhook-id: ${eventId}\r\n` +
    `webhook-timestamp: ${startedAtS}\r\n${facts.isTraced === true ? "" : `traceparent: ${trace}\r\n`}`
  );
}

const MAX_SHOWN_TEXT = 8192;

/** Presents the stored request and answer of an attempt. */
export function presentHttpRecord(record: KindRecord, of: RecordedAttempt): Record<string, unknown> {
  const { place, address, sent, code, facts, answer } = record;
  return {
    url: place ?? null,
    address: address ?? null,
    request_headers: presentHeaders(sent, of),
    response_code: code ?? null,
    response_headers: facts === undefined ? null : (JSON.parse(facts) as unknown),
    response_body: answer === undefined ? null : Buffer.from(answer).toString("utf8").slice(0, MAX_SHOWN_TEXT),
  };
}

function presentHeaders(headers: string | undefined, of: RecordedAttempt): unknown {
  if (headers === undefined) return null;
  // All headers: they are stored so where some of ours were left out.
  if (headers.startsWith("{")) return JSON.parse(headers);
  if (headers === "") return {};
  const { deliveryId, eventId, eventType, number, startedAt } = of;
  const facts = { deliveryId, eventId, eventType, number, startedAtS: Math.floor(startedAt / 1000) };
  return parseHeaderBlock(buildAttemptHeaders(facts) + headers);
}
