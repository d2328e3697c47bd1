import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Headers,
  Time,
  closed,
  count,
  extended,
  named,
  nullable,
  oneOf,
  page,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { exampleOf } from "../openapi/shown.ts";

const Outcome = oneOf(["accepted", "rejected", "ignored"]);
const Cause = textOrNull(
  "The error code; or `duplicate`, `filtered`, `invalid`, or a cause that the kind of source defines",
);

const Request = named(
  "Request",
  closed(
    {
      id: text(EXAMPLE.request),
      source: text(EXAMPLE.source),
      received_at: Time,
      remote_address: text("198.51.100.7"),
      method: text("POST"),
      path: text(`/webhook/${EXAMPLE.source}`),
      query: text(""),
      headers: Type.With(Headers, {
        examples: [{ "content-type": "application/json", "user-agent": "shop/2.1" }],
      }),
      size: count(17),
      outcome: Outcome,
      cause: Cause,
      events: Type.Array(closed({ event_id: nullable(text(EXAMPLE.webhookEvent)), outcome: Outcome, cause: Cause })),
      replayed_at: nullable(Time),
      replayed_by: textOrNull("The id of the API key"),
      replay_event_ids: Type.Array(Type.String()),
    },
    "One inbound HTTP request; secrets in its headers are masked",
  ),
);

const RequestWithBody = named(
  "RequestWithBody",
  extended(Request, { body: Type.Optional(Type.String()), body_base64: Type.Optional(Type.String()) }),
);

const ReplayedRequest = extended(Request, {
  result: closed({ outcome: oneOf(["accepted", "ignored"]), cause: Cause }),
});

const REFUSED = { ...exampleOf(Request), events: [] };

export const REQUEST_DOCS: AreaDocs = {
  tag: "Requests",
  description: "Requests that came to sources, and their results",
  operations: {
    "GET /api/v1/sources/:name/requests": {
      params: { name: EXAMPLE.source },
      query: { limit: 20 },
      answer: {
        ...page(Request, "Rejected and ignored requests, newest first"),
        example: {
          data: [{ ...REFUSED, id: EXAMPLE.refusedRequest, outcome: "rejected", cause: "unreadable_body" }],
          next_cursor: null,
        },
      },
    },
    "GET /api/v1/requests": {
      query: { limit: 20 },
      answer: {
        ...page(Request, "Rejected and ignored requests, newest first"),
        example: {
          data: [{ ...REFUSED, id: EXAMPLE.refusedRequest, outcome: "rejected", cause: "unreadable_body" }],
          next_cursor: null,
        },
      },
    },
    "POST /api/v1/requests/:id/replay": {
      description:
        "For use after the configuration was corrected. The stored body is processed as if it came in now, except " +
        "that " +
        "the sender is not verified again. If it is rejected again, the answer is that error.",
      params: { id: EXAMPLE.ignoredRequest },
      answer: {
        description: "The result",
        schema: ReplayedRequest,
        example: {
          ...REFUSED,
          id: EXAMPLE.ignoredRequest,
          outcome: "ignored",
          cause: "filtered",
          replayed_at: EXAMPLE.laterTime,
          replayed_by: EXAMPLE.key,
          replay_event_ids: [EXAMPLE.webhookEvent],
          result: { outcome: "accepted", cause: null },
        },
      },
      errors: ["conflict", "unreadable_body", "schema_mismatch"],
    },
    "GET /api/v1/requests/:id": {
      params: { id: EXAMPLE.request },
      answer: {
        description:
          "The request. With its body where it made no event and the body was kept; `body_base64` instead where that " +
          "is no UTF-8",
        schema: RequestWithBody,
        example: exampleOf(Request),
      },
    },
  },
};
