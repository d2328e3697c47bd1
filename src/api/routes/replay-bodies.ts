import { Type, type Static } from "typebox";
import { DEAD_REASONS } from "../../model/delivery.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../model/event.ts";
import { RECOVER_INCLUDES } from "../../model/replay.ts";

/** The bodies of bulk requests. `replays/bulk-replays.ts` decides which filters each kind allows. */

const time = (description: string) => Type.Optional(Type.String({ format: "date-time", description }));
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
const reason = Type.Optional(
  Type.Union(
    DEAD_REASONS.map((one) => Type.Literal(one)),
    { description: "Only deliveries that are dead for this reason" },
  ),
);
const include = Type.Optional(
  Type.Union(
    RECOVER_INCLUDES.map((one) => Type.Literal(one)),
    { default: "failed", description: "Replay dead letters, events that the subscription never got, or both" },
  ),
);
const status = Type.Optional(
  Type.Literal("pending", { description: "Only pending deliveries, not those being sent right now" }),
);
const plan = Type.Optional(
  Type.Boolean({ default: false, description: "Only count the deliveries; nothing is changed" }),
);
const all = Type.Optional(Type.Literal(true, { description: "Select everything, instead of a filter" }));

export const DeadLetterFilter = Type.Object(
  {
    subscription_id,
    tenant_id,
    reason,
    event_type,
    since: time("Dead at this time or later"),
    until: time("Dead before this time"),
  },
  { additionalProperties: false },
);

/** One of `id`, `filter` and `all`. */
export const DeadLetterReplay = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 64, description: "Only this delivery, at once" })),
    filter: Type.Optional(DeadLetterFilter),
    all,
    plan,
  },
  { additionalProperties: false },
);

/** One of `id`, `filter` and `all`. */
export const DeadLetterPurge = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 64, description: "Only this delivery, at once and without `confirm`" })),
    filter: Type.Optional(DeadLetterFilter),
    all,
    confirm: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.Literal("purge")], {
        description: "The `count` from the answer to a request without `confirm`, or the word `purge`",
      }),
    ),
  },
  { additionalProperties: false },
);

const received = { since: time("Received at this time or later"), until: time("Received before this time") };

export const DeliveryCancel = Type.Object(
  {
    filter: Type.Object(
      { subscription_id, tenant_id, event_type, status, ...received },
      { additionalProperties: false },
    ),
    plan,
  },
  { additionalProperties: false },
);

export const SubscriptionRecover = Type.Object(
  {
    since: Type.String({ format: "date-time", description: "Only events received at this time or later" }),
    until: time("Only events received before this time"),
    include,
    plan,
  },
  { additionalProperties: false },
);

export const ReplayStart = Type.Object(
  {
    kind: Type.Union(
      (["dead_letters", "events", "recover", "cancel"] as const).map((one) => Type.Literal(one)),
      { description: "What the job does: replay dead letters or events, recover a subscription, or cancel deliveries" },
    ),
    filter: Type.Optional(
      Type.Object(
        {
          subscription_id,
          tenant_id,
          event_type,
          source: text("Only events from this source"),
          reason,
          status,
          include,
          since: time("Received at this time or later; for dead letters: dead at this time or later"),
          until: time("Received, or dead, before this time"),
        },
        { additionalProperties: false },
      ),
    ),
    plan,
  },
  { additionalProperties: false },
);

export type ReplayStart = Static<typeof ReplayStart>;
