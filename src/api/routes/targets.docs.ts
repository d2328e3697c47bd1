import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  ManagedByDocs,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";
import { CONDITIONS } from "../../resources/target-states.ts";
import { MODES, TargetChange, TargetInput } from "../../model/target.ts";

named("TargetInput", TargetInput);
named("TargetChange", TargetChange);

const Mode = oneOf(MODES, "`QUEUE`: deliveries wait until the destination is back");

export const ConditionDocs = oneOf(
  CONDITIONS,
  "The one word for how it is: `healthy`; `failing`, when attempts fail or its health check does; `down`, when its " +
    "deliveries wait in QUEUE; `paused` by somebody; or `suspended` by the gateway",
);

/** The fields that can be set, and read-only fields. */
export const Target = named(
  "Target",
  closed(
    {
      ...shownFields(TargetInput),
      name: Type.String({
        description: "The name of the target, or of the subscription that it belongs to",
        examples: ["erp"],
      }),
      shared: Type.Boolean({
        description: "True when several subscriptions may use the target; false when it belongs to one subscription",
      }),
      subscriptions: Type.Array(Type.String(), { description: "The ids of the subscriptions that use the target" }),
      mode: Mode,
      forced: nullable(oneOf(MODES, "The mode that an operator has set")),
      since: nullable(Time),
      reason: textOrNull("Why the target is in its mode; null when the mode never changed"),
      health: oneOf(["ok", "error"]),
      condition: ConditionDocs,
      checked_at: nullable(Time),
      queue_length: Type.Integer({ minimum: 0, description: "Open deliveries" }),
      failures: Type.Integer({ minimum: 0, description: "Failed attempts in a row" }),
      last_error: textOrNull(),
      managed_by: ManagedByDocs,
      health_url: textOrNull("Null when a delivery is used to find out whether the destination is back"),
    },
    "A destination of subscriptions",
  ),
);

const SETTINGS = { health_url: "https://erp.example.com/healthz", health_interval_s: 30, failures_to_open: 5 };
const SHARED = { ...exampleOf(Target), name: EXAMPLE.ownTarget, shared: true, ...SETTINGS };
const TARGET = { ...exampleOf(Target), name: EXAMPLE.newName, subscriptions: [EXAMPLE.subscription] };

export const TARGET_DOCS: AreaDocs = {
  tag: "Targets",
  description: "Destinations of subscriptions: their health, and the mode that follows from it",
  operations: {
    ...resourceDocs({
      path: "/api/v1/targets",
      key: { name: EXAMPLE.ownTarget },
      schema: Target,
      example: SHARED,
      refusals: ["conflict", "managed_by_config"],
      list: {
        query: {},
        answer: {
          description: "Shared targets first, then targets that belong to one subscription",
          example: { data: [TARGET], next_cursor: null },
        },
      },
      make: {
        description: "Subscriptions refer to the target by its name in `target`.",
        request: { name: EXAMPLE.newTarget, ...SETTINGS },
        answer: { example: { ...SHARED, name: EXAMPLE.newTarget } },
      },
      replace: { request: SETTINGS },
      change: {
        description: "Only the fields that you send are changed; null removes a setting.",
        request: { failures_to_open: 5, description: null },
      },
      remove: {},
      read: {
        description:
          "`name` is the name of the target. For a target that belongs to one subscription, that subscription's id " +
          "works, too.",
        answer: { description: "The target; with an ETag when it is shared" },
        errors: ["conflict"],
      },
    }),
    "POST /api/v1/targets/:name/mode": {
      description:
        "In `QUEUE` nothing is sent until the mode is `auto`, except by `drain`. In `NORMAL` everything is sent, " +
        "however " +
        "often attempts fail.",
      params: { name: EXAMPLE.subscription },
      request: { mode: "QUEUE" },
      answer: {
        description: "The target",
        schema: Target,
        example: { ...TARGET, mode: "QUEUE", forced: "QUEUE", since: EXAMPLE.time, reason: "set by an operator" },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/subscriptions/:id/drain": {
      description:
        "Sends waiting deliveries in batches until none is left or one fails. Retries that are due later are sent " +
        "now, too.",
      params: { id: EXAMPLE.subscription },
      answer: {
        status: 202,
        description: "Sending has begun",
        schema: closed({ id: Type.String(), target: Type.String(), mode: Mode, waiting: Count }),
        example: { id: EXAMPLE.subscription, target: EXAMPLE.newName, mode: "QUEUE", waiting: 12 },
      },
      errors: ["conflict"],
    },
  },
};
