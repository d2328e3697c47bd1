import { Type } from "typebox";
import { PublishInput } from "../../intake/publish/publish-schema.ts";
import type { DocumentedRoute } from "../routes/route.ts";
import { EXAMPLE } from "./examples.ts";
import { Problem } from "./problems.ts";
import * as Doc from "./shapes.ts";

const Published = Doc.named(
  "Published",
  Doc.closed({
    event_id: Doc.text(EXAMPLE.newEvent),
    deliveries: Doc.count(1),
    duplicate: Doc.flag("True when the event was already known; nothing has changed"),
  }),
);

const Queued = Doc.closed({
  status: Doc.choice(["queued"]),
  event_id: Doc.text(EXAMPLE.webhookEvent),
  deliveries: Doc.count(1),
});

const GivenUp = Type.Union([
  Doc.closed({
    status: Doc.choice(["rejected_by_target"]),
    code: Type.Integer({ description: "The status that the target answered", examples: [422] }),
    reason: Type.String({ description: "Why the delivery is a dead letter", examples: ["refused"] }),
    event_id: Type.String(),
  }),
  Doc.closed({ status: Doc.choice(["dead_letter"]), reason: Type.String(), event_id: Type.String() }),
]);

const webhook: Doc.OperationDocs = {
  description:
    "The body is kept byte for byte, whatever its content type; JSON and XML must be well-formed. The answer is sent " +
    "after the event is on disk; if a subscription forwards it, after the first attempt or ten seconds. Methods " +
    "other than POST are accepted if the source allows them.",
  request: { order_id: 1001 },
  headers: {
    "Idempotency-Key": "For undeclared sources: a request with the same key and body as an earlier one is a duplicate",
  },
  answer: {
    status: 202,
    description:
      "The event is on disk. `queued`: it will be delivered. `rejected_by_target`: it was forwarded, and the " +
      "target's answer makes it a dead letter at once (`give_up_on` of the subscription, or 410); `dead_letter`: it " +
      "became one without an answer of the target, such as a body that is too large for it",
    schema: Type.Union([Queued, GivenUp]),
  },
  otherAnswers: [
    {
      status: 502,
      description: "The same as `rejected_by_target` and `dead_letter`, if the subscription has `on_give_up: reject`",
      schema: GivenUp,
    },
    {
      description:
        "The event was forwarded: a subscription with mode `forward` has delivered it. Or it is a duplicate, or was " +
        "ignored. Kinds of sources for a provider also answer 200 for an event on disk, or whatever their provider " +
        "demands",
      schema: Type.Union([
        Queued,
        Doc.closed({ status: Doc.choice(["queued"]), event_ids: Type.Array(Type.String()), deliveries: Doc.Count }),
        GivenUp,
        Doc.closed({ status: Doc.choice(["forwarded", "duplicate"]), event_id: Type.String() }),
        Doc.closed({ status: Doc.choice(["ignored"]), cause: Type.String() }),
      ]),
    },
  ],
  errors: [
    "bad_signature",
    "address_not_allowed",
    "other_origin",
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

const webhookRoute = (url: string, summary: string, params: Readonly<Record<string, string>>): DocumentedRoute => ({
  method: "POST",
  url,
  schema: { summary, body: Type.Unknown({ description: "Any bytes" }) },
  config: { area: "Intake", docs: () => ({ ...webhook, params }) },
});

/** The two busiest routes, which bypass Fastify. */
export const HOT_OPERATIONS: readonly DocumentedRoute[] = [
  webhookRoute("/webhook/:source", "Send a webhook to a source", { source: EXAMPLE.source }),
  webhookRoute("/webhook/:source/*", "Send a webhook to a path below a source", {
    source: EXAMPLE.source,
    path: "orders",
  }),
  {
    method: "POST",
    url: "/api/v1/events",
    schema: {
      summary: "Publish one event, or up to 1,000",
      body: Type.Union([
        Doc.named("PublishInput", PublishInput),
        Type.Array(PublishInput, { minItems: 1, maxItems: 1000, description: "At most 16 MiB" }),
      ]),
    },
    config: {
      scope: "publish",
      area: "Intake",
      docs: () => ({
        description:
          "The answer is sent after the events are on disk. An `event_id` that is already known is answered with " +
          "`duplicate` and changes nothing, so you can safely retry. In a batch, each event is accepted or rejected " +
          "on its own.",
        request: {
          event_type: EXAMPLE.eventType,
          payload: { order_id: 1001, total: "12.50" },
          event_id: EXAMPLE.newEvent,
          ordering_key: "order-1002",
        },
        answer: {
          status: 202,
          description: "The event is on disk; for a batch, the result of each event",
          schema: Type.Union([Published, Doc.closed({ events: Type.Array(Type.Union([Published, Problem])) })]),
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
      }),
    },
  },
];
