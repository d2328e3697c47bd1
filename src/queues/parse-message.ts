import { Value } from "typebox/value";
import { isFieldName, isFieldValue } from "../model/header-block.ts";
import { isDeeperThan } from "../model/json-depth.ts";
import { findMember } from "../model/json-members.ts";
import type { EventMessage } from "./message.ts";
import { MESSAGE_VERSION, MessageSchema } from "./message-schema.ts";

/** Why a message cannot be read; stored with the parked message. */
export interface Unreadable {
  reason: "too_large" | "not_json" | "unknown_version" | "invalid_field";
  description: string;
}

export type ParsedMessage = { message: EventMessage } | Unreadable;

export interface MessageLimits {
  /** Size of the whole message. */
  maxBytes: number;
  maxDepth: number;
}

const DEFAULT_LIMITS: MessageLimits = { maxBytes: 8 * 1024 * 1024, maxDepth: 128 };

/** Never throws: no message in a queue may stop its taker. */
export function parseMessage(bytes: Buffer, limits: MessageLimits = DEFAULT_LIMITS): ParsedMessage {
  if (bytes.length > limits.maxBytes) {
    return unreadable("too_large", `The message has ${bytes.length} bytes; the maximum is ${limits.maxBytes}.`);
  }
  const value = parseJson(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return unreadable("not_json", "The message is not a JSON object.");
  }
  const { v } = value as { v?: unknown };
  if (v !== MESSAGE_VERSION) {
    const given = typeof v === "number" ? `the version ${v}` : "no version that is a number";
    return unreadable("unknown_version", `The message has ${given}; this gateway knows ${MESSAGE_VERSION}.`);
  }
  if (isDeeperThan(value, limits.maxDepth)) {
    return unreadable("invalid_field", `The message is nested deeper than ${limits.maxDepth} levels.`);
  }
  if (!Value.Check(MessageSchema, value)) return unreadable("invalid_field", describeFault(value));
  return findFault(value) ?? { message: toMessage(value, bytes) };
}

function unreadable(reason: Unreadable["reason"], description: string): Unreadable {
  return { reason, description };
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function describeFault(value: unknown): string {
  const [first] = Value.Errors(MessageSchema, value);
  const field = first?.instancePath.slice(1).replaceAll("/", ".").slice(0, 60);
  const name = field === undefined || field === "" ? "A field" : `"${field}"`;
  return `${name} of the message is not valid: ${first?.message ?? "unknown"}.`;
}

/** Rules that the schema cannot express. */
function findFault(value: MessageSchema): Unreadable | undefined {
  const contents = [value.body, value.body_base64, value.claim].filter((one) => one !== undefined).length;
  if (contents !== 1) {
    return unreadable("invalid_field", "The message must have one of body, body_base64 and claim.");
  }
  // UTF-8 cannot encode an unpaired surrogate.
  if (value.body !== undefined && /[\ud800-\udfff]/u.test(value.body)) {
    return unreadable("invalid_field", "The message has a body that is not valid text.");
  }
  for (const time of [value.occurred_at, value.received_at, value.deliver_at, value.expires_at]) {
    if (time !== undefined && findTime(time) === undefined) {
      return unreadable("invalid_field", `The message has a time that does not exist: ${time}.`);
    }
  }
  const header = Object.entries(value.headers ?? {}).find(([name, text]) => !isFieldName(name) || !isFieldValue(text));
  if (header !== undefined) {
    return unreadable(
      "invalid_field",
      `The message has a header that is not valid in HTTP: ${JSON.stringify(header[0])}.`,
    );
  }
  return undefined;
}

function findTime(text: string): number | undefined {
  const at = Date.parse(text);
  return Number.isNaN(at) || new Date(at).toISOString() !== text ? undefined : at;
}

function toMessage(value: MessageSchema, bytes: Buffer): EventMessage {
  const metadata = value.metadata === undefined ? undefined : findMember(bytes, 0, bytes.length, "metadata");
  return {
    eventId: value.event_id,
    eventType: value.event_type,
    eventVersion: value.event_version,
    source: value.source,
    tenantId: value.tenant_id,
    priority: value.priority,
    orderingKey: value.ordering_key,
    generation: value.generation,
    origin: value.origin,
    hops: value.hops,
    occurredAt: Date.parse(value.occurred_at),
    receivedAt: Date.parse(value.received_at),
    deliverAt: value.deliver_at === undefined ? undefined : Date.parse(value.deliver_at),
    expiresAt: value.expires_at === undefined ? undefined : Date.parse(value.expires_at),
    userId: value.user_id,
    sessionId: value.session_id,
    remoteAddress: value.remote_address,
    traceparent: value.traceparent,
    method: value.method,
    path: value.path,
    query: value.query,
    headers: value.headers,
    sealedHeaders: value.headers_sealed,
    contentType: value.content_type,
    metadata: metadata && bytes.toString("utf8", metadata.start, metadata.end),
    content: value.claim === undefined ? { body: readBody(value) } : { claim: value.claim },
  };
}

function readBody({ body, body_base64: base64 = "" }: MessageSchema): Buffer {
  return body === undefined ? Buffer.from(base64, "base64") : Buffer.from(body, "utf8");
}
