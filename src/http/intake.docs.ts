import { Type } from "typebox";
import { PublishInput } from "../receive/publish/publish-schema.ts";
import type { DocumentedRoute } from "./openapi/documented-routes.ts";
import { EXAMPLE } from "./openapi/examples.ts";
import {
  Count,
  closed,
  count,
  named,
  oneOf,
  text,
  type AreaDocs,
  type OperationDocs,
} from "./openapi/operation-docs.ts";
import { Problem } from "./openapi/problems.ts";

/** The two hot routes, which Fastify does not know. */
export const HOT_OPERATIONS: readonly DocumentedRoute[] = [
  webhookRoute("/webhook/:source", "Send a webhook to a source"),
  webhookRoute("/webhook/:source/*", "Send a webhook to a path below its source"),
  {
    method: "POST",
    url: "/api/v1/events",
    schema: {
      summary: "Publish one event or up to 1,000",
      body: Type.Union([
        named("PublishInput", PublishInput),
        Type.Array(PublishInput, { minItems: 1, maxItems: 1000, description: "At most 16 MiB" }),
      ]),
    },
    config: { scope: "publish" },
  },
];

function webhookRoute(url: string, summary: string): DocumentedRoute {
  return { method: "POST", url, schema: { summary, body: Type.Unknown({ description: "Any bytes" }) }, config: {} };
}

const Published = named(
  "Published",
  closed({
    event_id: text(EXAMPLE.newEvent),
    deliveries: count(1),
    duplicate: Type.Boolean({ description: "It was known already, and nothing has changed" }),
  }),
);

const Queued = closed({ status: oneOf(["queued"]), event_id: text(EXAMPLE.webhookEvent), deliveries: count(1) });

const webhook: OperationDocs = {
  description:
    "The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer leaves " +
    "after the event is on disk; where a subscription forwards it, after the first attempt or ten seconds. Other " +
    "methods are taken where the source says so.",
  params: { source: EXAMPLE.source },
  request: { order_id: 1001 },
  headers: { "Idempotency-Key": "On undeclared sources: the same key and body again is a duplicate" },
  answer: { status: 202, description: "It is on disk", schema: Queued },
  otherAnswers: [
    {
      description:
        "It was forwarded: a subscription with mode `forward` has delivered it. Or it was received before, or is not " +
        "let through. Sources of other kinds than `generic` say 200 for what is on disk, too, or what their provider " +
        "demands",
      schema: Type.Union([
        Queued,
        closed({ status: oneOf(["queued"]), event_ids: Type.Array(Type.String()), deliveries: Count }),
        closed({ status: oneOf(["forwarded", "duplicate"]), event_id: Type.String() }),
        closed({ status: oneOf(["ignored"]), cause: Type.String() }),
      ]),
    },
  ],
  errors: [
    "bad_signature",
    "address_not_allowed",
    "unknown_source",
    "method_not_allowed",
    "gone",
    "unsupported_content_type",
    "invalid_field",
    "schema_mismatch",
    "unknown_version",
    "source_paused",
    "store_full",
    "overloaded",
    "tenant_throttled",
    "tenant_over_quota",
    "tenant_inactive",
  ],
};

export const INTAKE_DOCS: AreaDocs = {
  tag: "Intake",
  description: "Where webhooks and events come in",
  operations: {
    "POST /webhook/:source": webhook,
    "POST /webhook/:source/*": { ...webhook, params: { source: EXAMPLE.source, path: "orders" } },
    "POST /api/v1/events": {
      description:
        "The answer leaves after the events are on disk. An `event_id` that is known already answers with `duplicate` " +
        "and changes nothing, so that publishing can be repeated. Of several, each is taken or refused by itself.",
      request: {
        event_type: EXAMPLE.eventType,
        payload: { order_id: 1001, total: "12.50" },
        event_id: EXAMPLE.newEvent,
        ordering_key: "order-1002",
      },
      answer: {
        status: 202,
        description: "They are on disk; or, of several, each or why not",
        schema: Type.Union([Published, closed({ events: Type.Array(Type.Union([Published, Problem])) })]),
      },
      errors: [
        "schema_mismatch",
        "unknown_version",
        "store_full",
        "overloaded",
        "tenant_inactive",
        "too_many_requests",
        "quota_exceeded",
      ],
    },
  },
};
