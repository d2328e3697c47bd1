import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { RotationPlan } from "../../jobs/secret-rotation.ts";
import { invalidField } from "../../model/errors.ts";
import { publicKeyOf } from "../../model/signature.ts";
import { findOverlapEnd, type SigningKeys } from "../../model/signing-keys.ts";
import { SharedSettings, type Subscription } from "../../model/subscription.ts";
import { nameForLog } from "../../model/tenant.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { isoTime, presentAs } from "../present.ts";
import { ADMIN, routesOf, type Parts } from "./route.ts";

const State = Doc.closed(() => ({
  state: Doc.choice(["current", "next", "previous"]),
  created_at: Doc.Time,
  expires_at: Doc.nullable(Doc.Time),
}));
const id = Doc.text(EXAMPLE.subscription);

const Rotation = Doc.shape("Rotation", () => ({
  id,
  overlap_ends_at: Doc.nullable(Doc.time("Until then deliveries are signed with both secrets")),
  secrets: Type.Array(State),
}));

const Secrets = Doc.shape("Secrets", () => ({
  id,
  secret: Doc.text(EXAMPLE.secret, "The current secret"),
  overlap_ends_at: Doc.nullable(Doc.Time),
  rotation: Type.Enum(["automatic", "manual", "overdue"], {
    description:
      "`automatic`: the gateway rotates the secret after `secret_rotation_days`, because an active subscription of " +
      "the tenant asks for `webhook.secret_rotating`. `manual`: only the owner rotates it. `overdue`: `manual`, and " +
      "the secret is older than that",
    examples: ["manual"],
  }),
  secrets: Type.Array(Doc.closed({ secret: Doc.text(EXAMPLE.secret), ...State.properties })),
  ed25519: Doc.nullable(Doc.closed({ public_key: Type.String(), created_at: Doc.Time })),
}));

const secretExample = (given: object = {}) => Doc.exampleOf(State, given);

const RotateBody = Doc.optional({
  secret: SharedSettings.properties.secret,
  overlap_s: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    default: 1_209_600,
    description: "How many seconds both secrets sign deliveries; 0 retires the old one at once",
  }),
  force: Type.Boolean({ default: false, description: "Replace a rotation that is in progress" }),
});
const ConfirmBody = Doc.optional({ retire: Type.Boolean({ default: false, description: "End the overlap at once" }) });

export function addSubscriptionSecretRoutes(app: FastifyInstance, parts: Parts): void {
  const { subscriptions, rotation, trail, logger } = parts;
  const route = routesOf(app, "Secrets");

  function get(request: FastifyRequest): Subscription {
    const { id } = request.params as { id: string };
    const tenantId = request.caller?.tenantId;
    if (subscriptions.findById(id, tenantId) === undefined && subscriptions.wasDeleted(id, tenantId)) {
      throw invalidField("id", `The subscription ${id} was deleted and has no secret to change.`);
    }
    return subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });
  }

  function present(subscription: Subscription) {
    return presentRotation(subscription, subscriptions.keysOf(subscription));
  }

  route("POST /api/v1/subscriptions/:id/rotate-secret", ADMIN, "Rotate the secret of a subscription", {
    body: Doc.nullable(RotateBody),
    description:
      "Deliveries are signed with both secrets until the overlap ends. The header with a single signature uses the " +
      "old secret until the rotation is confirmed.",
    example: { params: { id: EXAMPLE.subscription }, body: { overlap_s: 1_209_600 } },
    answer: () =>
      Doc.shows(
        Doc.extended(Rotation, () => ({ secret: Type.String() }), "RotationWithSecret"),
        "The new secret, which signs in addition to the old one",
        {
          secret: EXAMPLE.nextSecret,
          overlap_ends_at: EXAMPLE.overlapEnd,
          secrets: [secretExample({ expires_at: EXAMPLE.overlapEnd }), secretExample({ state: "next" })],
        },
      ),
    errors: ["conflict", "managed_by_config"],
    async handle(request, reply) {
      const subscription = get(request);
      const { secret, overlap_s: overlapS, force } = request.body ?? {};
      const overlapMs = overlapS === undefined ? undefined : overlapS * 1000;
      const made = await rotation.rotate(subscription, { secret, overlapMs, force });
      return reply.send({ ...present(subscription), secret: made });
    },
  });

  route("POST /api/v1/subscriptions/:id/rotate-secret/confirm", ADMIN, "Confirm a rotation", {
    body: Doc.nullable(ConfirmBody),
    example: { params: { id: EXAMPLE.rotatingSubscription }, body: {} },
    answer: () =>
      Doc.shows(Rotation, "The new secret is now the current one", {
        id: EXAMPLE.rotatingSubscription,
        overlap_ends_at: EXAMPLE.overlapEnd,
        secrets: [secretExample(), secretExample({ state: "previous", expires_at: EXAMPLE.overlapEnd })],
      }),
    errors: ["conflict"],
    async handle(request) {
      const subscription = get(request);
      await rotation.confirm(subscription, { retire: request.body?.retire === true });
      return present(subscription);
    },
  });

  route("POST /api/v1/subscriptions/:id/rotate-secret/retire", ADMIN, "End the overlap of a rotation now", {
    body: Doc.nullable(Doc.closed({})),
    example: { params: { id: EXAMPLE.rotatingSubscription } },
    answer: () =>
      Doc.shows(Rotation, "Only the new secret is valid now", {
        id: EXAMPLE.rotatingSubscription,
      }),
    errors: ["conflict"],
    async handle(request) {
      const subscription = get(request);
      await rotation.retire(subscription);
      return present(subscription);
    },
  });

  route("GET /api/v1/subscriptions/:id/secret", ADMIN, "Get the secrets of a subscription", {
    description: "Each call is logged.",
    example: { params: { id: EXAMPLE.subscription } },
    answer: () => Doc.shows(Secrets, "The secrets that sign deliveries"),
    async handle(request, reply) {
      const boundTo = request.caller?.tenantId;
      const subscription = subscriptions.getFor("use", request.params.id, { tenantId: boundTo, boundTo });
      const { id, tenantId } = subscription;
      // The secrets are shown only after the note of it is on disk.
      await trail.note({ act: "subscription.reveal_secret", kind: "subscription", id, tenantId });
      logger.info(
        { subscription_id: id, subscription: nameForLog(subscription), key_id: request.caller?.keyId },
        "the secret of a subscription was read",
      );
      return reply.send(presentSecrets(subscription, subscriptions.keysOf(subscription), rotation.plan(subscription)));
    },
  });
}

/** The state of a rotation, without secrets: answers that may show one add it. */
function presentRotation(subscription: Subscription, keys: SigningKeys) {
  const { id } = subscription;
  const secrets = keys.secrets.map((one) => presentAs(State, one));
  return presentAs(Rotation, { id, overlapEndsAt: findOverlapEnd(keys), secrets });
}

/** For the owner only: with the secrets themselves, but without private keys, which nobody else needs. */
function presentSecrets(subscription: Subscription, keys: SigningKeys, plan: RotationPlan) {
  const { secrets, ed25519 } = keys;
  return {
    ...presentRotation(subscription, keys),
    secret: secrets[0]?.secret,
    rotation: plan,
    secrets: secrets.map((one) => ({ secret: one.secret, ...presentAs(State, one) })),
    ed25519:
      ed25519 === undefined
        ? null
        : { public_key: publicKeyOf(ed25519.privateKey), created_at: isoTime(ed25519.createdAt) },
  };
}
