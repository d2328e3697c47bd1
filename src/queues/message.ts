import { EVENT_ID_PATTERN, EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN, PRIORITIES } from "../model/event.ts";
import { Type, type Static, type TSchema } from "typebox";
import { Value } from "typebox/value";
import { isFieldName, isFieldValue } from "../model/headers.ts";
import { isDeeperThan, findMember } from "../model/json.ts";
import { createHash } from "node:crypto";

/** A message of `format: message`, as a queue contains it. */

const MESSAGE_VERSION = 1;

/** No control characters and no unpaired surrogates. */
const PLAIN = "^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$";
const BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: PLAIN });
const time = () => Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$" });
const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema);

/** Where a body that is too large for the queue is stored: in the container that both gateways are configured with. */
export const Claim = Type.Object(
  {
    container: Type.String({ pattern: "^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}$" }),
    blob: Type.String({ pattern: "^[A-Za-z0-9_-]{1,200}$" }),
    size: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  },
  { additionalProperties: false },
);
export type Claim = Static<typeof Claim>;

const MessageSchema = Type.Object(
  {
    v: Type.Literal(MESSAGE_VERSION),
    event_id: Type.String({ pattern: EVENT_ID_PATTERN }),
    event_type: Type.String({ maxLength: EVENT_TYPE_MAX_LENGTH, pattern: EVENT_TYPE_PATTERN }),
    event_version: text(32),
    source: text(128),
    tenant_id: text(128),
    priority: Type.Enum([...PRIORITIES]),
    ordering_key: maybe(text(255)),
    /** The delivery's generation: 1, and more for a replay. */
    generation: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    /** The store that created the message. */
    origin: text(64),
    /** How many gateways the event has passed. */
    hops: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    occurred_at: time(),
    received_at: time(),
    deliver_at: maybe(time()),
    expires_at: maybe(time()),
    user_id: maybe(text(255)),
    session_id: maybe(text(255)),
    remote_address: maybe(text(64)),
    traceparent: maybe(Type.String({ pattern: "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" })),
    method: maybe(Type.String({ pattern: "^[A-Z]{1,20}$" })),
    path: maybe(text(8192)),
    query: maybe(Type.String({ maxLength: 8192, pattern: PLAIN })),
    headers: maybe(Type.Record(Type.String(), Type.String({ maxLength: 16_384 }), { maxProperties: 200 })),
    /** Credentials among the headers, encrypted. */
    headers_sealed: maybe(Type.String({ maxLength: 65_536, pattern: BASE64 })),
    content_type: maybe(text(255)),
    metadata: maybe(Type.Record(Type.String(), Type.Unknown())),
    body: maybe(Type.String()),
    body_base64: maybe(Type.String({ pattern: BASE64 })),
    claim: maybe(Claim),
  },
  { additionalProperties: false },
);
type MessageSchema = Static<typeof MessageSchema>;

/** Written and read in another way than the other fields. */
const SPECIAL = ["v", "metadata", "body", "body_base64", "claim"] as const;
const TIMES: readonly string[] = ["occurred_at", "received_at", "deliver_at", "expires_at"] satisfies Field[];

type Special = (typeof SPECIAL)[number];
type Field = Exclude<keyof MessageSchema, Special>;
type NameOf<Name extends string> = Name extends "headers_sealed" ? "sealedHeaders" : Camel<Name>;
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
type Value<Name extends Field> = Name extends `${string}_at` ? number : MessageSchema[Name];
type Facts = {
  [Name in keyof Omit<MessageSchema, Special> as NameOf<Name>]:
    | Value<Name>
    | (undefined extends MessageSchema[Name] ? undefined : never);
};

/**
 * `format: message`: a whole event as one JSON object, for another gateway or an n8n workflow. Its facts are those of the
 * schema, in camel case; times are Unix ms.
 */
export type EventMessage = Facts & {
  /** JSON text of an object, kept unchanged. */
  metadata?: string | undefined;
  content: { body: Uint8Array } | { claim: Claim };
};

/** In the order in which they are written. */
const FACTS = Object.keys(MessageSchema.properties)
  .filter((field): field is Field => !SPECIAL.some((special) => special === field))
  .map((field) => ({ field, name: nameOf(field), isTime: TIMES.includes(field) }));

function nameOf(field: Field): keyof Facts {
  const camel = field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return (field === "headers_sealed" ? "sealedHeaders" : camel) as keyof Facts;
}

/** Strict; a byte order mark is an ordinary part of the body. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function writeMessage(message: EventMessage): Buffer {
  const { content, metadata } = message;
  const facts = FACTS.map(({ field, name, isTime }) => {
    const value = message[name];
    return [field, isTime && value !== undefined ? new Date(Number(value)).toISOString() : value] as const;
  });
  const claim = "claim" in content ? content.claim : undefined;
  const written = JSON.stringify({ v: MESSAGE_VERSION, ...Object.fromEntries(facts), claim });
  const parts = [written.slice(0, -1)];
  if (metadata !== undefined) parts.push(`"metadata":${metadata}`);
  if ("body" in content) parts.push(writeBody(content.body));
  return Buffer.from(`${parts.join(",")}}`, "utf8");
}

/** As base64 if it is not text, or if JSON would be longer: each control character takes six characters there. */
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
  const facts = FACTS.map(({ field, name, isTime }) => {
    const text = value[field];
    return [name, isTime && text !== undefined ? Date.parse(String(text)) : text] as const;
  });
  return {
    ...(Object.fromEntries(facts) as Facts),
    metadata: metadata && bytes.toString("utf8", metadata.start, metadata.end),
    content: value.claim === undefined ? { body: readBody(value) } : { claim: value.claim },
  };
}

function readBody({ body, body_base64: base64 = "" }: MessageSchema): Buffer {
  return body === undefined ? Buffer.from(base64, "base64") : Buffer.from(body, "utf8");
}

/** The limit of Azure Service Bus for message ids and session ids. */
const MAX_LENGTH = 128;

/**
 * The id of an event's message. A replay is another message: otherwise duplicate detection, here or at the receiving
 * gateway, would drop it.
 */
export function wireIdOf(eventId: string, generation: number): string {
  return fitId(generation === 1 ? eventId : `${eventId}:${generation}`);
}

/** Without an ordering key, every message is its own session, so that none waits for another. */
export function sessionIdOf(orderingKey: string | undefined, wireId: string): string {
  return orderingKey === undefined ? wireId : fitId(orderingKey);
}

export function fitId(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `sha256_${createHash("sha256").update(text, "utf8").digest("base64url")}`;
}
