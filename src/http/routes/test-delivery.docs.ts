import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import { extended, named, type AreaDocs } from "../openapi/operation-docs.ts";
import { ATTEMPT, Attempt, Delivery } from "./deliveries.docs.ts";

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
        status: 200,
        description: "The attempt, whether it succeeded or not",
        schema: named("TestAttempt", extended(Attempt, { delivery_id: Type.String(), event_id: Type.String() })),
        example: { delivery_id: EXAMPLE.deadDelivery, event_id: EXAMPLE.webhookEvent, ...ATTEMPT },
      },
      otherAnswers: [
        {
          status: 202,
          description: "There was no attempt yet: the delivery, with why it waits in `hold_reason`",
          schema: Delivery,
        },
      ],
    },
  },
};
