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
import { MODES, TargetChange, TargetInput } from "../../domain/target.ts";

named("TargetInput", TargetInput);
named("TargetChange", TargetChange);

const Mode = oneOf(MODES, "`QUEUE`: deliveries wait until it is back");

/** What may be set, and what is only shown. */
export const Target = named(
  "Target",
  closed(
    {
      ...shownFields(TargetInput),
      name: Type.String({ description: "Its own, or that of the subscription that it belongs to", examples: ["erp"] }),
      shared: Type.Boolean({ description: "Several may send to it; else it is a subscription's own" }),
      subscriptions: Type.Array(Type.String(), { description: "Which send to it" }),
      mode: Mode,
      forced: nullable(oneOf(MODES, "What an operator said")),
      since: nullable(Time),
      reason: textOrNull("Why it came into its mode; null when it was never in another"),
      health: oneOf(["ok", "error"]),
      checked_at: nullable(Time),
      queue_length: Type.Integer({ minimum: 0, description: "Open deliveries" }),
      failures: Type.Integer({ minimum: 0, description: "In a row" }),
      last_error: textOrNull(),
      managed_by: ManagedByDocs,
      health_url: textOrNull("Null: a delivery finds out whether it is back"),
    },
    "What subscriptions send to",
  ),
);

const SETTINGS = { health_url: "https://erp.example.com/healthz", health_interval_s: 30, failures_to_open: 5 };
const SHARED = { ...exampleOf(Target), name: EXAMPLE.ownTarget, shared: true, ...SETTINGS };
const TARGET = { ...exampleOf(Target), name: EXAMPLE.newName, subscriptions: [EXAMPLE.subscription] };

export const TARGET_DOCS: AreaDocs = {
  tag: "Targets",
  description: "What subscriptions send to: its health, and the mode that follows from it",
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
          description: "The declared ones first, then those that are a subscription's own",
          example: { data: [TARGET], next_cursor: null },
        },
      },
      make: {
        description: "Subscriptions name it in `target`.",
        request: { name: EXAMPLE.newTarget, ...SETTINGS },
        answer: { example: { ...SHARED, name: EXAMPLE.newTarget } },
      },
      replace: { request: SETTINGS },
      change: {
        description: "What is given is changed; null takes a setting away.",
        request: { failures_to_open: 5, description: null },
      },
      remove: {},
      read: {
        description: "By its name; a subscription's own also by the id of the subscription.",
        answer: { description: "As it is now; with an ETag where it is shared" },
        errors: ["conflict"],
      },
    }),
    "POST /api/v1/targets/:name/mode": {
      description:
        "In `QUEUE` nothing is sent until `auto`, but for what `drain` asks for; in `NORMAL` all is sent, however " +
        "often it fails.",
      params: { name: EXAMPLE.subscription },
      request: { mode: "QUEUE" },
      answer: {
        description: "As it is now",
        schema: Target,
        example: { ...TARGET, mode: "QUEUE", forced: "QUEUE", since: EXAMPLE.time, reason: "an operator said so" },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/subscriptions/:id/drain": {
      description: "One round: batch after batch, until nothing is due or one fails. Later tries are brought forward.",
      params: { id: EXAMPLE.subscription },
      answer: {
        status: 202,
        description: "It has begun",
        schema: closed({ id: Type.String(), target: Type.String(), mode: Mode, waiting: Count }),
        example: { id: EXAMPLE.subscription, target: EXAMPLE.newName, mode: "QUEUE", waiting: 12 },
      },
      errors: ["conflict"],
    },
  },
};
