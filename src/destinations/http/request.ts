import { type EventContent, HOPS_HEADER } from "../../model/event.ts";
import {
  type HeaderBlock,
  headerValue,
  maskCredentials,
  parseHeaderBlock,
  withoutHeaders,
} from "../../model/headers.ts";
import { buildData, cloudEventOf, CLOUDEVENTS_TYPE, wrapData } from "../event-data.ts";
import { oncePer } from "../once-per.ts";
import { traceLines } from "../outgoing-header.ts";
import type { Attempt } from "../sender.ts";
import type { HttpRequest } from "../wire/http.ts";
import type { PreparedRequests } from "./prepare.ts";
import { buildAttemptHeaders } from "./record.ts";
import { expandUrl, type RequestParts } from "./request-templates.ts";
import type { HttpDestination } from "./settings.ts";

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
  prepared: PreparedRequests,
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
    originHeaders: prepared.access.originHeaders,
    body,
    timeoutMs: forwarded?.timeoutMs ?? Math.max(MIN_TIMEOUT_MS, subscription.timeoutMs - spentMs),
    owner: subscription.tenantId,
    terms: prepared.access.terms,
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

export function buildPayload(deliveryId: string, event: EventContent, format: HttpDestination["format"]): Payload {
  const isRaw = format === "raw" || (format === "auto" && event.origin === "webhook");
  if (isRaw) return { body: event.body, contentType: event.contentType ?? UNKNOWN_TYPE };
  if (format === "cloudevents") {
    return { body: cloudEventOf(event), contentType: CLOUDEVENTS_TYPE };
  }
  const { head, data } = envelopeOf(event);
  return { body: wrapData(`{"webhook_id":${JSON.stringify(deliveryId)},${head}`, data), contentType: JSON_TYPE };
}

/** The part that is the same in all deliveries of an event; `head`: JSON from the second member up to the data. */
const envelopeOf = oncePer((event: EventContent) => {
  const { name, data } = buildData(event);
  const facts = [
    `"event":${JSON.stringify(event.type)}`,
    `"event_id":${JSON.stringify(event.id)}`,
    `"timestamp":"${new Date(event.occurredAt).toISOString()}"`,
    `"${name}":`,
  ];
  return { head: facts.join(","), data };
});
