import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { Time, closed, extended, named, nullable, oneOf, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";

const State = {
  state: oneOf(["current", "next", "previous"]),
  created_at: Time,
  expires_at: nullable(Time),
};
const id = text(EXAMPLE.subscription);

const Rotation = named(
  "Rotation",
  closed({
    id,
    overlap_ends_at: nullable(
      Type.String({ format: "date-time", description: "Until then deliveries are signed with both secrets" }),
    ),
    secrets: Type.Array(closed(State)),
  }),
);

const Secrets = named(
  "Secrets",
  closed({
    id,
    secret: text(EXAMPLE.secret, "The current secret"),
    overlap_ends_at: nullable(Time),
    rotation: Type.Enum(["automatic", "manual", "overdue"], {
      description:
        "`automatic`: the gateway rotates the secret after `secret_rotation_days`, because an active subscription of " +
        "the " +
        "tenant asks for `webhook.secret_rotating`. `manual`: only the owner rotates it. `overdue`: `manual`, and " +
        "the secret is older than that",
      examples: ["manual"],
    }),
    secrets: Type.Array(closed({ secret: text(EXAMPLE.secret), ...State })),
    ed25519: nullable(closed({ public_key: Type.String(), created_at: Time })),
  }),
);

const current = exampleOf(closed(State));
const ROTATED = {
  id: EXAMPLE.subscription,
  overlap_ends_at: EXAMPLE.overlapEnd,
  secrets: [
    { ...current, expires_at: EXAMPLE.overlapEnd },
    { ...current, state: "next" },
  ],
};

export const SUBSCRIPTION_SECRET_DOCS: AreaDocs = {
  tag: "Secrets",
  description: "The secrets that sign deliveries, and their rotation without an interruption",
  operations: {
    "POST /api/v1/subscriptions/:id/rotate-secret": {
      description:
        "Deliveries are signed with both secrets until the overlap ends. The header with a single signature uses the " +
        "old " +
        "secret until the rotation is confirmed.",
      params: { id: EXAMPLE.subscription },
      request: { overlap_s: 1_209_600 },
      answer: {
        description: "The new secret, which signs in addition to the old one",
        schema: named("RotationWithSecret", extended(Rotation, { secret: Type.String() })),
        example: { ...ROTATED, secret: EXAMPLE.nextSecret },
      },
      errors: ["conflict", "managed_by_config"],
    },
    "POST /api/v1/subscriptions/:id/rotate-secret/confirm": {
      params: { id: EXAMPLE.rotatingSubscription },
      request: {},
      answer: {
        description: "The new secret is now the current one",
        schema: Rotation,
        example: {
          id: EXAMPLE.rotatingSubscription,
          overlap_ends_at: EXAMPLE.overlapEnd,
          secrets: [current, { ...current, state: "previous", expires_at: EXAMPLE.overlapEnd }],
        },
      },
      errors: ["conflict"],
    },
    "POST /api/v1/subscriptions/:id/rotate-secret/retire": {
      params: { id: EXAMPLE.rotatingSubscription },
      answer: {
        description: "Only the new secret is valid now",
        schema: Rotation,
        example: { ...exampleOf(Rotation), id: EXAMPLE.rotatingSubscription },
      },
      errors: ["conflict"],
    },
    "GET /api/v1/subscriptions/:id/secret": {
      description: "Each call is logged.",
      params: { id: EXAMPLE.subscription },
      answer: {
        description: "The secrets that sign deliveries",
        schema: Secrets,
      },
    },
  },
};
