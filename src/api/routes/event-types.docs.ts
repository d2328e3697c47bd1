import { Type } from "typebox";
import { EventTypeChange, EventTypeInput, EventTypeVersionContent } from "../../model/event-type.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  ETAG,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  named,
  nullable,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";

named("EventTypeInput", EventTypeInput);
named("EventTypeChange", EventTypeChange);
named("EventTypeVersionContent", EventTypeVersionContent);

const schema = { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } };
const example = { order_id: 1001 };

/** The fields that can be set, and read-only fields. */
export const EventType = named(
  "EventType",
  closed({
    ...shownFields(EventTypeInput),
    deprecated_at: nullable(Time),
    versions: Type.Array(
      closed({
        version: text("1.0"),
        schema: Type.With(Anything, { examples: [schema] }),
        example: Type.Unknown({ examples: [example] }),
        created_at: Time,
      }),
    ),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
  }),
);

const EVENT_TYPE = exampleOf(EventType);
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
const shown = { schema: EventType, example: EVENT_TYPE, headers: ETAG };
const change = ["managed_by_config", "precondition_failed"] as const;

export const EVENT_TYPE_DOCS: AreaDocs = {
  tag: "Event types",
  description: "The registry of event types: their names, their producers and the schemas of their payloads",
  operations: {
    ...resourceDocs({
      path: "/api/v1/event-types",
      key: params,
      schema: EventType,
      made: { description: "Registered" },
      refusals: ["managed_by_config"],
      list: { answer: { description: "Event types, sorted by name" } },
      make: {
        request: { name: EXAMPLE.newEventType, ...given },
        answer: { example: { ...EVENT_TYPE, name: EXAMPLE.newEventType } },
      },
      read: { answer: { description: "The event type" } },
      replace: { request: given, errors: ["conflict"] },
      change: { request: facts },
      remove: { answer: { status: 204, description: "Deleted; events of this type are no longer validated" } },
    }),
    "GET /api/v1/event-types/export": {
      answer: {
        description: "An OpenAPI 3.1 document with a webhook for each event type",
        schema: Type.Object(
          { openapi: Type.String(), info: Anything, jsonSchemaDialect: Type.String(), webhooks: Anything },
          { additionalProperties: true },
        ),
        example: { jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema", ...OPENAPI },
      },
    },
    "POST /api/v1/event-types/import": {
      description: "Imports all event types, or none if one is invalid. The document may have at most 32 MiB.",
      query: { dry_run: true },
      request: OPENAPI,
      answer: {
        description: "The changes that were made; with `dry_run`, the changes that would be made",
        schema: closed({
          dry_run: Type.Boolean(),
          created: Type.Array(Type.String()),
          updated: Type.Array(Type.String()),
          unchanged: Type.Array(Type.String()),
        }),
        example: { dry_run: true, created: ["order.shipped"], updated: [], unchanged: [] },
      },
      errors: ["managed_by_config"],
    },
    "PUT /api/v1/event-types/:name/versions/:version": {
      params: { ...params, version: "1.0" },
      request: { schema, example },
      headers: IF_MATCH,
      answer: { ...shown, description: "The event type with that version" },
      errors: change,
    },
    "DELETE /api/v1/event-types/:name/versions/:version": {
      params: { ...params, version: "1.0" },
      headers: IF_MATCH,
      answer: {
        ...shown,
        description: "The event type without that version",
        example: { ...EVENT_TYPE, versions: [] },
      },
      errors: change,
    },
    "GET /catalog": {
      description: "A page for partners. It is available only while the setting `catalog_public` is on.",
      answer: {
        description: "The page with all event types",
        schema: Type.String(),
        contentType: "text/html",
        example: "<!doctype html>…",
      },
    },
  },
};
