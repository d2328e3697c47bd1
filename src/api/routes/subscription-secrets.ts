import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { SharedSettings, type Subscription } from "../../model/subscription.ts";
import type { Caller } from "../../resources/keys.ts";
import type { SecretRotation } from "../../jobs/secret-rotation.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import { presentRotation, presentSecrets } from "../present/secret.ts";

const MAX_OVERLAP_S = 31_536_000;

const RotateBody = Type.Object(
  {
    secret: SharedSettings.properties.secret,
    overlap_s: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_S,
        default: 1_209_600,
        description: "How many seconds both secrets sign deliveries; 0 retires the old one at once",
      }),
    ),
    force: Type.Optional(Type.Boolean({ default: false, description: "Replace a rotation that is in progress" })),
  },
  { additionalProperties: false },
);
const ConfirmBody = Type.Object(
  { retire: Type.Optional(Type.Boolean({ default: false, description: "End the overlap at once" })) },
  { additionalProperties: false },
);
const NoBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()]);

export interface SecretRoutesOptions {
  subscriptions: Subscriptions;
  rotation: SecretRotation;
  /** Called before secrets are shown: they are shown only after the note of it is on disk. */
  onSecretRead: (subscription: Subscription, caller: Caller | undefined) => Promise<void>;
}

export function addSubscriptionSecretRoutes(app: FastifyInstance, options: SecretRoutesOptions): void {
  const { subscriptions, rotation } = options;

  function get(request: FastifyRequest): Subscription {
    const { id } = request.params as { id: string };
    const tenantId = request.caller?.tenantId;
    if (subscriptions.findById(id, tenantId) === undefined && subscriptions.wasDeleted(id, tenantId)) {
      throw new PosthornError("invalid_field", `The subscription ${id} was deleted and has no secret to change.`, {
        field: "id",
      });
    }
    return subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });
  }

  function present(subscription: Subscription) {
    return presentRotation(subscription, subscriptions.keysOf(subscription));
  }

  app.post<{ Body: Static<typeof RotateBody> | undefined }>(
    "/api/v1/subscriptions/:id/rotate-secret",
    {
      config: { scope: "admin" },
      schema: { summary: "Rotate the secret of a subscription", body: Type.Union([RotateBody, Type.Null()]) },
    },
    async (request, reply) => {
      const subscription = get(request);
      const { secret, overlap_s: overlapS, force } = request.body ?? {};
      const overlapMs = overlapS === undefined ? undefined : overlapS * 1000;
      const made = await rotation.rotate(subscription, { secret, overlapMs, force });
      return reply.send({ ...present(subscription), secret: made });
    },
  );

  app.post<{ Body: Static<typeof ConfirmBody> | undefined }>(
    "/api/v1/subscriptions/:id/rotate-secret/confirm",
    {
      config: { scope: "admin" },
      schema: { summary: "Confirm a rotation", body: Type.Union([ConfirmBody, Type.Null()]) },
    },
    async (request) => {
      const subscription = get(request);
      await rotation.confirm(subscription, { retire: request.body?.retire === true });
      return present(subscription);
    },
  );

  app.post(
    "/api/v1/subscriptions/:id/rotate-secret/retire",
    { config: { scope: "admin" }, schema: { summary: "End the overlap of a rotation now", body: NoBody } },
    async (request) => {
      const subscription = get(request);
      await rotation.retire(subscription);
      return present(subscription);
    },
  );

  app.get(
    "/api/v1/subscriptions/:id/secret",
    { config: { scope: "admin" }, schema: { summary: "Get the secrets of a subscription" } },
    async (request, reply) => {
      const { id } = request.params as { id: string };
      const tenantId = request.caller?.tenantId;
      const subscription = subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });
      await options.onSecretRead(subscription, request.caller);
      return reply.send(presentSecrets(subscription, subscriptions.keysOf(subscription), rotation.plan(subscription)));
    },
  );
}
