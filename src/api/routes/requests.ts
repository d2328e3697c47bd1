import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import type { Sources } from "../../resources/sources/sources.ts";
import type { Caller } from "../../resources/keys.ts";
import type { ReplayedRequest, RequestReplays } from "../../replays/request-replay.ts";
import { REQUEST_OUTCOMES } from "../../store/port/event-log.ts";
import type { StoredRequest } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { presentBody } from "../present/body.ts";
import { presentListedRequest, presentRequest } from "../present/request.ts";
import { EventQuery, readTimes } from "./event-query.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const ListQuery = Type.Object(
  {
    ...PageQuery,
    outcome: Type.Optional(Type.Union(REQUEST_OUTCOMES.map((outcome) => Type.Literal(outcome)))),
    cause: Type.Optional(Type.String({ maxLength: 64, description: "`bad_signature`, `filtered`, …" })),
  },
  { additionalProperties: false },
);

const AllQuery = Type.Object(
  {
    ...ListQuery.properties,
    source: EventQuery.source,
    tenant_id: EventQuery.tenant_id,
    since: EventQuery.since,
    until: EventQuery.until,
  },
  { additionalProperties: false },
);

export interface RequestRoutesOptions {
  store: Store;
  sources: Sources;
  requestReplays: RequestReplays;
  /** Called when somebody replayed a request, successfully or not. */
  onReplayed: (replayed: ReplayedRequest, caller: Caller | undefined) => void;
}

export function addRequestRoutes(app: FastifyInstance, options: RequestRoutesOptions): void {
  const { store, sources, requestReplays } = options;

  /** A request belongs to the tenant that owned its source when the request came. */
  function isVisible(request: StoredRequest, tenantId: string | undefined): boolean {
    return tenantId === undefined || request.tenantId === tenantId;
  }

  app.get<{ Params: { name: string }; Querystring: Static<typeof ListQuery> }>(
    "/api/v1/sources/:name/requests",
    {
      config: { scope: "read" },
      schema: { summary: "List the rejected requests of a source", querystring: ListQuery },
    },
    async ({ params, query, caller }) => {
      const source = sources.find(params.name);
      if (source === undefined || (caller?.tenantId !== undefined && source.tenantId !== caller.tenantId)) {
        throw new PosthornError("not_found", `There is no source ${params.name}.`);
      }
      const { outcome, cause } = query;
      const filter = { source: params.name, tenantId: caller?.tenantId, outcome, cause };
      const page = await store.reads.listRequests(filter, pageOf(query));
      return presentPage(page, presentListedRequest);
    },
  );

  app.get<{ Querystring: Static<typeof AllQuery> }>(
    "/api/v1/requests",
    {
      config: { scope: "read" },
      schema: { summary: "List the rejected and ignored requests of all sources", querystring: AllQuery },
    },
    async ({ query, caller }) => {
      const { source, outcome, cause } = query;
      const { since, until } = readTimes(query);
      const filter = { source, tenantId: caller?.tenantId ?? query.tenant_id, outcome, cause, since, until };
      return presentPage(await store.reads.listRequests(filter, pageOf(query)), presentListedRequest);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/requests/:id",
    { config: { scope: "read" }, schema: { summary: "Get a request" } },
    async ({ params, caller }) => {
      const request = await getRequest(params.id, caller);
      return { ...presentRequest(request), ...presentBody(await store.reads.loadRequestBody(request.id)) };
    },
  );

  app.post<{ Params: { id: string } }>(
    "/api/v1/requests/:id/replay",
    { config: { scope: "admin" }, schema: { summary: "Replay a rejected or ignored request" } },
    async ({ params, caller }) => {
      const replayed = await requestReplays.replay(await getRequest(params.id, caller), caller?.keyId);
      options.onReplayed(replayed, caller);
      const { request, outcome, cause } = replayed;
      return { ...presentRequest(request), result: { outcome, cause: cause ?? null } };
    },
  );

  async function getRequest(id: string, caller: Caller | undefined): Promise<StoredRequest> {
    const request = await store.reads.findRequest(id);
    if (request !== undefined && isVisible(request, caller?.tenantId)) return request;
    throw new PosthornError("not_found", `There is no request ${id}.`);
  }
}
