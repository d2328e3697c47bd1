import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { SOURCE_NAME_PATTERN, SOURCE_STATUSES, SourceInput, type SourceStatus } from "../../domain/source.ts";
import type { SourceRecord, Sources } from "../../manage/sources.ts";
import type { Store } from "../../store/store.ts";
import { checkIfMatch, etagOf, sendWithEtag } from "../conditional.ts";
import { makeOnce } from "../make-once.ts";
import { presentSource, presentUsedSource } from "../present/source.ts";
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
  store: Pick<Store, "findIdempotencyKey">;
  clock: Pick<Clock, "wall">;
}

export function addSourceRoutes(app: FastifyInstance, { sources, store, clock }: SourceRoutesOptions): void {
  const etag = (record: SourceRecord) => etagOf(presentSource(record));
  const send = (reply: FastifyReply, record: SourceRecord) =>
    sendWithEtag(reply, etag(record), presentUsedSource(record));

  /** With the path token, which else only its own route shows. */
  const sendCreated = (reply: FastifyReply, record: SourceRecord) =>
    sendWithEtag(reply.code(201).header("cache-control", "no-store"), etag(record), {
      ...presentUsedSource(record),
      path_token: record.source.pathToken ?? null,
    });

  /** What another tenant has is not there; and a change is meant for the version that was read. */
  const checkMeant = (request: FastifyRequest) => (known: SourceRecord | undefined) => {
    if (known !== undefined) sources.get(known.source.name, request.caller?.tenantId);
    checkIfMatch(request, known === undefined ? undefined : etag(known));
  };

  /** A tenant's key sets its own tenant and no other. */
  function ofTenant(body: SourceInput, bound: string | undefined): SourceInput {
    if (bound === undefined) return body;
    if (body.tenant_id !== undefined && body.tenant_id !== bound) {
      throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`);
    }
    return { ...body, tenant_id: bound };
  }

  /** Whoever declares a name gets its webhooks: those of `*` are another tenant's, and nobody else may take them. */
  function refuseTakeover({ name }: SourceInput, bound: string | undefined): void {
    const isTheirs = bound === undefined || bound === DEFAULT_TENANT;
    if (isTheirs || !sources.isOpenToAny || sources.findDeclared(name, undefined) !== undefined) return;
    throw new PosthornError(
      "forbidden",
      `Webhooks to "${name}" are taken by the * source for the tenant ${DEFAULT_TENANT}, and a key that is bound to ` +
        `${bound} cannot take them over. Ask for the source with a key that is bound to no tenant ` +
        `(tenant_id: ${bound}), or for any_source: false.`,
    );
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
      return presentPage({ rows, nextCursor }, presentUsedSource);
    },
  );

  app.post<{ Body: SourceInput }>(
    "/api/v1/sources",
    { config: { scope: "admin" }, schema: { summary: "Make a source", body: SourceInput } },
    async (request, reply) => {
      const input = ofTenant(request.body, request.caller?.tenantId);
      const result = await makeOnce(request, {
        store,
        scope: `sources ${request.caller?.tenantId ?? ""}`,
        wall: clock.wall(),
        make: (mark) => {
          refuseTakeover(input, request.caller?.tenantId);
          return sources.create(input, mark && { ...mark, madeId: input.name });
        },
        find: async (name) => sources.findDeclared(name, request.caller?.tenantId),
      });
      if ("made" in result) return sendCreated(reply, result.made);
      return sendCreated(reply.header("idempotency-replayed", "true"), result.found);
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
      const checkKnown = checkMeant(request);
      const { record, isNew } = await sources.put(input, (known) => {
        checkKnown(known);
        refuseTakeover(input, request.caller?.tenantId);
        const owner = known?.source.tenantId;
        if (owner !== undefined && (input.tenant_id ?? owner) !== owner) {
          throw wrong("tenant_id", `it belongs to ${owner}, for good`);
        }
      });
      return isNew ? sendCreated(reply, record) : send(reply, record);
    },
  );

  app.patch<{ Params: { name: string }; Body: Static<typeof SourceChange> }>(
    "/api/v1/sources/:name",
    { config: { scope: "admin" }, schema: { summary: "Change a source", body: SourceChange } },
    async (request, reply) => send(reply, await sources.change(request.params.name, request.body, checkMeant(request))),
  );

  app.delete<{ Params: { name: string } }>(
    "/api/v1/sources/:name",
    { config: { scope: "admin" }, schema: { summary: "Delete a source" } },
    async (request) => {
      await sources.remove(request.params.name, checkMeant(request));
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
      async (request, reply) => send(reply, await sources.setStatus(request.params.name, status, checkMeant(request))),
    );
  }
}

function wrong(field: string, message: string): PosthornError {
  return new PosthornError("invalid_field", `${field}: ${message}.`, { field });
}
