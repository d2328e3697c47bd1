import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { closed, extended, named, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { Attempt, Delivery } from "./deliveries.docs.ts";

const TestAttempt = named(
  "TestAttempt",
  extended(Attempt, { delivery_id: text(EXAMPLE.deadDelivery), event_id: text(EXAMPLE.webhookEvent) }),
);

export const TEST_DELIVERY_DOCS: AreaDocs = {
  tag: "Test deliveries",
  description: "Test a destination",
  operations: {
    "POST /api/v1/subscriptions/:id/test": {
      description:
        "Sends a `test.event` to this subscription only, whatever its event types and filter are, also while it is " +
        "suspended. There is one attempt, and a failure does not count against the destination.",
      params: { id: EXAMPLE.subscription },
      answer: {
        description: "The attempt, whether it succeeded or not",
        schema: TestAttempt,
      },
      otherAnswers: [
        {
          status: 202,
          description: "There was no attempt yet. The answer is the delivery; `hold_reason` says why it waits",
          schema: Delivery,
        },
      ],
    },
    "POST /api/v1/subscriptions/:id/preview": {
      description:
        "Shows the request of the first attempt, in the subscription's format and signed with its current secrets. " +
        "Nothing is sent. Credentials for the destination are left out, and values of headers that the subscription " +
        "sets are masked.",
      params: { id: EXAMPLE.subscription },
      request: { event_id: EXAMPLE.event },
      answer: {
        description: "The request",
        schema: named(
          "RequestPreview",
          closed({
            method: text("POST"),
            headers: Type.Array(closed({ name: text("Content-Type"), value: text("application/json") })),
            body_base64: text("eyJpZCI6N30=", "The body, byte for byte"),
          }),
        ),
      },
      errors: ["conflict"],
    },
  },
};
