import { Type, type Static, type TSchema } from "typebox";
import { EVENT_ID_PATTERN, EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN, PRIORITIES } from "../model/event.ts";

/** A message of `format: message`, as a queue contains it. */

export const MESSAGE_VERSION = 1;

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

export const MessageSchema = Type.Object(
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
export type MessageSchema = Static<typeof MessageSchema>;
