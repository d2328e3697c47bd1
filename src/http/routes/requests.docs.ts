import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  Headers,
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

const Outcome = oneOf(["accepted", "rejected", "ignored"]);
const Cause = nullable(
  Type.String({ description: "The code of the error; or `duplicate`, `filtered`, `invalid`, or what its kind says" }),
);

const Request = named(
  "Request",
  closed(
    {
      id: Type.String(),
      source: Type.String(),
      received_at: Time,
      remote_address: Type.String(),
      method: Type.String(),
      path: Type.String(),
      query: Type.String(),
      headers: Headers,
      size: Count,
      outcome: Outcome,
      cause: Cause,
      events: Type.Array(closed({ event_id: nullable(Type.String()), outcome: Outcome, cause: Cause })),
      replayed_at: nullable(Time),
      replayed_by: nullable(Type.String({ description: "The id of the key" })),
      replay_event_ids: Type.Array(Type.String()),
    },
    "One inbound HTTP request; secrets in its headers are masked",
  ),
);

const REQUEST = {
  id: EXAMPLE.request,
  source: EXAMPLE.source,
  received_at: EXAMPLE.time,
  remote_address: "198.51.100.7",
  method: "POST",
  path: `/webhook/${EXAMPLE.source}`,
  query: "",
  headers: { "content-type": "application/json", "user-agent": "shop/2.1" },
  size: 17,
  outcome: "accepted",
  cause: null,
  events: [{ event_id: EXAMPLE.webhookEvent, outcome: "accepted", cause: null }],
  replayed_at: null,
  replayed_by: null,
  replay_event_ids: [],
};

export const REQUEST_DOCS: AreaDocs = {
  tag: "Requests",
  description: "What came to a source, and what became of it",
  operations: {
    "GET /api/v1/sources/:name/requests": {
      params: { name: EXAMPLE.source },
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "Those that were refused or ignored, the newest first",
        schema: pageSchema(Request),
        example: pageExample({
          ...REQUEST,
          id: EXAMPLE.refusedRequest,
          outcome: "rejected",
          cause: "unreadable_body",
          events: [],
        }),
      },
    },
    "POST /api/v1/requests/:id/replay": {
      description:
        "After a repair of the configuration. Who it is from is not asked again; all else is done with its stored " +
        "body as if it came now. What is still wrong with it is told as an error.",
      params: { id: EXAMPLE.ignoredRequest },
      answer: {
        status: 200,
        description: "What became of it",
        schema: extended(Request, { result: closed({ outcome: oneOf(["accepted", "ignored"]), cause: Cause }) }),
        example: {
          ...REQUEST,
          id: EXAMPLE.ignoredRequest,
          outcome: "ignored",
          cause: "filtered",
          events: [],
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
      answer: { status: 200, description: "The request", schema: Request, example: REQUEST },
    },
  },
};
