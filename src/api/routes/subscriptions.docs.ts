import { Type } from "typebox";
import { DestinationAuthInput } from "../../destinations/destination-auth.ts";
import { AUTH_FIELDS } from "../../destinations/destination-auth-rules.ts";
import { KINDS } from "../../destinations/kinds.ts";
import { SubscriptionSchema } from "../../destinations/subscription-schema.ts";
import { SUBSCRIPTION_STATUSES, SharedSettings } from "../../model/subscription.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  ETAG,
  IF_MATCH,
  ManagedByDocs,
  Time,
  annotated,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";
import { ConditionDocs } from "./targets.docs.ts";
import { CounterDocs, DELIVERED, FIRST_TRY } from "./statistics.docs.ts";
import { SubscriptionChange } from "./subscriptions.ts";

named("SubscriptionInput", SubscriptionSchema);
named("SubscriptionChange", SubscriptionChange);
for (const kind of KINDS) {
  for (const [name, schema] of Object.entries(kind.named ?? {})) named(name, schema);
  const isForOperators = kind.isForOperators === true;
  named(toTypeName(kind.name), kind.settings);
  annotated(kind.settings, {
    ...(kind.isFlat === true && { "x-flat": true }),
    ...(isForOperators && { "x-operator-only": true }),
    ...(kind.operatorSettings !== undefined && { "x-operator-settings": kind.operatorSettings }),
  });
}
annotated(DestinationAuthInput, {
  "x-fields-by-type": Object.fromEntries(
    Object.entries(AUTH_FIELDS).map(([type, { required, optional }]) => [type, [...required, ...optional]]),
  ),
});
annotated(SubscriptionSchema, { "x-kinds": Object.fromEntries(KINDS.map(({ name, settings }) => [name, settings])) });

/** For kinds whose settings are members of the subscription itself. */
const flat = KINDS.filter(({ isFlat }) => isFlat === true).flatMap(({ settings }) =>
  Object.entries(shownFields(settings)),
);

const rate = (description: string) => nullable(Type.Number({ minimum: 0, maximum: 1, description }));
const Delivered = rate(DELIVERED);
const FirstTry = rate(FIRST_TRY);
const Rate = rate("Of the attempts, the share that succeeded; null without attempts");
const Latency = nullable(
  Type.Number({ minimum: 0, description: "Milliseconds, from the attempts of the last 24 hours" }),
);

const settings = shownFields(SharedSettings);
const { retry_policy, retry_count, retry_interval } = SharedSettings.properties;

/** The fields that can be set, and read-only fields. */
export const Subscription = named(
  "Subscription",
  closed(
    {
      id: text(EXAMPLE.subscription),
      ...settings,
      kind: oneOf(KINDS.map(({ name }) => name)),
      ...Object.fromEntries(flat.map(([field, schema]) => [field, Type.Optional(schema)])),
      destination: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: "The settings of the destination, for kinds that have them here",
        }),
      ),
      status: oneOf(SUBSCRIPTION_STATUSES),
      condition: ConditionDocs,
      held_reason: Type.Optional(
        Type.String({ description: "Why nothing is sent: this release does not know the kind of destination" }),
      ),
      handshake_result: Type.Optional(
        closed(
          {
            status: Type.Enum(["pending", "accepted", "refused"], {
              description: "`pending`: the destination has not answered yet; it is asked again before the next attempt",
              examples: ["accepted"],
            }),
            answered_at: nullable(Time),
            error: textOrNull(),
          },
          "Only with `handshake`: the destination's answer since the last change of the subscription or start of the " +
            "gateway",
        ),
      ),
      ed25519_public_key: textOrNull(),
      // Either the policy, or the other two.
      retry_policy,
      retry_count,
      retry_interval,
      warnings: Type.Optional(
        Type.Array(Type.String(), {
          description: "Only in answers to changes: settings that will not work as one might expect",
        }),
      ),
      credentials_by: nullable(
        Type.Enum(["operator", "tenant"], {
          description:
            "Who gave the credentials that are sent to the destination; null when there are none. With those of the " +
            "`operator`, a key or portal link of the tenant cannot change where requests go, what they contain and which " +
            "events they are for, nor test or preview it, nor see its secret or what it answers, without giving " +
            "credentials again",
          examples: ["operator"],
        }),
      ),
      managed_by: ManagedByDocs,
      can: closed(
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
      created_by: nullable(
        text(
          EXAMPLE.key,
          "The id of the key that created the subscription; null for portal links, which do not see it",
        ),
      ),
      created_at: Time,
      updated_at: Time,
      stats: closed({
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
    },
    "Which events are delivered, and to which destination",
  ),
);

const SUBSCRIPTION = { ...exampleOf(Subscription), ...exampleOf(closed(Object.fromEntries(flat))) };
const params = { id: EXAMPLE.subscription };
const shown = { schema: Subscription, headers: ETAG };
const refusals = ["managed_by_config", "conflict"] as const;
const acted = { params, headers: IF_MATCH, errors: [...refusals, "precondition_failed"] as const };
const request = { name: EXAMPLE.newName, url: EXAMPLE.destination, events: ["order.*"] };

export const SUBSCRIPTION_DOCS: AreaDocs = {
  tag: "Subscriptions",
  description: "Which events are delivered, to which destination, and with which retries",
  operations: {
    ...resourceDocs({
      path: "/api/v1/subscriptions",
      key: params,
      schema: Subscription,
      example: SUBSCRIPTION,
      made: {
        description: "Created. The answer shows the secret",
        schema: named(
          "SubscriptionWithSecret",
          extended(Subscription, { secret: Type.String({ description: "Shown only here and by `/secret`" }) }),
        ),
        example: { ...SUBSCRIPTION, secret: EXAMPLE.secret },
      },
      refusals,
      list: { answer: { description: "Subscriptions, oldest first" } },
      make: {
        description:
          "The body may also be another program's model of a webhook: an `id` is kept, `tenant_id` may be an integer, " +
          "`description` null and `status` `suspended` (which becomes `inactive`); `created_at`, `updated_at` and " +
          "`created_by` are ignored, and `warnings` says so.",
        request,
        errors: ["subscription_quota", "managed_by_config"],
      },
      read: { answer: { description: "The subscription" } },
      replace: {
        description:
          "Replaces the subscription, or creates it with the id in the path; then the answer is 201 with its secret.",
        request: { ...request, rate_limit: 100 },
        answer: { example: { ...SUBSCRIPTION, rate_limit: 100 } },
        errors: ["subscription_quota"],
      },
      change: {
        description: "The change affects deliveries whose next attempt has not started.",
        request: { timeout: 10 },
        answer: { example: { ...SUBSCRIPTION, timeout: 10 } },
      },
      remove: {
        answer: {
          description: "Deleted; its open deliveries are cancelled",
          schema: closed({
            id: Type.String(),
            cancelled_deliveries: Count,
            job_id: textOrNull("The id of the job that cancels the remaining deliveries when there are many"),
          }),
          example: { ...params, cancelled_deliveries: 0, job_id: null },
        },
      },
    }),
    "POST /api/v1/subscriptions/:id/pause": {
      ...acted,
      description: "Deliveries wait until the subscription is resumed; none is lost.",
      answer: { ...shown, description: "Paused", example: { ...SUBSCRIPTION, status: "inactive" } },
    },
    "POST /api/v1/subscriptions/:id/resume": {
      ...acted,
      request: { held: "deliver" },
      answer: {
        ...shown,
        description: "The subscription, which is active again",
        schema: named("ResumedSubscription", extended(Subscription, { skipped_deliveries: Count })),
        example: { ...SUBSCRIPTION, skipped_deliveries: 0 },
      },
    },
  },
};

function toTypeName(kind: string): string {
  return `${kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Destination`;
}
