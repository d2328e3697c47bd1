import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { readKeptRequest } from "../../model/event.ts";
import { oneOf } from "../../model/shape.ts";
import type { ReplayedRequest } from "../../replays/request-replay.ts";
import type { Caller } from "../../resources/keys.ts";
import { REQUEST_OUTCOMES } from "../../store/port/event-log.ts";
import type { StoredRequest } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { pageOf, presentAs, presentBody, presentPage } from "../present.ts";
import { EventQuery, readTimes } from "./event-query.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

const Outcome = Doc.choice(["accepted", "rejected", "ignored"]);
const Cause = Doc.textOrNull(
  "The error code; or `duplicate`, `filtered`, `invalid`, or a cause that the kind of source defines",
);

const Request = Doc.shape("Request", "One inbound HTTP request; secrets in its headers are masked", () => ({
  id: Doc.text(EXAMPLE.request),
  source: Doc.text(EXAMPLE.source),
  received_at: Doc.Time,
  remote_address: Doc.text("198.51.100.7"),
  method: Doc.text("POST"),
  path: Doc.text(`/webhook/${EXAMPLE.source}`),
  query: Doc.text(""),
  headers: Type.With(Doc.Headers, { examples: [{ "content-type": "application/json", "user-agent": "shop/2.1" }] }),
  size: Doc.count(17),
  outcome: Outcome,
  cause: Cause,
  events: Type.Array(
    Doc.closed({ event_id: Doc.nullable(Doc.text(EXAMPLE.webhookEvent)), outcome: Outcome, cause: Cause }),
  ),
  replayed_at: Doc.nullable(Doc.Time),
  replayed_by: Doc.textOrNull("The id of the API key"),
  replay_event_ids: Type.Array(Type.String()),
}));

type Shown = Doc.AnswerOf<typeof Request>;

const Body = Doc.optional({ body: Type.String(), body_base64: Type.String() });
const RequestWithBody = Doc.extended(Request, () => Body.properties, "RequestWithBody");

const ReplayedRequest = Doc.extended(Request, () => ({
  result: Doc.closed({ outcome: Doc.choice(["accepted", "ignored"]), cause: Cause }),
}));

const rejected = { id: EXAMPLE.refusedRequest, outcome: "rejected", cause: "unreadable_body", events: [] };
const listed = () => Doc.page(Request, "Rejected and ignored requests, newest first", rejected);

const ListQuery = Doc.pageQuery({
  outcome: oneOf(REQUEST_OUTCOMES),
  cause: Type.String({ maxLength: 64, description: "`bad_signature`, `filtered`, …" }),
});

const { source, tenant_id, since, until } = EventQuery;
const AllQuery = Doc.optional({ ...ListQuery.properties, source, tenant_id, since, until });

export function addRequestRoutes(app: FastifyInstance, { store, sources, requestReplays, logger }: Parts): void {
  const route = routesOf(app, "Requests");

  route("GET /api/v1/sources/:name/requests", READ, "List the rejected requests of a source", {
    query: ListQuery,
    example: { params: { name: EXAMPLE.source }, query: { limit: 20 } },
    answer: listed,
    async handle({ params, query, caller }) {
      const source = sources.find(params.name);
      if (source === undefined || (caller?.tenantId !== undefined && source.tenantId !== caller.tenantId)) {
        throw new PosthornError("not_found", `There is no source ${params.name}.`);
      }
      const { outcome, cause } = query;
      const filter = { source: params.name, tenantId: caller?.tenantId, outcome, cause };
      const page = await store.reads.listRequests(filter, pageOf(query));
      return presentPage(page, presentListedRequest);
    },
  });

  route("GET /api/v1/requests", READ, "List the rejected and ignored requests of all sources", {
    query: AllQuery,
    example: { query: { limit: 20 } },
    answer: listed,
    async handle({ query, caller }) {
      const { source, outcome, cause } = query;
      const { since, until } = readTimes(query);
      const filter = { source, tenantId: caller?.tenantId ?? query.tenant_id, outcome, cause, since, until };
      return presentPage(await store.reads.listRequests(filter, pageOf(query)), presentListedRequest);
    },
  });

  route("GET /api/v1/requests/:id", READ, "Get a request", {
    example: { params: { id: EXAMPLE.request } },
    answer: () =>
      Doc.shows(
        RequestWithBody,
        "The request. With its body where it made no event and the body was kept; `body_base64` instead where that " +
          "is no UTF-8",
      ),
    async handle({ params, caller }) {
      const request = await getRequest(params.id, caller);
      return { ...presentRequest(request), ...presentBody(await store.reads.loadRequestBody(request.id)) };
    },
  });

  route("POST /api/v1/requests/:id/replay", ADMIN, "Replay a rejected or ignored request", {
    description:
      "For use after the configuration was corrected. The stored body is processed as if it came in now, except that " +
      "the sender is not verified again. If it is rejected again, the answer is that error.",
    example: { params: { id: EXAMPLE.ignoredRequest } },
    answer: () =>
      Doc.shows(ReplayedRequest, "The result", {
        id: EXAMPLE.ignoredRequest,
        events: [],
        outcome: "ignored",
        cause: "filtered",
        replayed_at: EXAMPLE.laterTime,
        replayed_by: EXAMPLE.key,
        replay_event_ids: [EXAMPLE.webhookEvent],
        result: { outcome: "accepted", cause: null },
      }),
    errors: ["conflict", "unreadable_body", "schema_mismatch"],
    async handle({ params, caller }) {
      const known = await getRequest(params.id, caller);
      const { request, outcome, cause } = await requestReplays.replay(known, caller?.keyId);
      logger.info(
        { request_id: request.id, source: request.source, outcome, cause, key_id: caller?.keyId },
        "a request was replayed",
      );
      return { ...presentRequest(request), result: { outcome, cause: cause ?? null } };
    },
  });

  /** A request belongs to the tenant that owned its source when the request came. */
  async function getRequest(id: string, { tenantId }: Partial<Caller> = {}): Promise<StoredRequest> {
    const request = await store.reads.findRequest(id);
    if (request !== undefined && (tenantId === undefined || request.tenantId === tenantId)) return request;
    throw new PosthornError("not_found", `There is no request ${id}.`);
  }
}

/** A request as in lists; a single request is shown with all its events. */
const MAX_LISTED_PARTS = 100;

function presentListedRequest(request: StoredRequest) {
  const shown = presentRequest(request);
  return { ...shown, events: shown.events.slice(0, MAX_LISTED_PARTS) };
}

function presentRequest(request: StoredRequest) {
  const facts = readKeptRequest(request.facts);
  return presentAs(Request, {
    ...facts,
    ...request,
    remoteAddress: facts.remote_address,
    headers: facts.headers as Shown["headers"],
    events: presentParts(request),
    replayedAt: request.replay?.at,
    replayedBy: request.replay?.by,
    replayEventIds: request.replay?.eventIds ?? [],
  });
}

/** A request with several events shows the result of each. */
function presentParts({ parts, eventId, outcome, cause }: StoredRequest): Shown["events"] {
  if (parts !== undefined) return JSON.parse(parts) as Shown["events"];
  return eventId === undefined ? [] : [{ event_id: eventId, outcome, cause: cause ?? null }];
}
