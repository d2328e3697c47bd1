import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import type { Sources } from "../../manage/sources.ts";
import type { Store, StoredRequest } from "../../store/store.ts";
import { presentRequest } from "../present/request.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const ListQuery = Type.Object(PageQuery, { additionalProperties: false });

export function addRequestRoutes(app: FastifyInstance, { store, sources }: { store: Store; sources: Sources }): void {
  /** A request belongs to who owned its source when it came. */
  function isVisible(request: StoredRequest, tenantId: string | undefined): boolean {
    return tenantId === undefined || request.tenantId === tenantId;
  }

  app.get<{ Params: { name: string }; Querystring: Static<typeof ListQuery> }>(
    "/api/v1/sources/:name/requests",
    {
      config: { scope: "read" },
      schema: { summary: "List the requests that a source refused", querystring: ListQuery },
    },
    async ({ params, query, caller }) => {
      const source = sources.find(params.name);
      if (source === undefined || (caller?.tenantId !== undefined && source.tenantId !== caller.tenantId)) {
        throw new PosthornError("not_found", `There is no source ${params.name}.`);
      }
      return presentPage(await store.listRequests(params.name, pageOf(query), caller?.tenantId), presentRequest);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/requests/:id",
    { config: { scope: "read" }, schema: { summary: "Read a request" } },
    async ({ params, caller }) => {
      const request = await store.findRequest(params.id);
      if (request === undefined || !isVisible(request, caller?.tenantId)) {
        throw new PosthornError("not_found", `There is no request ${params.id}.`);
      }
      return presentRequest(request);
    },
  );
}
