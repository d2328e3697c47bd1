import type { FastifyInstance, FastifyReply } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import {
  EVENT_VERSION_PATTERN,
  EventTypeChange,
  EventTypeInput,
  EventTypeVersionContent,
  type EventType,
} from "../../domain/event-type.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../domain/event.ts";
import { exportOpenApi } from "../../registry/event-types/event-types-export.ts";
import { readOpenApi } from "../../registry/event-types/event-types-import.ts";
import type { EventTypes } from "../../registry/event-types/event-types.ts";
import type { Entry } from "../../registry/resource.ts";
import { readIfMatch, sendEntry } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentEventType } from "../present/event-type.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const ListQuery = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(Type.String({ maxLength: 255, description: "`next_cursor` of the page before" })),
    status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("deprecated")])),
  },
  { additionalProperties: false },
);
const ImportQuery = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ default: false, description: "Only tell what would change" })) },
  { additionalProperties: false },
);
const { name: _, ...unnamed } = EventTypeInput.properties;
/** The name stands in the path; a body that was read before may be sent back with it. */
const PutBody = Type.Object({ name: Type.Optional(Type.String()), ...unnamed }, { additionalProperties: false });
const VersionParams = Type.Object({ name: Type.String(), version: Type.String({ pattern: EVENT_VERSION_PATTERN }) });

const PATH = "/api/v1/event-types";
/** The registry is one for all tenants. */
const OPERATOR = { scope: "admin", unbound: true } as const;
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_IMPORT_BYTES = 32 * 1024 * 1024;

export interface EventTypeRoutesOptions {
  eventTypes: EventTypes;
}

export function addEventTypeRoutes(app: FastifyInstance, options: EventTypeRoutesOptions): void {
  const { eventTypes } = options;
  let exported: { of: readonly EventType[]; json: string } | undefined;

  const send = (reply: FastifyReply, entry: Entry<EventType>) => sendEntry(reply, entry, presentEventType);

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    PATH,
    { config: { scope: "read" }, schema: { summary: "List event types", querystring: ListQuery } },
    async ({ query }) => {
      const { limit, cursor = "" } = pageOf(query);
      const rest = eventTypes
        .list()
        .filter(({ name, status }) => name > cursor && (query.status === undefined || query.status === status));
      const rows = rest.slice(0, limit);
      return presentPage({ rows, nextCursor: rest.length > limit ? rows.at(-1)?.name : undefined }, presentEventType);
    },
  );

  app.post<{ Body: EventTypeInput }>(
    PATH,
    {
      config: OPERATOR,
      schema: { summary: "Register an event type", body: EventTypeInput },
      bodyLimit: MAX_BODY_BYTES,
    },
    async (request, reply) => {
      const { entry, isReplay } = await eventTypes.create(request.body, readOnce(request, "event-types"));
      if (isReplay) void reply.header("idempotency-replayed", "true");
      return send(reply.code(201), entry);
    },
  );

  // Before the names: a type that is called export or import is found in the list.
  app.get(
    `${PATH}/export`,
    { config: { scope: "read" }, schema: { summary: "Export event types as OpenAPI webhooks" } },
    async (_request, reply) => {
      const types = eventTypes.list();
      // Of thousands of types it is large: written once for each state of the registry.
      if (exported?.of !== types) exported = { of: types, json: JSON.stringify(exportOpenApi(types)) };
      return reply.type("application/json").send(exported.json);
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

  app.get<{ Params: { name: string } }>(
    `${PATH}/:name`,
    { config: { scope: "read" }, schema: { summary: "Read an event type" } },
    async ({ params }, reply) => send(reply, eventTypes.get(params.name)),
  );

  app.put<{ Params: { name: string }; Body: Static<typeof PutBody> }>(
    `${PATH}/:name`,
    {
      config: OPERATOR,
      schema: { summary: "Register or replace an event type", body: PutBody },
      bodyLimit: MAX_BODY_BYTES,
    },
    async (request, reply) => {
      const { name } = request.params;
      const { name: given, ...rest } = request.body;
      if (given !== undefined && given !== name) throw invalidName(`name is ${given}, but the path says ${name}.`);
      if (!NAME.test(name) || name.length > EVENT_TYPE_MAX_LENGTH) {
        throw invalidName(`${JSON.stringify(name.slice(0, 60))} is no event type: write words with dots between them.`);
      }
      const { entry, isNew } = await eventTypes.put({ name, ...rest }, readIfMatch(request));
      return send(reply.code(isNew ? 201 : 200), entry);
    },
  );

  app.patch<{ Params: { name: string }; Body: EventTypeChange }>(
    `${PATH}/:name`,
    { config: OPERATOR, schema: { summary: "Change an event type", body: EventTypeChange } },
    async (request, reply) => {
      return send(reply, await eventTypes.change(request.params.name, request.body, readIfMatch(request)));
    },
  );

  app.delete<{ Params: { name: string } }>(
    `${PATH}/:name`,
    { config: OPERATOR, schema: { summary: "Delete an event type" } },
    async (request, reply) => {
      await eventTypes.remove(request.params.name, readIfMatch(request));
      return reply.code(204).send();
    },
  );

  app.put<{ Params: Static<typeof VersionParams>; Body: EventTypeVersionContent }>(
    `${PATH}/:name/versions/:version`,
    {
      config: OPERATOR,
      schema: { summary: "Add or replace a version", params: VersionParams, body: EventTypeVersionContent },
    },
    async (request, reply) => {
      const { name, version } = request.params;
      return send(reply, await eventTypes.putVersion(name, version, request.body, readIfMatch(request)));
    },
  );

  app.delete<{ Params: Static<typeof VersionParams> }>(
    `${PATH}/:name/versions/:version`,
    { config: OPERATOR, schema: { summary: "Delete a version", params: VersionParams } },
    async (request, reply) => {
      const { name, version } = request.params;
      return send(reply, await eventTypes.removeVersion(name, version, readIfMatch(request)));
    },
  );
}

const NAME = new RegExp(EVENT_TYPE_PATTERN);

function invalidName(message: string): PosthornError {
  return new PosthornError("invalid_field", message, { field: "name" });
}
