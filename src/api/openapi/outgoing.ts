import { Type } from "typebox";
import { GATEWAY_EVENT_TYPES } from "../../model/pattern.ts";
import { EXAMPLE } from "./examples.ts";
import { OWN_EVENT_DOCS, type OwnEventDocs } from "./own-events.ts";
import type { SchemaWriter } from "./schema-writer.ts";
import * as Doc from "./shapes.ts";

const Envelope = Doc.named(
  "Envelope",
  Doc.closed(
    {
      webhook_id: Doc.text(EXAMPLE.deadDelivery, "The id of the delivery"),
      event: Doc.text(EXAMPLE.eventType, "The event type"),
      event_id: Doc.text(EXAMPLE.event),
      timestamp: Doc.Time,
      data: Type.Optional(
        Type.Unknown({
          description: "The payload: JSON exactly as received, other text as a string",
          examples: [{ order_id: 1001, total: "12.50" }],
        }),
      ),
      data_base64: Type.Optional(Doc.textOf("The payload when it is not text")),
    },
    "Format `envelope`, the default for published events",
  ),
);

const CloudEvent = Doc.named(
  "CloudEvent",
  Doc.closed(
    {
      specversion: Type.Literal("1.0"),
      id: Doc.text(EXAMPLE.event),
      source: Doc.text("api"),
      type: Doc.text(EXAMPLE.eventType),
      time: Doc.Time,
      datacontenttype: Type.Optional(Doc.text("application/json")),
      data: Type.Optional(Type.Unknown({ examples: [{ order_id: 1001, total: "12.50" }] })),
      data_base64: Type.Optional(Type.String()),
    },
    "Format `cloudevents`: CloudEvents 1.0 in structured JSON",
  ),
);

const OWN_TYPES = GATEWAY_EVENT_TYPES.map((type) => `\`${type}\``).join(", ");
const TIMESTAMP_S = "1794821400";

/** Name, description, an example, and whether every attempt has the header. */
const HEADERS: readonly (readonly [string, string, string, boolean])[] = [
  ["User-Agent", "`Posthorn/` and the version, unless the subscription sets another", "Posthorn/0.1.0", true],
  ["X-Webhook-ID", "The id of the delivery", EXAMPLE.deadDelivery, true],
  ["X-Webhook-Event", "The event type", EXAMPLE.eventType, true],
  ["X-Webhook-Timestamp", "The time of the attempt in Unix seconds", TIMESTAMP_S, true],
  ["X-Webhook-Attempt", "From 1", "1", true],
  [
    "X-Webhook-Signature",
    "`sha256=` and the HMAC-SHA256 of the body in hex. Its key is the whole text of the secret, `whsec_` included. " +
      "The subscription's `signature_header` sets the name of this header",
    "sha256=3fddacec5292ec9f9bc99a669bd9fdc204c23015ec41bb8edabf02013e92e7ed",
    true,
  ],
  [
    "webhook-id",
    "Standard Webhooks: the event id, the same on every attempt. Use it to detect duplicates",
    EXAMPLE.event,
    true,
  ],
  ["webhook-timestamp", "Standard Webhooks: the time of the attempt in Unix seconds", TIMESTAMP_S, true],
  [
    "webhook-signature",
    "Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, one for each valid secret, " +
      "separated by spaces. The key is the decoded base64 after `whsec_`, or the bytes of a secret without that " +
      "prefix. `v1a,` for ed25519",
    "v1,SmcemaRXxR3FBRap5tfsNGy4LuVwqLEIYFhAUuT6QAQ=",
    true,
  ],
  [
    "traceparent",
    "W3C Trace Context: each event has one trace",
    "00-44d96be208ecd607687945c1e91d2529-33c0ccd8bafd2b23-01",
    true,
  ],
  [
    "X-Posthorn-Hops",
    "How many gateways the event has passed, this one included. Send it along when you publish the event again",
    "1",
    true,
  ],
  ["X-Webhook-Signature-Next", "The signature with the new secret, until a rotation is confirmed", "sha256=…", false],
];

/** The requests that a destination receives, for `webhooks` of the document. */
export function describeOutgoing(writer: SchemaWriter): Doc.Json {
  const delivery = {
    operationId: "delivery",
    summary: "A delivery, as a destination receives it",
    description:
      "The subscription's `format` determines the body. `auto`: the original bytes for received webhooks (`raw`), an " +
      "envelope for published events. Answer with 2xx once you have stored it. 408, 425, 429, 5xx and no answer are " +
      "retried, other answers are not, and 410 suspends the subscription. The same event can come twice: compare " +
      "`webhook-id`. " +
      `Subscriptions that ask for them also get the gateway's own events: ${OWN_TYPES}.`,
    tags: ["Deliveries"],
    security: [],
    parameters: HEADERS.map(([name, description, example, required]) => ({
      name,
      in: "header",
      description,
      required,
      schema: { type: "string" },
      example,
    })),
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: writer.write(Envelope), example: Doc.exampleOf(Envelope) },
        "application/cloudevents+json": { schema: writer.write(CloudEvent), example: Doc.exampleOf(CloudEvent) },
        "*/*": { schema: { description: "Format `raw`: the original bytes and content type" } },
      },
    },
    responses: {
      "2XX": { description: "Received" },
      "410": { description: "The subscription is suspended" },
      default: { description: "The delivery is retried, or becomes a dead letter" },
    },
  };
  const own = OWN_EVENT_DOCS.map((docs) => [docs.type, { post: describeOwnEvent(docs, writer) }]);
  return { delivery: { post: delivery }, ...(Object.fromEntries(own) as Doc.Json) };
}

/** In the default format of own events. In other formats this is `data`. */
function describeOwnEvent({ type, summary, description, schema }: OwnEventDocs, writer: SchemaWriter) {
  const { webhook_id, event_id, timestamp } = Envelope.properties;
  const body = Doc.closed({ webhook_id, event: Type.Literal(type), event_id, timestamp, data: schema });
  const envelope = { ...Doc.exampleOf(body), event_id: EXAMPLE.webhookEvent };
  return {
    operationId: `event_${type.replace(".", "_")}`,
    summary: `${type}: ${summary}`,
    description: `${description} Headers and answers are the same as for every delivery.`.trim(),
    tags: ["Deliveries"],
    security: [],
    requestBody: { required: true, content: { "application/json": { schema: writer.write(body), example: envelope } } },
    responses: { "2XX": { description: "Received" } },
  };
}
