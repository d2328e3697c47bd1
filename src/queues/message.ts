import type { Priority } from "../model/event.ts";
import type { Claim } from "./message-schema.ts";
import { MESSAGE_VERSION } from "./message-schema.ts";

/** `format: message`: a whole event as one JSON object, for another gateway or an n8n workflow. */
export interface EventMessage {
  eventId: string;
  eventType: string;
  eventVersion: string;
  source: string;
  tenantId: string;
  priority: Priority;
  orderingKey?: string | undefined;
  generation: number;
  /** The id of the store that created the message. */
  origin: string;
  hops: number;
  /** Unix ms, like the next three. */
  occurredAt: number;
  receivedAt: number;
  deliverAt?: number | undefined;
  expiresAt?: number | undefined;
  userId?: string | undefined;
  sessionId?: string | undefined;
  remoteAddress?: string | undefined;
  traceparent?: string | undefined;
  method?: string | undefined;
  path?: string | undefined;
  query?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  sealedHeaders?: string | undefined;
  contentType?: string | undefined;
  /** JSON text of an object, kept unchanged. */
  metadata?: string | undefined;
  content: { body: Uint8Array } | { claim: Claim };
}

/** Strict; a byte order mark is an ordinary part of the body. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function writeMessage(message: EventMessage): Buffer {
  const { content, metadata } = message;
  const facts = JSON.stringify({
    v: MESSAGE_VERSION,
    event_id: message.eventId,
    event_type: message.eventType,
    event_version: message.eventVersion,
    source: message.source,
    tenant_id: message.tenantId,
    priority: message.priority,
    ordering_key: message.orderingKey,
    generation: message.generation,
    origin: message.origin,
    hops: message.hops,
    occurred_at: writeTime(message.occurredAt),
    received_at: writeTime(message.receivedAt),
    deliver_at: writeTime(message.deliverAt),
    expires_at: writeTime(message.expiresAt),
    user_id: message.userId,
    session_id: message.sessionId,
    remote_address: message.remoteAddress,
    traceparent: message.traceparent,
    method: message.method,
    path: message.path,
    query: message.query,
    headers: message.headers,
    headers_sealed: message.sealedHeaders,
    content_type: message.contentType,
    claim: "claim" in content ? content.claim : undefined,
  });
  const parts = [facts.slice(0, -1)];
  if (metadata !== undefined) parts.push(`"metadata":${metadata}`);
  if ("body" in content) parts.push(writeBody(content.body));
  return Buffer.from(`${parts.join(",")}}`, "utf8");
}

function writeTime(unixMs: number | undefined): string | undefined {
  return unixMs === undefined ? undefined : new Date(unixMs).toISOString();
}

/**
 * As text if it is text; as base64 also when JSON would be longer, because each control character takes six characters.
 */
function writeBody(body: Uint8Array): string {
  const text = decodeText(body);
  const quoted = text === undefined ? undefined : JSON.stringify(text);
  const base64Length = Math.ceil(body.byteLength / 3) * 4;
  if (quoted !== undefined && Buffer.byteLength(quoted) <= Math.max(base64Length + 2, body.byteLength * 1.5)) {
    return `"body":${quoted}`;
  }
  return `"body_base64":"${Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64")}"`;
}

function decodeText(body: Uint8Array): string | undefined {
  try {
    return decoder.decode(body);
  } catch {
    return undefined;
  }
}
