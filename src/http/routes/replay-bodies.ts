import { Type, type Static } from "typebox";
import { DEAD_REASONS } from "../../domain/delivery.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../domain/event.ts";
import { RECOVER_INCLUDES } from "../../domain/replay.ts";

/** What may be asked for in bulk. Which filters fit which kind, `operate/replays/bulk-replays.ts` knows. */

const time = (description: string) => Type.Optional(Type.String({ format: "date-time", description }));
const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 128, pattern: "^[^\\u0000]*$", description }));

const subscription_id = text("Only deliveries for this subscription");
const tenant_id = text("Only of this tenant (for keys that are bound to none)");
const event_type = Type.Optional(
  Type.String({ maxLength: EVENT_TYPE_MAX_LENGTH, pattern: EVENT_TYPE_PATTERN, description: "Exactly this type" }),
);
const reason = Type.Optional(
  Type.Union(
    DEAD_REASONS.map((one) => Type.Literal(one)),
    { description: "Why it is dead" },
  ),
);
const include = Type.Optional(
  Type.Union(
    RECOVER_INCLUDES.map((one) => Type.Literal(one)),
    { default: "failed", description: "Its dead letters, events that it never had, or both" },
  ),
);
const status = Type.Optional(Type.Literal("pending", { description: "Not what is being sent right now" }));
const plan = Type.Optional(Type.Boolean({ default: false, description: "Only count; nothing is done" }));
const all = Type.Optional(Type.Literal(true, { description: "Whatever there is" }));

export const DeadLetterFilter = Type.Object(
  { subscription_id, tenant_id, reason, event_type, since: time("Dead since then"), until: time("Dead before then") },
  { additionalProperties: false },
);

/** One of `id`, `filter` and `all`. */
export const DeadLetterReplay = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 64, description: "Only this one, at once" })),
    filter: Type.Optional(DeadLetterFilter),
    all,
    plan,
  },
  { additionalProperties: false },
);

export const DeadLetterPurge = Type.Object(
  {
    filter: Type.Optional(DeadLetterFilter),
    all,
    confirm: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.Literal("purge")], {
        description: "The `count` that was answered without it, or the word `purge`",
      }),
    ),
  },
  { additionalProperties: false },
);

const received = { since: time("Received since then"), until: time("Received before then") };

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
    since: Type.String({ format: "date-time", description: "Events received since then" }),
    until: time("And before then"),
    include,
    plan,
  },
  { additionalProperties: false },
);

export const ReplayStart = Type.Object(
  {
    kind: Type.Union(
      (["dead_letters", "events", "recover", "cancel"] as const).map((one) => Type.Literal(one)),
      { description: "What is replayed, or cancelled" },
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
          since: time("Received since then; for dead letters: dead since then"),
          until: time("Before then"),
        },
        { additionalProperties: false },
      ),
    ),
    plan,
  },
  { additionalProperties: false },
);

export type ReplayStart = Static<typeof ReplayStart>;
