import { Type, type TSchema } from "typebox";
import { DEAD_REASONS } from "../../domain/delivery.ts";
import type { GATEWAY_EVENT_TYPES } from "../../domain/pattern.ts";
import { EXAMPLE } from "./examples.ts";
import { Count, Time, closed, named, nullable, oneOf } from "./operation-docs.ts";

/** What the gateway tells of itself: the `data` of each event. */
export interface OwnEventDocs {
  type: (typeof GATEWAY_EVENT_TYPES)[number];
  /** What has happened, in one short sentence. */
  summary: string;
  description?: string;
  schema: TSchema;
  example: object;
}

const webhook_id = Type.String({ description: "The id of the subscription" });
const url_host = Type.String({ description: "Of its URL; the rest of which may hold a token" });
const failures = {
  name: Type.String(),
  url_host,
  dead_in_a_row: Type.Integer({ minimum: 0, description: "Dead deliveries since the last success" }),
  down_for_s: Type.Integer({ minimum: 0, description: "Seconds since it could be reached" }),
  last_error: nullable(Type.String()),
};

const alert = {
  code: oneOf(["validation_broken"]),
  subject: Type.String({ description: "What it is about: here the name of a file" }),
  endpoint: Type.String(),
};
const ALERT = { code: "validation_broken", subject: `${EXAMPLE.endpoint}.json`, endpoint: EXAMPLE.endpoint };

const SUBSCRIPTION = { name: EXAMPLE.newName, url_host: new URL(EXAMPLE.destination).host };
const ERROR = "answered 400";

export const OWN_EVENT_DOCS: readonly OwnEventDocs[] = [
  {
    type: "webhook.failing",
    summary: "A subscription is half of the way to its suspension",
    schema: named(
      "WebhookFailing",
      closed({
        webhook_id,
        reason: Type.String(),
        action_required: Type.String(),
        ...failures,
        suspended_after_dead: Type.Integer({ description: "More dead deliveries in a row than this suspend it" }),
        suspended_after_down_s: Type.Integer({ description: "So do so many seconds without reaching it" }),
      }),
    ),
    example: {
      webhook_id: EXAMPLE.subscription,
      reason: "its deliveries die one after the other",
      action_required: "Repair the destination before the webhook is suspended",
      ...SUBSCRIPTION,
      dead_in_a_row: 5,
      down_for_s: 0,
      last_error: ERROR,
      suspended_after_dead: 10,
      suspended_after_down_s: 259_200,
    },
  },
  {
    type: "webhook.suspended",
    summary: "A subscription is suspended",
    description: "Its deliveries are held until it is resumed.",
    schema: named(
      "WebhookSuspended",
      closed({ webhook_id, reason: Type.String(), action_required: Type.String(), ...failures }),
    ),
    example: {
      webhook_id: EXAMPLE.subscription,
      reason: `11 deliveries in a row are dead, the last: ${ERROR}`,
      action_required: "Review and reactivate webhook",
      ...SUBSCRIPTION,
      dead_in_a_row: 11,
      down_for_s: 0,
      last_error: ERROR,
    },
  },
  {
    type: "webhook.resumed",
    summary: "A subscription is active again",
    schema: named(
      "WebhookResumed",
      closed({
        webhook_id,
        previous_status: oneOf(["inactive", "suspended"]),
        held: oneOf(["deliver", "skip"], "What became of the deliveries that were held"),
        skipped_deliveries: Count,
        name: Type.String(),
        url_host,
      }),
    ),
    example: {
      webhook_id: EXAMPLE.subscription,
      previous_status: "suspended",
      held: "deliver",
      skipped_deliveries: 0,
      ...SUBSCRIPTION,
    },
  },
  {
    type: "webhook.secret_rotating",
    summary: "A subscription gets a new secret",
    description: "`GET /api/v1/subscriptions/{id}/secret` shows it.",
    schema: named(
      "WebhookSecretRotating",
      closed({
        webhook_id,
        name: Type.String(),
        trigger: oneOf(["manual", "automatic"]),
        rotated_at: Time,
        overlap_ends_at: Type.String({ format: "date-time", description: "Until then both secrets sign" }),
        signature_header: Type.String(),
        action_required: Type.String(),
      }),
    ),
    example: {
      webhook_id: EXAMPLE.subscription,
      name: EXAMPLE.newName,
      trigger: "manual",
      rotated_at: EXAMPLE.time,
      overlap_ends_at: EXAMPLE.overlapEnd,
      signature_header: "X-Webhook-Signature",
      action_required: "Fetch the new secret and verify with it before the overlap ends",
    },
  },
  {
    type: "webhook.delivery_dead",
    summary: "A delivery is given up",
    description: "It is a dead letter now, which can be replayed.",
    schema: named(
      "WebhookDeliveryDead",
      closed({
        delivery_id: Type.String(),
        event_id: Type.String(),
        event_type: Type.String(),
        webhook_id,
        subscription_id: Type.String({ description: "The same" }),
        name: Type.String({ description: "Of the subscription" }),
        reason: nullable(oneOf(DEAD_REASONS)),
        last_error: nullable(Type.String({ description: "Null when it died without an attempt" })),
        error: nullable(Type.String({ description: "The same, or the reason" })),
        attempts: Count,
      }),
    ),
    example: {
      delivery_id: EXAMPLE.deadDelivery,
      event_id: EXAMPLE.event,
      event_type: EXAMPLE.eventType,
      webhook_id: EXAMPLE.subscription,
      subscription_id: EXAMPLE.subscription,
      name: EXAMPLE.newName,
      reason: "refused",
      last_error: ERROR,
      error: ERROR,
      attempts: 1,
    },
  },
  {
    type: "gateway.mode_changed",
    summary: "A destination is down, or back again",
    schema: named(
      "GatewayModeChanged",
      closed({
        target: Type.String({ description: "Its name; that of the subscription when it is the subscription's own" }),
        webhook_id: nullable(Type.String({ description: "The id of that subscription; null when several share it" })),
        mode: oneOf(["NORMAL", "QUEUE"], "`QUEUE`: deliveries wait, and are tried from time to time"),
        previous_mode: oneOf(["NORMAL", "QUEUE"]),
        since: Time,
        reason: nullable(Type.String()),
        forced: Type.Boolean({ description: "An operator said so" }),
        failures: Type.Integer({ minimum: 0, description: "In a row" }),
        url_host: nullable(url_host),
      }),
    ),
    example: {
      target: EXAMPLE.newName,
      webhook_id: EXAMPLE.subscription,
      mode: "QUEUE",
      previous_mode: "NORMAL",
      since: EXAMPLE.time,
      reason: "answered 503",
      forced: false,
      failures: 3,
      url_host: SUBSCRIPTION.url_host,
    },
  },
  {
    type: "source.disabled",
    summary: "A source takes no webhooks any more",
    description: "`disabled`: its provider sends it none any more; `reason` says why.",
    schema: named(
      "SourceDisabled",
      closed({ source: Type.String(), status: oneOf(["paused", "closed", "disabled"]), reason: Type.String() }),
    ),
    example: { source: EXAMPLE.source, status: "paused", reason: "it left the configuration" },
  },
  {
    type: "alert.fired",
    summary: "Something needs the operator",
    description: "`validation_broken`: a file in the folder of validations cannot be used; the one before is in force.",
    schema: named(
      "AlertFired",
      closed({ ...alert, reason: Type.String(), since: Time, action_required: Type.String() }),
    ),
    example: {
      ...ALERT,
      reason: "does not compile: unknown type",
      since: EXAMPLE.time,
      action_required: "Correct the file, or delete it; until then the validation before stays in force",
    },
  },
  {
    type: "alert.cleared",
    summary: "What an alert told of is over",
    schema: named("AlertCleared", closed({ ...alert, since: Time, cleared_at: Time })),
    example: { ...ALERT, since: EXAMPLE.time, cleared_at: EXAMPLE.laterTime },
  },
  {
    type: "test.event",
    summary: "Somebody tries the destination out",
    description: "It comes whatever the subscription asks for; `POST /api/v1/subscriptions/{id}/test` sends it.",
    schema: named("TestEvent", closed({ test: Type.Literal(true), timestamp: Time })),
    example: { test: true, timestamp: EXAMPLE.time },
  },
];
