import { Type } from "typebox";
import { countsSeenBy, deriveEventStatus } from "../../model/delivery.ts";
import { isDamage } from "../../model/errors.ts";
import { PRIORITIES, readKeptRequest } from "../../model/event.ts";
import type { LoadedEvent, StoredEvent } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime } from "../present.ts";

export const EXAMPLE_PAYLOAD = { order_id: 1001, total: "12.50" };

export const Event = Doc.shape("Event", "An event: an immutable fact", () => ({
  event_id: Doc.text(EXAMPLE.event),
  event_type: Doc.text(EXAMPLE.eventType),
  event_version: Doc.text("1.0"),
  source: Doc.text("api"),
  source_id: Type.Optional(Type.String()),
  tenant_id: Doc.text(EXAMPLE.tenant),
  user_id: Type.Optional(Type.String()),
  session_id: Type.Optional(Type.String()),
  priority: Type.Enum([...PRIORITIES], { examples: ["normal"] }),
  ordering_key: Doc.textOrNull(),
  timestamp: Doc.Time,
  deliver_at: Type.Optional(Doc.Time),
  expires_at: Type.Optional(Doc.Time),
  metadata: Type.Optional(Doc.Anything),
  status: Type.Enum(["PENDING", "COMPLETED", "FAILED"], { examples: ["FAILED"] }),
  unmatched: Doc.flag("True when no subscription matched the event"),
  received_at: Doc.Time,
  published_at: Doc.time("When the event was stored on disk"),
  content_type: Doc.nullable(Doc.text("application/json")),
  size: Doc.count(43, "The size of the body in bytes"),
  body_erased_at: Doc.nullable(Doc.time("When the body was erased; null otherwise")),
  masked: Doc.countOf("The number of values that were masked before the event was stored"),
  replay_of: Type.Optional(Doc.textOf("The id of the event that was edited to create this one")),
  schema_result: Doc.nullable(
    Doc.closed({
      valid: Type.Boolean(),
      errors: Type.Optional(Type.Array(Doc.closed({ path: Type.String(), message: Type.String() }))),
    }),
  ),
  headers: Type.Optional(Doc.Headers),
  delivery_count: Doc.count(1),
}));

/** The parts of a received webhook other than its headers and body. */
export const EventRequest = Type.Optional(
  Doc.closed(
    { method: Type.String(), path: Type.String(), query: Type.String() },
    "The request line of a received webhook",
  ),
);

/** The body, in answers that show it. */
export const Payload = {
  payload: Type.Optional(
    Type.Unknown({
      description: "The body: JSON exactly as received, other text as a string",
      examples: [EXAMPLE_PAYLOAD],
    }),
  ),
  payload_base64: Type.Optional(Doc.textOf("A body that is not text")),
  payload_omitted: Type.Optional(
    Doc.flag("Instead of the body: it is damaged on disk, or, in the live stream, larger than 256 KiB"),
  ),
  damage: Type.Optional(Doc.textOf("What is damaged")),
};

/** The one mapping of an event to the wire, as a tenant sees it, or those who are bound to none. */
export function presentEvent(event: StoredEvent, tenantId: string | undefined) {
  const counts = countsSeenBy(tenantId, event);
  const details = readSound(event.details, (text) => JSON.parse(text) as PublishedDetails) ?? {};
  const request = readSound(event.request, readKeptRequest);
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
    status: deriveEventStatus(counts),
    unmatched: counts.deliveryCount === 0,
    received_at: isoTime(event.receivedAt),
    published_at: isoTime(event.publishedAt),
    content_type: event.contentType ?? null,
    size: event.size,
    schema_result: details.schema_result ?? null,
    masked: details.masked ?? 0,
    replay_of: details.replay_of,
    body_erased_at: isoTime(event.erasedAt) ?? null,
    headers: request?.headers,
    delivery_count: counts.deliveryCount,
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
  const kept = readSound(request, readKeptRequest);
  return kept && { method: kept.method, path: kept.path, query: kept.query };
}

/** What is damaged on disk may be no JSON; the other events of a list are shown all the same. */
function readSound<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  try {
    return text === undefined ? undefined : read(text);
  } catch {
    return undefined;
  }
}

/** The body, or why it is left out. */
export async function presentStoredBody(
  event: StoredEvent,
  load: () => Promise<Pick<LoadedEvent, "body"> | undefined>,
  form: "json" | "base64" = "json",
): Promise<string> {
  try {
    const body = (await load())?.body;
    return form === "base64" && body !== undefined ? presentBytes(body) : presentBody(event, body);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return `"payload_omitted":true,"damage":${JSON.stringify(error.details?.["damage"] ?? error.message)}`;
  }
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
