import { Type } from "typebox";
import { closed, type AreaDocs } from "../openapi/operation-docs.ts";

const FilterResult = closed({
  match: Type.Boolean(),
  failed: Type.Optional(
    closed({
      path: Type.String(),
      operator: Type.String(),
      expected: Type.Unknown(),
      found: Type.Optional(Type.Unknown({ description: "The value at that path; missing when the event has none" })),
    }),
  ),
});

export const FILTER_DOCS: AreaDocs = {
  tag: "Filters",
  description: "Filters narrow down which of the events that match its patterns a subscription gets",
  operations: {
    "POST /api/v1/filters/test": {
      description: "Tests the filter on an event that you describe, or on a stored event. Nothing is stored.",
      request: { filter: { data: { total: { $gt: 100 } } }, event: { data: { total: 12 } } },
      answer: {
        description: "Whether the filter matches and, if not, which conditions failed",
        schema: FilterResult,
        example: { match: false, failed: { path: "data.total", operator: "$gt", expected: 100, found: 12 } },
      },
      errors: ["not_found"],
    },
  },
};
