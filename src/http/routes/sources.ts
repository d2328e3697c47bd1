import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { SOURCE_NAME_PATTERN, SOURCE_STATUSES, SourceInput, type SourceStatus } from "../../domain/source.ts";
import type { Entry } from "../../registry/resource.ts";
import type { SourceRecord } from "../../registry/sources/source-record.ts";
import type { Meant, Sources } from "../../registry/sources/sources.ts";
import { readIfMatch, sendEntry } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentSource } from "../present/source.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const { name: _name, tenant_id: _tenant, ...settings } = SourceInput.properties;
/** The name stands in the path; in the body it may be repeated. */
const PutBody = Type.Object(
  { ...SourceInput.properties, name: Type.Optional(Type.String()) },
  { additionalProperties: false },
);
/** Null takes away what has no other word for nothing. */
export const SourceChange = Type.Object(
  {
    ...settings,
    event_type: Type.Optional(Type.Union([settings.event_type, Type.Null()])),
    id_from: Type.Optional(Type.Union([settings.id_from, Type.Null()])),
    ordering_key_from: Type.Optional(Type.Union([settings.ordering_key_from, Type.Null()])),
    priority_from: Type.Optional(Type.Union([settings.priority_from, Type.Null()])),
  },
  { additionalProperties: false },
);
const Name = Type.Object({ name: Type.String({ pattern: SOURCE_NAME_PATTERN }) });
const ListQuery = Type.Object(
  {
    ...PageQuery,
    tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
    kind: Type.Optional(Type.String({ maxLength: 32 })),
    status: Type.Optional(Type.Union(SOURCE_STATUSES.map((status) => Type.Literal(status)))),
  },
  { additionalProperties: false },
);

export interface SourceRoutesOptions {
  sources: Sources;
}

export function addSourceRoutes(app: FastifyInstance, { sources }: SourceRoutesOptions): void {
  const send = (reply: FastifyReply, entry: Entry<SourceRecord>) => sendEntry(reply, entry, presentSource);

  /** With the path token, which else only its own route shows. */
  const sendCreated = (reply: FastifyReply, entry: Entry<SourceRecord>) =>
    sendEntry(reply.code(201).header("cache-control", "no-store"), entry, (record) => ({
      ...presentSource(record),
      path_token: record.source.pathToken ?? null,
    }));

  /** A tenant's key sets its own tenant and no other. */
  function ofTenant(body: SourceInput, bound: string | undefined): SourceInput {
    if (bound === undefined) return body;
    if (body.tenant_id !== undefined && body.tenant_id !== bound) {
      throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`);
    }
    return { ...body, tenant_id: bound };
  }

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/sources",
    { config: { scope: "read" }, schema: { summary: "List sources", querystring: ListQuery } },
    async ({ caller, query }) => {
      const { limit, cursor = "" } = pageOf(query);
      const rest = sources
        .list(caller?.tenantId ?? query.tenant_id)
        .filter(({ source }) => source.name > cursor)
        .filter(({ source }) => query.kind === undefined || source.kind === query.kind)
        .filter(({ source }) => query.status === undefined || source.status === query.status);
      const rows = rest.slice(0, limit);
      const nextCursor = rest.length > limit ? rows.at(-1)?.source.name : undefined;
      return presentPage({ rows, nextCursor }, presentSource);
    },
  );

  app.post<{ Body: SourceInput }>(
    "/api/v1/sources",
    { config: { scope: "admin" }, schema: { summary: "Make a source", body: SourceInput } },
    async (request, reply) => {
      const input = ofTenant(request.body, request.caller?.tenantId);
      const by = request.caller;
      const once = readOnce(request, `sources ${by?.tenantId ?? ""}`);
      const { entry, isReplay } = await sources.create(input, { tenantId: by?.tenantId }, once);
      if (isReplay) void reply.header("idempotency-replayed", "true");
      return sendCreated(reply, entry);
    },
  );

  app.get<{ Params: { name: string } }>(
    "/api/v1/sources/:name",
    { config: { scope: "read" }, schema: { summary: "Read a source" } },
    async ({ params, caller }, reply) => send(reply, sources.get(params.name, caller?.tenantId)),
  );

  app.put<{ Params: { name: string }; Body: Static<typeof PutBody> }>(
    "/api/v1/sources/:name",
    { config: { scope: "admin" }, schema: { summary: "Make or replace a source", body: PutBody, params: Name } },
    async (request, reply) => {
      const { name } = request.params;
      const { body } = request;
      if (body.name !== undefined && body.name !== name) throw wrong("name", `must be ${name}, as in the path`);
      const input = ofTenant({ ...body, name }, request.caller?.tenantId);
      const { entry, isNew } = await sources.put(input, readMeant(request));
      return isNew ? sendCreated(reply, entry) : send(reply, entry);
    },
  );

  app.patch<{ Params: { name: string }; Body: Static<typeof SourceChange> }>(
    "/api/v1/sources/:name",
    { config: { scope: "admin" }, schema: { summary: "Change a source", body: SourceChange } },
    async (request, reply) => send(reply, await sources.change(request.params.name, request.body, readMeant(request))),
  );

  app.delete<{ Params: { name: string } }>(
    "/api/v1/sources/:name",
    { config: { scope: "admin" }, schema: { summary: "Delete a source" } },
    async (request) => {
      await sources.remove(request.params.name, readMeant(request));
      return { name: request.params.name };
    },
  );

  const acts: readonly [act: string, status: SourceStatus, summary: string][] = [
    ["pause", "paused", "Pause a source: its senders get 503 and come again"],
    ["resume", "active", "Take webhooks of a source again"],
    ["close", "closed", "Close a source: its senders get 410"],
  ];
  for (const [act, status, summary] of acts) {
    app.post<{ Params: { name: string } }>(
      `/api/v1/sources/:name/${act}`,
      { config: { scope: "admin" }, schema: { summary } },
      async (request, reply) => send(reply, await sources.setStatus(request.params.name, status, readMeant(request))),
    );
  }
}

export function readMeant(request: FastifyRequest): Meant {
  return { tenantId: request.caller?.tenantId, ifMatch: readIfMatch(request) };
}

function wrong(field: string, message: string): PosthornError {
  return new PosthornError("invalid_field", `${field}: ${message}.`, { field });
}
