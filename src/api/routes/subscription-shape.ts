import { Type } from "typebox";
import { KINDS, SUBSCRIPTION_FIELDS, SubscriptionSchema } from "../../destinations/kinds.ts";
import { AUTH_FIELDS, DestinationAuthInput } from "../../destinations/request-settings.ts";
import type { Handshake } from "../../destinations/sender.ts";
import type { Summary } from "../../jobs/statistics.ts";
import { changeOf, fillIn } from "../../model/shape.ts";
import { publicKeyOf } from "../../model/signature.ts";
import {
  SharedSettings,
  SUBSCRIPTION_STATUSES,
  USUAL_RETRIES,
  type Subscription as KnownSubscription,
} from "../../model/subscription.ts";
import type { SubscriptionRights } from "../../resources/subscriptions/subscription-access.ts";
import type { CredentialsBy, Settings } from "../../resources/subscriptions/subscription-record.ts";
import type { Condition } from "../../resources/target-states.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime } from "../present.ts";
import { CounterDocs, DELIVERED, FIRST_TRY, presentCounters, presentSummary } from "./statistics.ts";
import { ConditionDocs } from "./targets.ts";

export const SubscriptionChange = changeOf(SUBSCRIPTION_FIELDS, ["tenant_id"]);

Doc.named("SubscriptionInput", SubscriptionSchema);
Doc.named("SubscriptionChange", SubscriptionChange);
for (const kind of KINDS) {
  for (const [name, schema] of Object.entries(kind.named ?? {})) Doc.named(name, schema);
  const { operatorOnly } = kind;
  Doc.named(toTypeName(kind.name), kind.settings);
  Doc.annotated(kind.settings, {
    ...(kind.isFlat === true && { "x-flat": true }),
    ...(operatorOnly === true && { "x-operator-only": true }),
    ...(typeof operatorOnly === "object" && { "x-operator-settings": operatorOnly }),
  });
}
Doc.annotated(DestinationAuthInput, {
  "x-fields-by-type": Object.fromEntries(
    Object.entries(AUTH_FIELDS).map(([type, { required, optional }]) => [type, [...required, ...optional]]),
  ),
});
Doc.annotated(SubscriptionSchema, {
  "x-kinds": Object.fromEntries(KINDS.map(({ name, settings }) => [name, settings])),
});

/** For kinds whose settings are members of the subscription itself. */
const flat = () =>
  KINDS.filter(({ isFlat }) => isFlat === true).flatMap(({ settings }) => Object.entries(Doc.shownFields(settings)));

const rate = (description: string) => Doc.nullable(Type.Number({ minimum: 0, maximum: 1, description }));
const Delivered = rate(DELIVERED);
const FirstTry = rate(FIRST_TRY);
const Rate = rate("Of the attempts, the share that succeeded; null without attempts");
const Latency = Doc.nullable(
  Type.Number({ minimum: 0, description: "Milliseconds, from the attempts of the last 24 hours" }),
);

const settings = () => Doc.shownFields(SharedSettings);
const { retry_policy, retry_count, retry_interval } = SharedSettings.properties;

export const Subscription = Doc.shape("Subscription", "Which events are delivered, and to which destination", () => ({
  id: Doc.text(EXAMPLE.subscription),
  ...settings(),
  kind: Doc.choice(KINDS.map(({ name }) => name)),
  ...Object.fromEntries(flat().map(([field, schema]) => [field, Type.Optional(schema)])),
  destination: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "The settings of the destination, for kinds that have them here",
    }),
  ),
  status: Doc.choice(SUBSCRIPTION_STATUSES),
  condition: ConditionDocs,
  held_reason: Type.Optional(Doc.textOf("Why nothing is sent: this release does not know the kind of destination")),
  handshake_result: Type.Optional(
    Doc.closed(
      {
        status: Type.Enum(["pending", "accepted", "refused"], {
          description: "`pending`: the destination has not answered yet; it is asked again before the next attempt",
          examples: ["accepted"],
        }),
        answered_at: Doc.nullable(Doc.Time),
        error: Doc.textOrNull(),
      },
      "Only with `handshake`: the destination's answer since the last change of the subscription or start of the " +
        "gateway",
    ),
  ),
  ed25519_public_key: Doc.textOrNull(),
  // Either the policy, or the other two.
  retry_policy,
  retry_count,
  retry_interval,
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: "Only in answers to changes: settings that will not work as one might expect",
    }),
  ),
  credentials_by: Doc.nullable(
    Type.Enum(["operator", "tenant"], {
      description:
        "Who gave the credentials that are sent to the destination; null when there are none. With those of the " +
        "`operator`, a key or portal link of the tenant cannot change where requests go, what they contain and which " +
        "events they are for, nor test or preview it, nor see its secret or what it answers, without giving " +
        "credentials again",
      examples: ["operator"],
    }),
  ),
  managed_by: Doc.ManagedByDocs,
  can: Doc.closed(
    {
      change: Type.Boolean({
        description:
          "Pause and resume it, retry, cancel, replay and purge its deliveries, and, unless `managed_by` is `config` " +
          "or `contact`, update and delete it",
        examples: [true],
      }),
      use: Type.Boolean({
        description: "Test and preview it, replay any event to it, and see and rotate its secret",
        examples: [true],
      }),
    },
    "What your key or portal link may do with the subscription; where it may not, the gateway answers 403",
  ),
  created_by: Doc.nullable(
    Doc.text(
      EXAMPLE.key,
      "The id of the key that created the subscription; null for portal links, which do not see it",
    ),
  ),
  created_at: Doc.Time,
  updated_at: Doc.Time,
  stats: Doc.closed({
    ...CounterDocs,
    delivered_rate_1h: Delivered,
    delivered_rate_24h: Delivered,
    first_try_rate_1h: FirstTry,
    first_try_rate_24h: FirstTry,
    success_rate_1h: Rate,
    success_rate_24h: Rate,
    latency_p50_ms: Latency,
    latency_p99_ms: Latency,
  }),
}));

export const subscriptionExample = () => ({
  ...Doc.exampleOf(Subscription),
  ...Doc.exampleOf(Doc.closed(Object.fromEntries(flat()))),
});
function toTypeName(kind: string): string {
  return `${kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Destination`;
}

interface ShownParts {
  settings: Settings;
  /** The settings that the kind shows: as fields of the subscription, or in `destination`. */
  destination: Readonly<Record<string, unknown>>;
  credentialsBy: CredentialsBy | undefined;
  /** Of the caller. */
  can: SubscriptionRights;
  condition: Condition;
  counters: DeliveryCounters | undefined;
  recent: Summary | undefined;
  handshake: Handshake | undefined;
  /** A partner does not get to know keys of others. */
  isForPartner: boolean;
}

/** The one mapping of a subscription to the wire, without its secret: the answer to create adds it. */
export function presentSubscription(
  subscription: KnownSubscription,
  { settings, destination, credentialsBy, can, condition, counters, recent, handshake, isForPartner }: ShownParts,
): Doc.AnswerOf<typeof Subscription> {
  const { suspension, ed25519Key: key } = subscription;
  const {
    destination: _,
    retry_policy: _policy,
    retry_count,
    retry_interval,
    ...set
  } = fillIn(SharedSettings.properties, settings);
  return {
    id: subscription.id,
    ...set,
    tenant_id: subscription.tenantId,
    ...destination,
    status: subscription.status,
    condition,
    ...(subscription.heldBecause !== undefined && { held_reason: subscription.heldBecause }),
    ...(handshake !== undefined && { handshake_result: presentHandshake(handshake) }),
    ed25519: key !== undefined,
    ed25519_public_key: key === undefined ? null : publicKeyOf(key),
    ...(retry_count === null && retry_interval === null
      ? { retry_policy: subscription.retryPolicy }
      : { retry_count: retry_count ?? USUAL_RETRIES.count, retry_interval: retry_interval ?? USUAL_RETRIES.intervalS }),
    suspend_after_dead: suspension?.afterDead ?? null,
    suspend_after_s: suspension?.afterMs === undefined ? null : suspension.afterMs / 1000,
    credentials_by: credentialsBy ?? null,
    managed_by: subscription.managedBy,
    can,
    created_by: isForPartner ? null : (subscription.createdBy ?? null),
    created_at: isoTime(subscription.createdAt),
    updated_at: isoTime(subscription.updatedAt),
    stats: { ...presentCounters(counters), ...presentSummary(recent) },
  };
}

function presentHandshake(handshake: Handshake) {
  const { status } = handshake;
  return {
    status,
    answered_at: status === "pending" ? null : isoTime(handshake.answeredAt),
    error: status === "refused" ? handshake.error : null,
  };
}
