import { Type } from "typebox";
import { closed, nullable, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { EXAMPLE } from "../openapi/examples.ts";

export const TemplatePreview = closed({
  problems: Type.Array(closed({ field: text("template.body"), message: Type.String() }), {
    description: "For which a subscription with these templates would be refused",
  }),
  rendered: nullable(Type.Array(closed({ name: text("template.body"), text: Type.String() }))),
  fault: nullable(Type.String({ description: "For which the delivery would be a dead letter" })),
});

export const TEMPLATE_DOCS: AreaDocs = {
  tag: "Templates",
  description: "Texts that are made of events: bodies, headers and URLs of requests, messages for chats",
  operations: {
    "POST /api/v1/templates/preview": {
      description:
        "The templates of a subscription, of settings that are not saved yet, or any others; with an event that you " +
        "describe, or with one that was received. Nothing is stored or sent.",
      request: {
        settings: { template: { body: '{"text":"Order of {{ data.total }} EUR"}' } },
        event: { event_type: EXAMPLE.eventType, data: { total: 12 } },
      },
      answer: {
        description: "What is made of it, and what is wrong",
        schema: TemplatePreview,
        example: {
          problems: [],
          rendered: [{ name: "template.body", text: '{"text":"Order of 12 EUR"}' }],
          fault: null,
        },
      },
      errors: ["not_found", "unavailable"],
    },
  },
};
