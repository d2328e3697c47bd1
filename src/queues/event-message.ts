import { DEFAULT_TENANT, type EventContent } from "../model/event.ts";
import { skipSpace } from "../model/json.ts";

/**
 * `format: event`: the Event of a bus whose other members are written in Python, in the form of `json.dumps`. Messages
 * from such a bus are read like published events, which know this shape.
 */
export interface BusEvent {
  event: EventContent;
  sourceId?: string | undefined;
  userId?: string | undefined;
  sessionId?: string | undefined;
  /** JSON text of an object, as it was published. */
  metadata?: string | undefined;
  /** Unix ms. */
  publishedAt: number;
}

/** Undefined when the body is not a JSON object, which this format needs. Its bytes are inserted unchanged. */
export function writeBusEvent(facts: BusEvent): Buffer | undefined {
  const { event, sourceId, userId, sessionId, metadata = "{}", publishedAt } = facts;
  const body = Buffer.from(event.body.buffer, event.body.byteOffset, event.body.byteLength);
  if (body[skipSpace(body, 0)] !== 0x7b) return undefined;
  const before = [
    ["event_id", JSON.stringify(event.id)],
    ["event_type", JSON.stringify(event.type)],
    ["event_version", JSON.stringify(event.version)],
    ["timestamp", writePythonTime(event.occurredAt)],
    ["published_at", writePythonTime(publishedAt)],
    ["source", JSON.stringify(event.source)],
    ["source_id", writeText(sourceId)],
    ["tenant_id", event.tenantId === DEFAULT_TENANT ? "null" : writeId(event.tenantId)],
    ["user_id", userId === undefined ? "null" : writeId(userId)],
    ["session_id", writeText(sessionId)],
  ];
  const start = before.map(([name, value]) => `"${name}": ${value}`).join(", ");
  return Buffer.concat([
    Buffer.from(`{${start}, "payload": `, "utf8"),
    body,
    Buffer.from(`, "metadata": ${metadata}, "priority": ${JSON.stringify(event.priority)}}`, "utf8"),
  ]);
}

function writeText(text: string | undefined): string {
  return text === undefined ? "null" : JSON.stringify(text);
}

/** Ids of tenants and users are integers on such a bus. */
function writeId(id: string): string {
  return /^(?:0|[1-9]\d*)$/.test(id) ? id : JSON.stringify(id);
}

/** In the form of `str()` of a datetime in UTC: without a fraction when it is zero. */
function writePythonTime(unixMs: number): string {
  const [day = "", time = ""] = new Date(unixMs).toISOString().slice(0, -1).split("T");
  const [seconds = "", fraction = ""] = time.split(".");
  return `"${day} ${fraction === "000" ? seconds : `${seconds}.${fraction}000`}"`;
}
