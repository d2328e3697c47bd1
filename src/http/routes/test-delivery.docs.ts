import { EXAMPLE } from "../openapi/examples.ts";
import { extended, named, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { Attempt, Delivery } from "./deliveries.docs.ts";

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
        schema: named(
          "TestAttempt",
          extended(Attempt, { delivery_id: text(EXAMPLE.deadDelivery), event_id: text(EXAMPLE.webhookEvent) }),
        ),
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
