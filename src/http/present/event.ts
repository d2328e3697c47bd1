import { deriveEventStatus } from "../../domain/delivery.ts";
import { readKeptRequest } from "../../domain/kept-request.ts";
import type { StoredEvent } from "../../store/port/reads.ts";
import { isoTime } from "./time.ts";

/** The one mapping of an event to the wire. */
export function presentEvent(event: StoredEvent) {
  const details = event.details === undefined ? {} : (JSON.parse(event.details) as PublishedDetails);
  const request = event.request === undefined ? undefined : readKeptRequest(event.request);
  return {
    event_id: event.id,
    event_type: event.type,
    event_version: event.version,
    source: event.source,
    source_id: details.source_id,
    tenant_id: event.tenantId,
    user_id: details.user_id,
    session_id: details.session_id,
    priority: event.priority,
    ordering_key: event.orderingKey ?? null,
    timestamp: isoTime(event.occurredAt),
    deliver_at: isoTime(details.deliver_at),
    expires_at: isoTime(details.expires_at),
    metadata: details.metadata,
    status: deriveEventStatus(event),
    unmatched: event.deliveryCount === 0,
    received_at: isoTime(event.receivedAt),
    published_at: isoTime(event.publishedAt),
    content_type: event.contentType ?? null,
    size: event.size,
    schema_result: details.schema_result ?? null,
    masked: details.masked ?? 0,
    replay_of: details.replay_of,
    body_erased_at: isoTime(event.erasedAt) ?? null,
    headers: request?.headers,
    delivery_count: event.deliveryCount,
  };
}

interface PublishedDetails {
  source_id?: string;
  user_id?: string;
  session_id?: string;
  deliver_at?: number;
  expires_at?: number;
  metadata?: unknown;
  schema_result?: unknown;
  /** How many values were masked before the event was stored. */
  masked?: number;
  /** The id of the event that was edited to create this one. */
  replay_of?: string;
}

/** The request line of a received webhook; undefined for other events. */
export function presentEventRequest({ request }: Pick<StoredEvent, "request">) {
  const { method, path, query } = request === undefined ? {} : readKeptRequest(request);
  return method === undefined ? undefined : { method, path, query };
}

/** Byte for byte. */
export function presentBytes(body: Uint8Array): string {
  return `"payload_base64":"${Buffer.from(body).toString("base64")}"`;
}

/** A JSON body is sent as the text that came in, so that numbers beyond 2^53 are not changed. */
export function presentBody(event: StoredEvent, body: Uint8Array | undefined): string {
  if (body === undefined) return `"payload":null`;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const text = bytes.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(bytes)) return presentBytes(body);
  return `"payload":${isJson(event, text) ? text : JSON.stringify(text)}`;
}

/** Line breaks in JSON occur only outside of strings, so they can be removed. */
export function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]/g, " ");
}

function isJson(event: StoredEvent, text: string): boolean {
  if (event.contentType !== undefined && !/[/+]json\b/i.test(event.contentType)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
