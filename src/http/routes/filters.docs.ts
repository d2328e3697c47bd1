import { Type } from "typebox";
import { closed, type AreaDocs } from "../openapi/operation-docs.ts";

export const FilterResult = closed({
  match: Type.Boolean(),
  failed: Type.Optional(
    closed({
      path: Type.String(),
      operator: Type.String(),
      expected: Type.Unknown(),
      found: Type.Optional(Type.Unknown({ description: "Left out when there is nothing at that place" })),
    }),
  ),
});

export const FILTER_DOCS: AreaDocs = {
  tag: "Filters",
  description: "Which of the events that match its patterns a subscription gets",
  operations: {
    "POST /api/v1/filters/test": {
      description: "On an event that you describe, or on one that was received. Nothing is stored.",
      request: { filter: { data: { total: { $gt: 100 } } }, event: { data: { total: 12 } } },
      answer: {
        description: "Whether it matches, and if not, what keeps it from matching",
        schema: FilterResult,
        example: { match: false, failed: { path: "data.total", operator: "$gt", expected: 100, found: 12 } },
      },
      errors: ["not_found"],
    },
  },
};
