import { Type, type TProperties, type TSchema } from "typebox";
import { DEAD_REASONS } from "../../domain/delivery.ts";
import type { GATEWAY_EVENT_TYPES } from "../../domain/pattern.ts";
import { MODES } from "../../domain/target.ts";
import { EXAMPLE } from "./examples.ts";
import { ALERT_RULES } from "../../domain/alert-rules.ts";
import { ALERT_SUMMARY, AlertCauses, AlertUnit, RuleName, Severity } from "../routes/alerts.docs.ts";
import { Count, Time, closed, count, named, nullable, oneOf, text, textOrNull } from "./operation-docs.ts";
import { exampleOf } from "./shown.ts";

/** What the gateway tells of itself: the `data` of each event. */
export interface OwnEventDocs {
  type: OwnType;
  /** What has happened, in one short sentence. */
  summary: string;
  description: string;
  schema: TSchema;
  example: object;
}

type OwnType = (typeof GATEWAY_EVENT_TYPES)[number];

function own(type: OwnType, data: TProperties, summary: string, description = ""): OwnEventDocs {
  const name = type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const schema = named(name, closed(data));
  return { type, summary, description, schema, example: exampleOf(schema) };
}

const ERROR = "answered 400";
const webhook_id = text(EXAMPLE.subscription, "The id of the subscription");
const name = text(EXAMPLE.newName);
const url_host = text(new URL(EXAMPLE.destination).host, "Of its URL; the rest of which may hold a token");
const last_error = nullable(text(ERROR));
const down_for_s = Type.Integer({ minimum: 0, description: "Seconds since it could be reached" });
const deadInARow = (example: number) => count(example, "Dead deliveries since the last success");
const alert = {
  alert_id: text(EXAMPLE.alert),
  rule: RuleName,
  code: Type.With(RuleName, { description: "The same" }),
  severity: Severity,
  summary: text(ALERT_SUMMARY, "In one line, for a chat or a phone"),
  description: text(ALERT_RULES.dead_letters.description),
  subject: nullable(text(EXAMPLE.newName, "The worst of its causes")),
  endpoint: textOrNull("With `validation_broken`: whose validation it is"),
  reason: textOrNull("What is known of that cause"),
  count: count(1, "How many causes it has"),
  causes: AlertCauses,
  value: Type.Number({ examples: [1] }),
  threshold: Type.Number({ examples: [0] }),
  unit: AlertUnit,
  since: Time,
  acknowledged: Type.Boolean(),
};

export const OWN_EVENT_DOCS: readonly OwnEventDocs[] = [
  own(
    "webhook.failing",
    {
      webhook_id,
      reason: text("its deliveries die one after the other"),
      action_required: text("Repair the destination before the webhook is suspended"),
      name,
      url_host,
      dead_in_a_row: deadInARow(5),
      down_for_s,
      last_error,
      suspended_after_dead: Type.Integer({
        description: "More dead deliveries in a row than this suspend it",
        examples: [10],
      }),
      suspended_after_down_s: Type.Integer({
        description: "So do so many seconds without reaching it",
        examples: [259_200],
      }),
    },
    "A subscription is half of the way to its suspension",
  ),
  own(
    "webhook.suspended",
    {
      webhook_id,
      reason: text(`11 deliveries in a row are dead, the last: ${ERROR}`),
      action_required: text("Review and reactivate webhook"),
      name,
      url_host,
      dead_in_a_row: deadInARow(11),
      down_for_s,
      last_error,
    },
    "A subscription is suspended",
    "Its deliveries are held until it is resumed.",
  ),
  own(
    "webhook.resumed",
    {
      webhook_id,
      previous_status: Type.Enum(["inactive", "suspended"], { examples: ["suspended"] }),
      held: oneOf(["deliver", "skip"], "What became of the deliveries that were held"),
      skipped_deliveries: Count,
      name,
      url_host,
    },
    "A subscription is active again",
  ),
  own(
    "webhook.secret_rotating",
    {
      webhook_id,
      name,
      trigger: oneOf(["manual", "automatic"]),
      rotated_at: Time,
      overlap_ends_at: Type.String({
        format: "date-time",
        description: "Until then both secrets sign",
        examples: [EXAMPLE.overlapEnd],
      }),
      signature_header: text("X-Webhook-Signature"),
      action_required: text("Fetch the new secret and verify with it before the overlap ends"),
    },
    "A subscription gets a new secret",
    "`GET /api/v1/subscriptions/{id}/secret` shows it.",
  ),
  own(
    "webhook.delivery_dead",
    {
      delivery_id: text(EXAMPLE.deadDelivery),
      event_id: text(EXAMPLE.event),
      event_type: text(EXAMPLE.eventType),
      webhook_id,
      subscription_id: text(EXAMPLE.subscription, "The same"),
      name: text(EXAMPLE.newName, "Of the subscription"),
      reason: nullable(Type.Enum([...DEAD_REASONS], { examples: ["refused"] })),
      last_error: nullable(text(ERROR, "Null when it died without an attempt")),
      error: nullable(text(ERROR, "The same, or the reason")),
      attempts: count(1),
    },
    "A delivery is given up",
    "It is a dead letter now, which can be replayed.",
  ),
  own(
    "gateway.mode_changed",
    {
      target: text(EXAMPLE.newName, "Its name; that of the subscription when it is the subscription's own"),
      webhook_id: nullable(text(EXAMPLE.subscription, "The id of that subscription; null when several share it")),
      mode: Type.Enum([...MODES], {
        description: "`QUEUE`: deliveries wait, and are tried from time to time",
        examples: ["QUEUE"],
      }),
      previous_mode: oneOf(MODES),
      since: Time,
      reason: nullable(text("answered 503")),
      forced: Type.Boolean({ description: "An operator said so" }),
      failures: count(3, "In a row"),
      url_host: nullable(url_host),
    },
    "A destination is down, or back again",
  ),
  own(
    "source.disabled",
    {
      source: text(EXAMPLE.source),
      status: oneOf(["paused", "closed", "disabled"]),
      reason: text("it left the configuration"),
    },
    "A source takes no webhooks any more",
    "`disabled`: its provider sends it none any more; `reason` says why.",
  ),
  own(
    "alert.fired",
    { ...alert, cleared_at: nullable(Time), action_required: text(ALERT_RULES.dead_letters.actionRequired) },
    "Something is wrong",
    "One message for all causes of a kind. It comes again when there is more of it, not before the cool-down of its " +
      "rule is over.",
  ),
  own(
    "alert.cleared",
    {
      ...alert,
      summary: text(`Over: ${ALERT_RULES.dead_letters.description}`),
      cleared_at: Type.With(Time, { examples: [EXAMPLE.laterTime] }),
      action_required: textOrNull(),
    },
    "What an alert told of is over",
  ),
  own(
    "test.event",
    { test: Type.Literal(true), timestamp: Time },
    "Somebody tries the destination out",
    "It comes whatever the subscription asks for; `POST /api/v1/subscriptions/{id}/test` sends it.",
  ),
];
