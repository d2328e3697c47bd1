import { Type } from "typebox";
import { closed, nullable, text, type AreaDocs } from "../openapi/operation-docs.ts";
import { EXAMPLE } from "../openapi/examples.ts";

const TemplatePreview = closed({
  problems: Type.Array(closed({ field: text("template.body"), message: Type.String() }), {
    description: "Problems for which a subscription with these templates would be rejected",
  }),
  rendered: nullable(Type.Array(closed({ name: text("template.body"), text: Type.String() }))),
  fault: nullable(Type.String({ description: "The problem for which the delivery would become a dead letter" })),
});

export const TEMPLATE_DOCS: AreaDocs = {
  tag: "Templates",
  description: "Templates turn events into texts: bodies, headers and URLs of requests, and chat messages",
  operations: {
    "POST /api/v1/templates/preview": {
      description:
        "Renders the templates of a subscription, of settings that are not saved yet, or any others. The event is " +
        "one that " +
        "you describe, or a stored one. Nothing is stored or sent.",
      request: {
        settings: { template: { body: '{"text":"Order of {{ data.total }} EUR"}' } },
        event: { event_type: EXAMPLE.eventType, data: { total: 12 } },
      },
      answer: {
        description: "The rendered texts, and any problems",
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
