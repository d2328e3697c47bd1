import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { rejectErased } from "../../jobs/body-erasure.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { formatDeliveryId } from "../../model/ids.ts";
import { TEST_EVENT_TYPE } from "../../model/pattern.ts";
import { isFor } from "../../model/subscription.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { Attempt, createDeliveryPresenter, Delivery, presentAttempt } from "./deliveries.ts";
import { StoredEventId } from "./filters.ts";
import { ADMIN, routesOf, type Parts } from "./route.ts";

const TestAttempt = Doc.extended(
  Attempt,
  () => ({
    delivery_id: Doc.text(EXAMPLE.deadDelivery),
    event_id: Doc.text(EXAMPLE.webhookEvent),
  }),
  "TestAttempt",
);

export function addTestDeliveryRoutes(app: FastifyInstance, parts: Parts): void {
  const { subscriptions, kinds, tests, trail, store, senders } = parts;
  const route = routesOf(app, "Test deliveries");
  const presentDelivery = createDeliveryPresenter(parts);
  const getForUse = (id: string, tenantId: string | undefined) =>
    subscriptions.getFor("use", id, { tenantId, boundTo: tenantId });

  route("POST /api/v1/subscriptions/:id/test", ADMIN, "Send a test event", {
    body: Doc.nullable(Doc.closed({})),
    description:
      "Sends a `test.event` to this subscription only, whatever its event types and filter are, also while it is " +
      "suspended. There is one attempt, and a failure does not count against the destination.",
    example: { params: { id: EXAMPLE.subscription } },
    answer: () => Doc.shows(TestAttempt, "The attempt, whether it succeeded or not"),
    otherAnswers: () => [
      {
        status: 202,
        description: "There was no attempt yet. The answer is the delivery; `hold_reason` says why it waits",
        schema: Delivery,
      },
    ],
    async handle({ params, caller }, reply) {
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
  });

  route("POST /api/v1/subscriptions/:id/preview", ADMIN, "Preview the request of an event", {
    body: Doc.closed({ event_id: StoredEventId }),
    description:
      "Shows the request of the first attempt, in the subscription's format and signed with its current secrets. " +
      "Nothing is sent. Credentials for the destination are left out, and values of headers that the subscription " +
      "sets are masked.",
    example: { params: { id: EXAMPLE.subscription }, body: { event_id: EXAMPLE.event } },
    answer: () =>
      Doc.shows(
        Doc.shape("RequestPreview", () => ({
          method: Doc.text("POST"),
          headers: Type.Array(Doc.closed({ name: Doc.text("Content-Type"), value: Doc.text("application/json") })),
          body_base64: Doc.text("eyJpZCI6N30=", "The body, byte for byte"),
        })),
        "The request",
      ),
    errors: ["conflict"],
    async handle({ params, body, caller }) {
      const subscription = getForUse(params.id, caller?.tenantId);
      const owner = subscription.tenants === undefined ? subscription.tenantId : undefined;
      const found = await store.reads.findEvent(body.event_id, owner);
      const event = found !== undefined && isFor(subscription, found.tenantId) ? found : undefined;
      const content = event && (await store.reads.loadEvent(event.seq));
      if (event === undefined || content === undefined) {
        throw new PosthornError("not_found", `There is no event ${body.event_id} of the subscription's tenant.`, {
          field: "event_id",
        });
      }
      rejectErased(event);
      const shown = await senders.find(subscription.kind)?.preview?.({
        deliveryId: formatDeliveryId(event.seq, subscription.seq),
        number: 1,
        generation: 1,
        event: { ...event, body: content.body ?? new Uint8Array() },
        request: event.request,
        details: event.details,
        subscription,
      });
      if (shown === undefined) {
        throw invalidField("id", `Destinations of the kind ${subscription.kind} do not get HTTP requests.`);
      }
      if ("problem" in shown) throw new PosthornError("conflict", `Nothing would be sent: ${shown.problem}.`);
      return {
        method: shown.method,
        headers: Object.entries(shown.headers).map(([name, value]) => ({ name, value })),
        body_base64: Buffer.from(shown.body).toString("base64"),
      };
    },
  });
}
