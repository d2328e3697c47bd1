import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { oneOf } from "../../domain/shape.ts";
import { SOURCE_STATUSES, SourceChange, SourceInput, type SourceStatus } from "../../domain/source.ts";
import type { Entry } from "../../registry/resource.ts";
import type { SourceRecord } from "../../registry/sources/source-record.ts";
import type { Sources } from "../../registry/sources/sources.ts";
import { presentSource } from "../present/source.ts";
import { cutPage, pageQuery } from "./paging.ts";
import { addResourceRoutes, asked, type Saved } from "./resource-routes.ts";

const ListQuery = pageQuery({
  tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
  kind: Type.Optional(Type.String({ maxLength: 32 })),
  status: Type.Optional(oneOf(SOURCE_STATUSES)),
});
type ListQuery = Static<typeof ListQuery>;

export interface SourceRoutesOptions {
  sources: Sources;
}

export function addSourceRoutes(app: FastifyInstance, { sources }: SourceRoutesOptions): void {
  /** A new one with its path token, which else only its own route shows. */
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
    async make(input, { tenantId, once }) {
      const { entry, isReplay } = await sources.create(input, { tenantId }, once(`sources ${tenantId ?? ""}`));
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
    ["pause", "paused", "Pause a source: its senders get 503 and come again"],
    ["resume", "active", "Take webhooks of a source again"],
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
}
