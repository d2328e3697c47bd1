import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import type { Senders } from "../../destinations/open-senders.ts";
import type { DestinationKinds } from "../../destinations/kinds.ts";
import { PosthornError } from "../../model/errors.ts";
import { isFor } from "../../model/subscription.ts";
import { formatDeliveryId } from "../../model/ids.ts";
import { TEST_EVENT_TYPE } from "../../model/pattern.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { TestDeliveries } from "../../replays/test-delivery.ts";
import { rejectErased } from "../../jobs/body-erasure.ts";
import type { StoredDelivery } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { presentAttempt } from "../present/delivery.ts";
import { StoredEventId } from "./sample-event.ts";

const PreviewBody = Type.Object({ event_id: StoredEventId }, { additionalProperties: false });
const NoBody = Type.Union([Type.Object({}, { additionalProperties: false }), Type.Null()]);

export interface TestDeliveryRoutesOptions {
  subscriptions: Pick<Subscriptions, "getFor">;
  kinds: DestinationKinds;
  tests: TestDeliveries;
  trail: Pick<AuditTrail, "note">;
  presentDelivery: (delivery: StoredDelivery) => { hold_reason: string | null };
  store: Pick<Store, "reads">;
  senders: Pick<Senders, "preview">;
}

export function addTestDeliveryRoutes(app: FastifyInstance, options: TestDeliveryRoutesOptions): void {
  const { subscriptions, kinds, tests, trail, presentDelivery } = options;
  const getForUse = (id: string, tenantId: string | undefined) =>
    subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });

  app.post<{ Params: { id: string } }>(
    "/api/v1/subscriptions/:id/test",
    {
      config: { scope: "admin" },
      schema: { summary: "Send a test event", body: NoBody },
    },
    async ({ params, caller }, reply) => {
      const subscription = getForUse(params.id, caller?.tenantId);
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

  app.post<{ Params: { id: string }; Body: Static<typeof PreviewBody> }>(
    "/api/v1/subscriptions/:id/preview",
    // The answer is signed: anybody who has it can pose as the gateway.
    { config: { scope: "admin" }, schema: { summary: "Preview the request of an event", body: PreviewBody } },
    async ({ params, body, caller }) => {
      const subscription = getForUse(params.id, caller?.tenantId);
      const owner = subscription.tenants === undefined ? subscription.tenantId : undefined;
      const found = await options.store.reads.findEvent(body.event_id, owner);
      const event = found !== undefined && isFor(subscription, found.tenantId) ? found : undefined;
      const content = event && (await options.store.reads.loadEvent(event.seq));
      if (event === undefined || content === undefined) {
        throw new PosthornError("not_found", `There is no event ${body.event_id} of the subscription's tenant.`, {
          field: "event_id",
        });
      }
      rejectErased(event);
      const shown = await options.senders.preview({
        deliveryId: formatDeliveryId(event.seq, subscription.seq),
        number: 1,
        generation: 1,
        event: { ...event, body: content.body ?? new Uint8Array() },
        request: event.request,
        details: event.details,
        subscription,
      });
      if (shown === undefined) {
        throw new PosthornError(
          "invalid_field",
          `Destinations of the kind ${subscription.kind} do not get HTTP requests.`,
          {
            field: "id",
          },
        );
      }
      if ("problem" in shown) throw new PosthornError("conflict", `Nothing would be sent: ${shown.problem}.`);
      return {
        method: shown.method,
        headers: Object.entries(shown.headers).map(([name, value]) => ({ name, value })),
        body_base64: Buffer.from(shown.body).toString("base64"),
      };
    },
  );
}
