import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { closed, extended, named, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { Attempt, Delivery } from "./deliveries.docs.ts";

export const TestAttempt = named(
  "TestAttempt",
  extended(Attempt, { delivery_id: text(EXAMPLE.deadDelivery), event_id: text(EXAMPLE.webhookEvent) }),
);

export const TEST_DELIVERY_DOCS: AreaDocs = {
  tag: "Test deliveries",
  description: "Trying a destination out",
  operations: {
    "POST /api/v1/subscriptions/:id/test": {
      description:
        "`test.event` for this subscription alone, whatever it asks for. It is tried once, and a failure is not held " +
        "against the destination.",
      params: { id: EXAMPLE.subscription },
      answer: {
        description: "The attempt, whether it succeeded or not",
        schema: TestAttempt,
      },
      otherAnswers: [
        {
          status: 202,
          description: "There was no attempt yet: the delivery, with why it waits in `hold_reason`",
          schema: Delivery,
        },
      ],
    },
    "POST /api/v1/subscriptions/:id/preview": {
      description:
        "As the first attempt would make it: in the format of the subscription, and signed with its secrets as of now. " +
        "Nothing is sent. It has no login for the destination, and the values of headers that the subscription sets are masked.",
      params: { id: EXAMPLE.subscription },
      request: { event_id: EXAMPLE.event },
      answer: {
        description: "The request",
        schema: named(
          "RequestPreview",
          closed({
            method: text("POST"),
            headers: Type.Array(closed({ name: text("Content-Type"), value: text("application/json") })),
            body_base64: text("eyJpZCI6N30=", "Its body, byte for byte"),
          }),
        ),
      },
      errors: ["conflict"],
    },
  },
};
