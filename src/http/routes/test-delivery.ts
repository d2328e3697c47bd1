import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { DestinationKinds } from "../../deliver/senders/kinds.ts";
import { formatDeliveryId } from "../../domain/ids.ts";
import { TEST_EVENT_TYPE } from "../../domain/pattern.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";
import type { AuditTrail } from "../../operate/audit-trail.ts";
import type { TestDeliveries } from "../../operate/test-delivery.ts";
import type { StoredDelivery } from "../../store/port/reads.ts";
import { presentAttempt } from "../present/delivery.ts";

const NoBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()]);

export interface TestDeliveryRoutesOptions {
  subscriptions: Pick<Subscriptions, "getById">;
  kinds: DestinationKinds;
  tests: TestDeliveries;
  trail: Pick<AuditTrail, "note">;
  presentDelivery: (delivery: StoredDelivery) => { hold_reason: string | null };
}

export function addTestDeliveryRoutes(app: FastifyInstance, options: TestDeliveryRoutesOptions): void {
  const { subscriptions, kinds, tests, trail, presentDelivery } = options;

  app.post<{ Params: { id: string } }>(
    "/api/v1/subscriptions/:id/test",
    {
      config: { scope: "admin" },
      schema: { summary: "Send a test event", body: NoBody },
    },
    async ({ params, caller }, reply) => {
      const subscription = subscriptions.getById(params.id, caller?.tenantId);
      const { id, tenantId } = subscription;
      await trail.note({ act: "subscription.test", kind: "subscription", id, tenantId });
      const result = await tests.send(subscription);
      if (result.kind === "attempted") {
        const { eventId, key, attempt } = result;
        const deliveryId = formatDeliveryId(key.eventSeq, key.subscriptionSeq);
        const of = { deliveryId, eventId, eventType: TEST_EVENT_TYPE, subscription };
        return { delivery_id: deliveryId, event_id: eventId, ...presentAttempt(attempt, of, kinds) };
      }
      const shown = presentDelivery(result.delivery);
      const isThrottled = shown.hold_reason === null && subscription.rateLimitPerMinute !== undefined;
      return reply.code(202).send({ ...shown, hold_reason: isThrottled ? "throttled" : shown.hold_reason });
    },
  );
}
