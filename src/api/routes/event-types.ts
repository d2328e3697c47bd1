import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { invalidField } from "../../model/errors.ts";
import {
  EVENT_VERSION_PATTERN,
  EventTypeChange,
  EventTypeInput,
  EventTypeVersionContent,
  type EventType,
  type EventType as KnownType,
  type EventTypeVersion,
} from "../../model/event-type.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../model/event.ts";
import { oneOf } from "../../model/shape.ts";
import { exportOpenApi, readOpenApi } from "../../resources/event-types/event-types-openapi.ts";
import type { Caller } from "../../resources/keys.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { createPlainPage, escapeText } from "../plain-page.ts";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { cutPage, isoTime, presentAs } from "../present.ts";
import { addResourceRoutes } from "./resource-routes.ts";
import { OPEN, OPERATOR, READ, routesOf, type Parts } from "./route.ts";

Doc.named("EventTypeInput", EventTypeInput);
Doc.named("EventTypeChange", EventTypeChange);
Doc.named("EventTypeVersionContent", EventTypeVersionContent);

const schema = { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } };
const example = { order_id: 1001 };

const Version = Doc.closed(() => ({
  version: Doc.text("1.0"),
  schema: Type.With(Doc.Anything, { examples: [schema] }),
  example: Type.Unknown({ examples: [example] }),
  created_at: Doc.Time,
}));

const EventType = Doc.shape("EventType", () => ({
  ...Doc.shownFields(EventTypeInput),
  deprecated_at: Doc.nullable(Doc.Time),
  versions: Type.Array(Version),
  managed_by: Doc.ManagedByDocs,
  created_at: Doc.Time,
  updated_at: Doc.Time,
}));

const facts = { description: "A customer has placed an order", producer: "shop" };
const given = { ...facts, versions: [{ version: "1.0", schema, example }] };

const OPENAPI = {
  openapi: "3.1.0",
  info: { title: "Event types", version: "1" },
  webhooks: {
    "order.shipped": { post: { description: "An order has left", responses: { "2XX": { description: "Received" } } } },
  },
};

const params = { name: EXAMPLE.eventType };
const shown = () => ({ schema: EventType, headers: Doc.ETAG });
const change = ["managed_by_config", "precondition_failed"] as const;

const ListQuery = Doc.pageQuery({
  cursor: Type.String({ maxLength: 255, description: "`next_cursor` of the previous page" }),
  status: oneOf(["active", "deprecated"]),
});
const ImportQuery = Doc.optional({
  dry_run: Type.Boolean({ default: false, description: "Only show what would change" }),
});
const VersionParams = Type.Object({ name: Type.String(), version: Type.String({ pattern: EVENT_VERSION_PATTERN }) });

const PATH = "/api/v1/event-types";
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_IMPORT_BYTES = 32 * 1024 * 1024;

export function addEventTypeRoutes(app: FastifyInstance, { eventTypes }: Parts): void {
  const route = routesOf(app, "Event types");
  /** For partners it is another text. */
  const exported: Partial<Record<"own" | "partner", { of: readonly KnownType[]; json: string }>> = {};

  const send = addResourceRoutes(route, {
    path: PATH,
    key: "name",
    words: ["an event type", "event types"],
    summaries: { make: "Create an event type", replace: "Create or replace an event type" },
    readers: READ,
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
        present: (type: KnownType) => presentEventType(shownTo(caller, type)),
      };
    },
    get: (name) => eventTypes.get(name),
    async make(input, { once }) {
      const { entry, isReplay } = await eventTypes.create(input, once("event-types"));
      return { thing: entry, isReplay };
    },
    async put(input, { ifMatch }) {
      rejectName(input.name);
      const { entry, isNew } = await eventTypes.put(input, ifMatch);
      return { thing: entry, isNew };
    },
    patch: async (name, change: EventTypeChange, { ifMatch }) => ({
      thing: await eventTypes.change(name, change, ifMatch),
    }),
    remove: (name, { ifMatch }) => eventTypes.remove(name, ifMatch),
    present: ({ thing }, caller) => presentEventType(shownTo(caller, thing)),
    docs: () => ({
      params: params,
      schema: EventType,
      made: { description: "Registered" },
      refusals: ["managed_by_config"],
      list: { answer: { description: "Event types, sorted by name" } },
      make: { request: { name: EXAMPLE.newEventType, ...given }, answer: { example: { name: EXAMPLE.newEventType } } },
      read: { answer: { description: "The event type" } },
      replace: { request: given, errors: ["conflict"] },
      change: { request: facts },
      remove: { answer: { status: 204, description: "Deleted; events of this type are no longer validated" } },
    }),
  });

  route(`GET ${PATH}/export`, READ, "Export event types as OpenAPI webhooks", {
    answer: () =>
      Doc.shows(
        Type.Object(
          { openapi: Type.String(), info: Doc.Anything, jsonSchemaDialect: Type.String(), webhooks: Doc.Anything },
          { additionalProperties: true },
        ),
        "An OpenAPI 3.1 document with a webhook for each event type",
        { jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema", ...OPENAPI },
      ),
    async handle({ caller }, reply) {
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
  });

  route(`POST ${PATH}/import`, OPERATOR, "Import event types from OpenAPI webhooks", {
    body: Type.Object({}, { description: "An OpenAPI 3.1 document" }),
    query: ImportQuery,
    bodyLimit: MAX_IMPORT_BYTES,
    description: "Imports all event types, or none if one is invalid. The document may have at most 32 MiB.",
    example: { query: { dry_run: true }, body: OPENAPI },
    answer: () =>
      Doc.shows(
        Doc.closed({
          dry_run: Type.Boolean(),
          created: Type.Array(Type.String()),
          updated: Type.Array(Type.String()),
          unchanged: Type.Array(Type.String()),
        }),
        "The changes that were made; with `dry_run`, the changes that would be made",
        { dry_run: true, created: ["order.shipped"], updated: [], unchanged: [] },
      ),
    errors: ["managed_by_config"],
    async handle(request) {
      const dryRun = request.query.dry_run === true;
      return { dry_run: dryRun, ...(await eventTypes.import(readOpenApi(request.body as object), { dryRun })) };
    },
  });

  route(`PUT ${PATH}/:name/versions/:version`, OPERATOR, "Create or replace a version of an event type", {
    params: VersionParams,
    body: EventTypeVersionContent,
    example: { params: { ...params, version: "1.0" }, body: { schema, example } },
    headers: Doc.IF_MATCH,
    answer: () => ({ ...shown(), description: "The event type with that version" }),
    errors: change,
    async handle(request, reply) {
      const { name, version } = request.params;
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await eventTypes.putVersion(name, version, request.body, ifMatch) });
    },
  });

  route(`DELETE ${PATH}/:name/versions/:version`, OPERATOR, "Delete a version of an event type", {
    params: VersionParams,
    example: { params: { ...params, version: "1.0" } },
    headers: Doc.IF_MATCH,
    answer: () => ({ ...shown(), description: "The event type without that version", example: { versions: [] } }),
    errors: change,
    async handle(request, reply) {
      const { name, version } = request.params;
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await eventTypes.removeVersion(name, version, ifMatch) });
    },
  });
}

/** Who else sends and gets such events is no business of a partner's. */
function shownTo(caller: Caller | undefined, type: KnownType): KnownType {
  return caller?.isPartner === true ? { ...type, producer: undefined, consumers: [] } : type;
}

const NAME = new RegExp(EVENT_TYPE_PATTERN);

function rejectName(name: string): void {
  if (NAME.test(name) && name.length <= EVENT_TYPE_MAX_LENGTH) return;
  const shown = JSON.stringify(name.slice(0, 60));
  throw invalidField("name", `${shown} is not an event type. Write words separated by dots.`);
}

function presentEventType(type: KnownType) {
  const versions = type.versions.map((one) => presentAs(Version, { ...one, example: one.example ?? null }));
  return presentAs(EventType, { ...type, mask: type.mask ?? [], versions });
}

const PARTS_IN_A_TURN = 20;

/** The page for partners. It exists only if the operator makes it public. */
export function addCatalogRoute(app: FastifyInstance, { eventTypes }: Parts): void {
  const route = routesOf(app, "Event types");
  let made: { of: readonly EventType[]; page: Promise<Prepared> } | undefined;

  route("GET /catalog", OPEN, "Show the event catalogue for partners", {
    description: "A page for partners. It is available only while the setting `catalog_public` is on.",
    answer: () => ({
      description: "The page with all event types",
      schema: Type.String(),
      contentType: "text/html",
      example: "<!doctype html>…",
    }),
    async handle(request, reply) {
      const types = eventTypes.list();
      // Rendered once for each version of the registry.
      if (made?.of !== types) made = { of: types, page: make(types) };
      return sendPrepared(request, reply, await made.page);
    },
  });
}

async function make(types: readonly EventType[]): Promise<Prepared> {
  const parts: string[] = [];
  for (const part of writeCatalog(types)) {
    parts.push(part);
    if (parts.length % PARTS_IN_A_TURN === 0) await nextTurn();
  }
  return prepare(parts.join(""), CATALOG_PAGE.headers);
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #777; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0 0 .25rem; }
h2 { font: 600 1.1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; }
nav ul { columns: 16rem; padding: 0; list-style: none; font: .9rem ui-monospace, monospace; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt, .dim { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { overflow: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; font-size: .85rem; }
.deprecated { color: #b45309; }
`;

export const CATALOG_PAGE = createPlainPage({ style: STYLE });

/** Yields one part per type, because with thousands of types the page is long. */
export function* writeCatalog(types: readonly EventType[]): Generator<string, void> {
  const list = types.map(({ name }) => `<li><a href="#${name}">${escapeText(name)}</a></li>`);
  yield `${CATALOG_PAGE.begin("Event catalogue")}<h1>Event catalogue</h1>
<p class="dim">${types.length === 1 ? "1 event type" : `${types.length} event types`}</p>
<nav aria-label="Event types"><ul>${list.join("")}</ul></nav>
<main>
`;
  for (const type of types) yield `${renderType(type)}\n`;
  yield `</main>\n${CATALOG_PAGE.end}`;
}

function renderType(type: EventType): string {
  // Producer and consumers are left out, as in the portal: who else sends and gets such events is no business of a partner's.
  const versions = type.versions.map(({ version }) => version).join(", ");
  return `<article id="${type.name}">
<h2><a href="#${type.name}">${escapeText(type.name)}</a></h2>
${type.status === "deprecated" ? renderDeprecation(type) : ""}
${type.description === undefined ? "" : `<p>${escapeText(type.description)}</p>`}
${versions === "" ? "" : `<dl><dt>Versions</dt><dd>${escapeText(versions)}</dd></dl>`}
${[...type.versions].reverse().map(renderVersion).join("\n")}
</article>`;
}

function renderDeprecation({ deprecatedAt, replacedBy }: EventType): string {
  const since = deprecatedAt === undefined ? "" : ` since ${isoTime(deprecatedAt).slice(0, 10)}`;
  const instead =
    replacedBy === undefined ? "" : `. Use <a href="#${escapeText(replacedBy)}">${escapeText(replacedBy)}</a> instead`;
  return `<p class="deprecated"><strong>Deprecated</strong>${since}${instead}.</p>`;
}

function renderVersion({ version, schema, example }: EventTypeVersion): string {
  const shown = (title: string, value: unknown) =>
    `<details><summary>${title}, version ${escapeText(version)}</summary>` +
    `<pre>${escapeText(JSON.stringify(value, null, 2))}</pre></details>`;
  return shown("Schema", schema) + (example === undefined ? "" : shown("Example", example));
}
