import { Type, type Static } from "typebox";
import { DEAD_REASONS } from "../../model/delivery.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../model/event.ts";
import { RECOVER_INCLUDES } from "../../model/replay.ts";
import { oneOf } from "../../model/shape.ts";
import * as Doc from "../openapi/shapes.ts";

/** The bodies of bulk requests. `replays/bulk-replays.ts` decides which filters each kind allows. */

const moment = (description: string) => Type.Optional(Doc.time(description));
const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 128, pattern: "^[^\\u0000]*$", description }));

const subscription_id = text("Only deliveries to this subscription");
const tenant_id = text("Only deliveries of this tenant; for keys that are not bound to a tenant");
const event_type = Type.Optional(
  Type.String({
    maxLength: EVENT_TYPE_MAX_LENGTH,
    pattern: EVENT_TYPE_PATTERN,
    description: "Only events of exactly this type",
  }),
);
const reason = Type.Optional(oneOf(DEAD_REASONS, { description: "Only deliveries that are dead for this reason" }));
const include = Type.Optional(
  oneOf(RECOVER_INCLUDES, {
    default: "failed",
    description: "Replay dead letters, events that the subscription never got, or both",
  }),
);
const status = Type.Optional(
  Type.Literal("pending", { description: "Only pending deliveries, not those being sent right now" }),
);
const plan = Type.Optional(
  Type.Boolean({ default: false, description: "Only count the deliveries; nothing is changed" }),
);
const all = Type.Optional(Type.Literal(true, { description: "Select everything, instead of a filter" }));

export const DeadLetterFilter = Doc.closed({
  subscription_id,
  tenant_id,
  reason,
  event_type,
  since: moment("Dead at this time or later"),
  until: moment("Dead before this time"),
});

/** One of `id`, `filter` and `all`. */
export const DeadLetterReplay = Doc.closed({
  id: Type.Optional(Type.String({ maxLength: 64, description: "Only this delivery, at once" })),
  filter: Type.Optional(DeadLetterFilter),
  all,
  plan,
});

/** One of `id`, `filter` and `all`. */
export const DeadLetterPurge = Doc.closed({
  id: Type.Optional(Type.String({ maxLength: 64, description: "Only this delivery, at once and without `confirm`" })),
  filter: Type.Optional(DeadLetterFilter),
  all,
  confirm: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0 }), Type.Literal("purge")], {
      description: "The `count` from the answer to a request without `confirm`, or the word `purge`",
    }),
  ),
});

const received = { since: moment("Received at this time or later"), until: moment("Received before this time") };

export const DeliveryCancel = Doc.closed({
  filter: Doc.closed({ subscription_id, tenant_id, event_type, status, ...received }),
  plan,
});

export const SubscriptionRecover = Doc.closed({
  since: Doc.time("Only events received at this time or later"),
  until: moment("Only events received before this time"),
  include,
  plan,
});

export const ReplayStart = Doc.closed({
  kind: oneOf(["dead_letters", "events", "recover", "cancel"] as const, {
    description: "What the job does: replay dead letters or events, recover a subscription, or cancel deliveries",
  }),
  filter: Type.Optional(
    Doc.closed({
      subscription_id,
      tenant_id,
      event_type,
      source: text("Only events from this source"),
      reason,
      status,
      include,
      since: moment("Received at this time or later; for dead letters: dead at this time or later"),
      until: moment("Received, or dead, before this time"),
    }),
  ),
  plan,
});

export type ReplayStart = Static<typeof ReplayStart>;
