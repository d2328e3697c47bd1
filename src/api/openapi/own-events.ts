import { Type, type TProperties, type TSchema } from "typebox";
import { ALERT_RULES } from "../../model/alert-rules.ts";
import { DEAD_REASONS } from "../../model/delivery.ts";
import type { GATEWAY_EVENT_TYPES } from "../../model/pattern.ts";
import { MODES } from "../../model/target.ts";
import { ALERT_SUMMARY, AlertCauses, AlertUnit, RuleName, Severity } from "../routes/alerts.ts";
import { EXAMPLE } from "./examples.ts";
import * as Doc from "./shapes.ts";

/** The gateway's own events, with the `data` of each. */
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
  const schema = Doc.named(name, Doc.closed(data));
  return { type, summary, description, schema, example: Doc.exampleOf(schema) };
}

const ERROR = "answered 400";
const webhook_id = Doc.text(EXAMPLE.subscription, "The id of the subscription");
const name = Doc.text(EXAMPLE.newName);
const url_host = Doc.text(
  new URL(EXAMPLE.destination).host,
  "The host of the destination's URL; other parts of the URL may contain a token",
);
const last_error = Doc.nullable(Doc.text(ERROR));
const down_for_s = Type.Integer({ minimum: 0, description: "Seconds since the destination was last reached" });
const deadInARow = (example: number) => Doc.count(example, "Dead deliveries since the last success");
const alert = {
  alert_id: Doc.text(EXAMPLE.alert),
  rule: RuleName,
  code: Type.With(RuleName, { description: "The same as `rule`" }),
  severity: Severity,
  summary: Doc.text(ALERT_SUMMARY, "One line for a chat or a phone"),
  description: Doc.text(ALERT_RULES.dead_letters.description),
  subject: Doc.nullable(Doc.text(EXAMPLE.newName, "The worst cause")),
  endpoint: Doc.textOrNull("Set with `validation_broken`: the endpoint of the validation"),
  reason: Doc.textOrNull("Details about that cause"),
  count: Doc.count(1, "The number of causes"),
  causes: AlertCauses,
  value: Type.Number({ examples: [1] }),
  threshold: Type.Number({ examples: [0] }),
  unit: AlertUnit,
  since: Doc.Time,
  acknowledged: Type.Boolean(),
};

export const OWN_EVENT_DOCS: readonly OwnEventDocs[] = [
  own(
    "webhook.failing",
    {
      webhook_id,
      reason: Doc.text("its deliveries keep failing"),
      action_required: Doc.text("Repair the destination before the webhook is suspended"),
      name,
      url_host,
      dead_in_a_row: deadInARow(5),
      down_for_s,
      last_error,
      suspended_after_dead: Type.Integer({
        description: "The subscription is suspended after more dead deliveries in a row than this",
        examples: [10],
      }),
      suspended_after_down_s: Type.Integer({
        description: "The subscription is suspended when the destination was not reached for this many seconds",
        examples: [259_200],
      }),
    },
    "A subscription is halfway to being suspended",
  ),
  own(
    "webhook.suspended",
    {
      webhook_id,
      reason: Doc.text(`11 deliveries in a row are dead, the last: ${ERROR}`),
      action_required: Doc.text("Review and reactivate webhook"),
      name,
      url_host,
      dead_in_a_row: deadInARow(11),
      down_for_s,
      last_error,
    },
    "A subscription is suspended",
    "Deliveries of the subscription are held until it is resumed.",
  ),
  own(
    "webhook.resumed",
    {
      webhook_id,
      previous_status: Type.Enum(["inactive", "suspended"], { examples: ["suspended"] }),
      held: Doc.choice(["deliver", "skip"], "Whether held deliveries are sent or skipped"),
      skipped_deliveries: Doc.Count,
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
      trigger: Doc.choice(["manual", "automatic"]),
      rotated_at: Doc.Time,
      overlap_ends_at: Type.String({
        format: "date-time",
        description: "Until then deliveries are signed with both secrets",
        examples: [EXAMPLE.overlapEnd],
      }),
      signature_header: Doc.text("X-Webhook-Signature"),
      action_required: Doc.text("Fetch the new secret and verify with it before the overlap ends"),
    },
    "A subscription gets a new secret",
    "`GET /api/v1/subscriptions/{id}/secret` shows it.",
  ),
  own(
    "webhook.delivery_dead",
    {
      delivery_id: Doc.text(EXAMPLE.deadDelivery),
      event_id: Doc.text(EXAMPLE.event),
      event_type: Doc.text(EXAMPLE.eventType),
      webhook_id,
      subscription_id: Doc.text(EXAMPLE.subscription, "The same as `webhook_id`"),
      name: Doc.text(EXAMPLE.newName, "The name of the subscription"),
      reason: Doc.nullable(Type.Enum([...DEAD_REASONS], { examples: ["refused"] })),
      last_error: Doc.nullable(Doc.text(ERROR, "The error of the last attempt; null when there was no attempt")),
      error: Doc.nullable(Doc.text(ERROR, "The same as `last_error`, or the reason without an attempt")),
      attempts: Doc.count(1),
    },
    "A delivery has failed for good",
    "The delivery is now a dead letter, which can be replayed.",
  ),
  own(
    "gateway.mode_changed",
    {
      target: Doc.text(
        EXAMPLE.newName,
        "The name of the target; for a target that belongs to one subscription, the subscription's name",
      ),
      webhook_id: Doc.nullable(Doc.text(EXAMPLE.subscription, "The id of that subscription; null for a shared target")),
      mode: Type.Enum([...MODES], {
        description: "`QUEUE`: deliveries wait, and the destination is tried from time to time",
        examples: ["QUEUE"],
      }),
      previous_mode: Doc.choice(MODES),
      since: Doc.Time,
      reason: Doc.nullable(Doc.text("answered 503")),
      forced: Doc.flag("True when an operator set the mode"),
      failures: Doc.count(3, "Failed attempts in a row"),
      url_host: Doc.nullable(url_host),
    },
    "A destination went down, or is back",
  ),
  own(
    "source.disabled",
    {
      source: Doc.text(EXAMPLE.source),
      status: Doc.choice(["paused", "closed", "disabled"]),
      reason: Doc.text("it left the configuration"),
    },
    "A source no longer receives webhooks",
    "`disabled`: the provider has stopped sending; `reason` says why.",
  ),
  own(
    "alert.fired",
    {
      ...alert,
      cleared_at: Doc.nullable(Doc.Time),
      action_required: Doc.text(ALERT_RULES.dead_letters.actionRequired),
    },
    "An alert has fired",
    "There is one message for all causes of a rule. It is sent again when there are new causes, but not before the " +
      "rule's cool-down has passed.",
  ),
  own(
    "alert.cleared",
    {
      ...alert,
      summary: Doc.text(`Over: ${ALERT_RULES.dead_letters.description}`),
      cleared_at: Type.With(Doc.Time, { examples: [EXAMPLE.laterTime] }),
      action_required: Doc.textOrNull(),
    },
    "An alert has ended",
    "`summary` says why: `Over` when the problem is gone, `Muted` when the causes that are left are muted, `No " +
      "longer watched` when the rule was disabled.",
  ),
  own(
    "test.event",
    { test: Type.Literal(true), timestamp: Doc.Time },
    "Somebody tests the destination",
    "`POST /api/v1/subscriptions/{id}/test` sends it, whatever event types the subscription asks for.",
  ),
];
