import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import {
  EVENT_VERSION_PATTERN,
  EventTypeChange,
  EventTypeInput,
  EventTypeVersionContent,
  type EventType,
} from "../../model/event-type.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../model/event.ts";
import { oneOf } from "../../model/shape.ts";
import { exportOpenApi } from "../../resources/event-types/event-types-export.ts";
import { readOpenApi } from "../../resources/event-types/event-types-import.ts";
import type { EventTypes } from "../../resources/event-types/event-types.ts";
import type { Caller } from "../../resources/keys.ts";
import type { Entry } from "../../resources/resource.ts";
import { presentEventType } from "../present/event-type.ts";
import { cutPage, pageQuery } from "./paging.ts";
import { addResourceRoutes } from "./resource-routes.ts";

const ListQuery = pageQuery({
  cursor: Type.Optional(Type.String({ maxLength: 255, description: "`next_cursor` of the previous page" })),
  status: Type.Optional(oneOf(["active", "deprecated"])),
});
type ListQuery = Static<typeof ListQuery>;
const ImportQuery = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ default: false, description: "Only show what would change" })) },
  { additionalProperties: false },
);
const VersionParams = Type.Object({ name: Type.String(), version: Type.String({ pattern: EVENT_VERSION_PATTERN }) });

const PATH = "/api/v1/event-types";
/** All tenants share one registry. */
const OPERATOR = { scope: "admin", unbound: true } as const;
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_IMPORT_BYTES = 32 * 1024 * 1024;

export interface EventTypeRoutesOptions {
  eventTypes: EventTypes;
}

export function addEventTypeRoutes(app: FastifyInstance, options: EventTypeRoutesOptions): void {
  const { eventTypes } = options;
  /** For partners it is another text. */
  const exported: Partial<Record<"own" | "partner", { of: readonly EventType[]; json: string }>> = {};

  const send = addResourceRoutes<Entry<EventType>, EventType, EventTypeInput, EventTypeChange, ListQuery>(app, {
    path: PATH,
    key: "name",
    words: ["an event type", "event types"],
    summaries: { make: "Create an event type", replace: "Create or replace an event type" },
    readers: { scope: "read" },
    writers: OPERATOR,
    input: EventTypeInput,
    change: EventTypeChange,
    query: ListQuery,
    maxBodyBytes: MAX_BODY_BYTES,
    list(query, { caller }) {
      const { cursor = "", status: wanted } = query;
      const rest = eventTypes
        .list()
        .filter(({ name, status }) => name > cursor && (wanted === undefined || wanted === status));
      return {
        page: cutPage(rest, query, ({ name }) => name),
        present: (type) => presentEventType(shownTo(caller, type)),
      };
    },
    get: (name) => eventTypes.get(name),
    async make(input, { once }) {
      const { entry, isReplay } = await eventTypes.create(input, once("event-types"));
      return { thing: entry, isReplay };
    },
    async put(input, { ifMatch }) {
      refuseName(input.name);
      const { entry, isNew } = await eventTypes.put(input, ifMatch);
      return { thing: entry, isNew };
    },
    patch: async (name, change, { ifMatch }) => ({ thing: await eventTypes.change(name, change, ifMatch) }),
    remove: (name, { ifMatch }) => eventTypes.remove(name, ifMatch),
    present: ({ thing }, caller) => presentEventType(shownTo(caller, thing)),
  });

  app.get(
    `${PATH}/export`,
    { config: { scope: "read" }, schema: { summary: "Export event types as OpenAPI webhooks" } },
    async ({ caller }, reply) => {
      const types = eventTypes.list();
      const whose = caller?.isPartner === true ? "partner" : "own";
      // Large when there are thousands of types, so it is written once for each version of the registry.
      let known = exported[whose];
      if (known?.of !== types) {
        const shown = types.map((type) => shownTo(caller, type));
        exported[whose] = known = { of: types, json: JSON.stringify(exportOpenApi(shown)) };
      }
      return reply.type("application/json").send(known.json);
    },
  );

  app.post<{ Body: object; Querystring: Static<typeof ImportQuery> }>(
    `${PATH}/import`,
    {
      config: OPERATOR,
      schema: {
        summary: "Import event types from OpenAPI webhooks",
        body: Type.Object({}, { description: "An OpenAPI 3.1 document" }),
        querystring: ImportQuery,
      },
      bodyLimit: MAX_IMPORT_BYTES,
    },
    async (request) => {
      const dryRun = request.query.dry_run === true;
      return { dry_run: dryRun, ...(await eventTypes.import(readOpenApi(request.body as object), { dryRun })) };
    },
  );

  app.put<{ Params: Static<typeof VersionParams>; Body: EventTypeVersionContent }>(
    `${PATH}/:name/versions/:version`,
    {
      config: OPERATOR,
      schema: {
        summary: "Create or replace a version of an event type",
        params: VersionParams,
        body: EventTypeVersionContent,
      },
    },
    async (request, reply) => {
      const { name, version } = request.params;
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await eventTypes.putVersion(name, version, request.body, ifMatch) });
    },
  );

  app.delete<{ Params: Static<typeof VersionParams> }>(
    `${PATH}/:name/versions/:version`,
    { config: OPERATOR, schema: { summary: "Delete a version of an event type", params: VersionParams } },
    async (request, reply) => {
      const { name, version } = request.params;
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await eventTypes.removeVersion(name, version, ifMatch) });
    },
  );
}

/** Who else sends and gets such events is no business of a partner's. */
function shownTo(caller: Caller | undefined, type: EventType): EventType {
  return caller?.isPartner === true ? { ...type, producer: undefined, consumers: [] } : type;
}

const NAME = new RegExp(EVENT_TYPE_PATTERN);

function refuseName(name: string): void {
  if (NAME.test(name) && name.length <= EVENT_TYPE_MAX_LENGTH) return;
  const shown = JSON.stringify(name.slice(0, 60));
  throw new PosthornError("invalid_field", `${shown} is not an event type. Write words separated by dots.`, {
    field: "name",
  });
}
