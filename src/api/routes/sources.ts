import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { fillIn, oneOf, withDefault } from "../../model/shape.ts";
import { SOURCE_STATUSES, SourceChange, SourceInput, type SourceStatus } from "../../model/source.ts";
import type { Caller } from "../../resources/keys.ts";
import type { Entry } from "../../resources/resource.ts";
import type { SourceRecord } from "../../resources/sources/source-record.ts";
import type { Sources } from "../../resources/sources/sources.ts";
import { onceScope } from "../once.ts";
import { presentSource } from "../present/source.ts";
import { cutPage, pageQuery } from "./paging.ts";
import { addResourceRoutes, asked, type Saved } from "./resource-routes.ts";

const ListQuery = pageQuery({
  tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
  kind: Type.Optional(Type.String({ maxLength: 32 })),
  status: Type.Optional(oneOf(SOURCE_STATUSES)),
});
type ListQuery = Static<typeof ListQuery>;

const RotateBody = Type.Object(
  {
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: "The secret that the sender uses; generated if you leave it out",
      }),
    ),
    overlap_s: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 31_536_000,
        description: "How many seconds earlier secrets stay valid; 0 ends them at once",
      }),
      1_209_600,
    ),
  },
  { additionalProperties: false },
);

export interface SourceRoutesOptions {
  sources: Sources;
  /** Called when somebody read the path token. */
  onTokenRead: (record: SourceRecord, caller: Caller | undefined) => Promise<void>;
  /** Called when somebody changed the secrets of the source. */
  onSecretsChanged: (record: SourceRecord, what: "rotated" | "retired", caller: Caller | undefined) => void;
}

export function addSourceRoutes(app: FastifyInstance, options: SourceRoutesOptions): void {
  const { sources } = options;
  /** A new source with its path token, which otherwise only its own route shows. */
  const saved = (thing: Entry<SourceRecord>, isNew: boolean): Saved<Entry<SourceRecord>> => ({
    thing,
    isNew,
    more: isNew ? { path_token: thing.thing.source.pathToken ?? null } : {},
  });

  const send = addResourceRoutes<Entry<SourceRecord>, SourceRecord, SourceInput, SourceChange, ListQuery>(app, {
    path: "/api/v1/sources",
    key: "name",
    words: ["a source", "sources"],
    readers: { scope: "read" },
    writers: { scope: "admin" },
    input: SourceInput,
    change: SourceChange,
    query: ListQuery,
    chosenKey: SourceInput.properties.name,
    list(query, { tenantId }) {
      const { cursor = "", kind, status } = query;
      const rest = sources
        .list(tenantId)
        .filter(({ source }) => source.name > cursor)
        .filter(({ source }) => kind === undefined || source.kind === kind)
        .filter(({ source }) => status === undefined || source.status === status);
      return { page: cutPage(rest, query, ({ source }) => source.name), present: presentSource };
    },
    get: (name, { tenantId }) => sources.get(name, tenantId),
    async make(input, { tenantId, caller, once }) {
      const mark = once(onceScope("sources", tenantId ?? "", caller));
      const { entry, isReplay } = await sources.create(input, { tenantId }, mark);
      return { ...saved(entry, true), isReplay };
    },
    async put(input, by) {
      const { entry, isNew } = await sources.put(input, by);
      return saved(entry, isNew);
    },
    patch: async (name, change, by) => saved(await sources.change(name, change, by), false),
    async remove(name, by) {
      await sources.remove(name, by);
      return { gone: { name } };
    },
    present: ({ thing }) => presentSource(thing),
  });

  const acts: readonly [act: string, status: SourceStatus, summary: string][] = [
    ["pause", "paused", "Pause a source: its senders get 503 and retry"],
    ["resume", "active", "Resume a source"],
    ["close", "closed", "Close a source: its senders get 410"],
  ];
  for (const [act, status, summary] of acts) {
    app.post<{ Params: { name: string } }>(
      `/api/v1/sources/:name/${act}`,
      { config: { scope: "admin" }, schema: { summary } },
      async (request, reply) =>
        send(reply, { thing: await sources.setStatus(request.params.name, status, asked(request)) }),
    );
  }

  app.post<{ Params: { name: string }; Body: Static<typeof RotateBody> | undefined }>(
    "/api/v1/sources/:name/rotate-secret",
    {
      config: { scope: "admin" },
      schema: { summary: "Rotate the secret of a source", body: Type.Union([RotateBody, Type.Null()]) },
    },
    async (request, reply) => {
      const { secret: given, overlap_s: overlapS } = fillIn(RotateBody.properties, request.body ?? {});
      const rotation = { secret: given ?? undefined, overlapMs: overlapS * 1000 };
      const { entry, secret } = await sources.rotateSecret(request.params.name, rotation, asked(request));
      options.onSecretsChanged(entry.thing, "rotated", request.caller);
      return send(reply, { thing: entry, more: { secret } });
    },
  );

  app.delete<{ Params: { name: string; id: string } }>(
    "/api/v1/sources/:name/secrets/:id",
    { config: { scope: "admin" }, schema: { summary: "Delete a secret of a source at once" } },
    async (request, reply) => {
      const { name, id } = request.params;
      const entry = await sources.retireSecret(name, id, asked(request));
      options.onSecretsChanged(entry.thing, "retired", request.caller);
      return send(reply, { thing: entry });
    },
  );

  app.get<{ Params: { name: string } }>(
    "/api/v1/sources/:name/path-token",
    { config: { scope: "admin" }, schema: { summary: "Get the webhook path of a source" } },
    async (request, reply) => {
      const { thing: record } = sources.get(request.params.name, request.caller?.tenantId);
      const { name, pathToken } = record.source;
      if (pathToken === undefined) throw new PosthornError("not_found", `The source ${name} has no path token.`);
      await options.onTokenRead(record, request.caller);
      return reply.send({ name, path_token: pathToken, path: `/webhook/${name}/${pathToken}` });
    },
  );
}
