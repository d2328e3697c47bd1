import { Type } from "typebox";
import { EventTypeChange, EventTypeInput, EventTypeVersionContent } from "../../domain/event-type.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";

named("EventTypeInput", EventTypeInput);
named("EventTypeChange", EventTypeChange);
named("EventTypeVersionContent", EventTypeVersionContent);

const EventType = named(
  "EventType",
  closed({
    name: Type.String(),
    description: nullable(Type.String()),
    producer: nullable(Type.String()),
    consumers: Type.Array(Type.String()),
    status: oneOf(["active", "deprecated"]),
    deprecated_at: nullable(Time),
    replaced_by: nullable(Type.String()),
    enforce: Type.Boolean(),
    versions: Type.Array(
      closed({ version: Type.String(), schema: Anything, example: Type.Unknown(), created_at: Time }),
    ),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
  }),
);

const schema = { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } };
const example = { order_id: 1001 };
const facts = { description: "A customer has placed an order", producer: "shop" };

const EVENT_TYPE = {
  name: EXAMPLE.eventType,
  ...facts,
  consumers: [],
  status: "active",
  deprecated_at: null,
  replaced_by: null,
  enforce: true,
  versions: [{ version: "1.0", schema, example, created_at: EXAMPLE.time }],
  managed_by: "api",
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

const OPENAPI = {
  openapi: "3.1.0",
  info: { title: "Event types", version: "1" },
  webhooks: {
    "order.shipped": { post: { description: "An order has left", responses: { "2XX": { description: "Received" } } } },
  },
};

const params = { name: EXAMPLE.eventType };
const shown = { status: 200, schema: EventType, example: EVENT_TYPE, headers: ETAG };
const made = { status: 201, description: "Registered", schema: EventType, headers: ETAG };
const change = ["managed_by_config", "precondition_failed"] as const;

export const EVENT_TYPE_DOCS: AreaDocs = {
  tag: "Event types",
  description: "The registry: what events are called, who makes them, and what their payloads look like",
  operations: {
    "GET /api/v1/event-types": {
      query: { limit: 20 },
      answer: { status: 200, description: "By name", schema: pageSchema(EventType), example: pageExample(EVENT_TYPE) },
    },
    "POST /api/v1/event-types": {
      request: { name: EXAMPLE.newEventType, ...facts, versions: [{ version: "1.0", schema, example }] },
      headers: IDEMPOTENCY_KEY,
      answer: { ...made, example: { ...EVENT_TYPE, name: EXAMPLE.newEventType } },
      errors: ["conflict", "idempotency_key_reused"],
    },
    "GET /api/v1/event-types/export": {
      answer: {
        status: 200,
        description: "OpenAPI 3.1, each event type a webhook",
        schema: Type.Object(
          { openapi: Type.String(), info: Anything, jsonSchemaDialect: Type.String(), webhooks: Anything },
          { additionalProperties: true },
        ),
        example: { jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema", ...OPENAPI },
      },
    },
    "POST /api/v1/event-types/import": {
      description: "All or nothing; at most 32 MiB.",
      query: { dry_run: true },
      request: OPENAPI,
      answer: {
        status: 200,
        description: "What has changed, or would change",
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
    "GET /api/v1/event-types/:name": { params, answer: { ...shown, description: "The event type" } },
    "PUT /api/v1/event-types/:name": {
      params,
      request: { ...facts, versions: [{ version: "1.0", schema, example }] },
      headers: IF_MATCH,
      answer: { ...shown, description: "Replaced" },
      otherAnswers: [made],
      errors: ["managed_by_config", "conflict", "precondition_failed"],
    },
    "PATCH /api/v1/event-types/:name": {
      params,
      request: facts,
      headers: IF_MATCH,
      answer: { ...shown, description: "Changed" },
      errors: change,
    },
    "DELETE /api/v1/event-types/:name": {
      params,
      headers: IF_MATCH,
      answer: { status: 204, description: "Gone; its events are checked no more" },
      errors: change,
    },
    "PUT /api/v1/event-types/:name/versions/:version": {
      params: { ...params, version: "1.0" },
      request: { schema, example },
      headers: IF_MATCH,
      answer: { ...shown, description: "With that version" },
      errors: change,
    },
    "DELETE /api/v1/event-types/:name/versions/:version": {
      params: { ...params, version: "1.0" },
      headers: IF_MATCH,
      answer: { ...shown, description: "Without that version", example: { ...EVENT_TYPE, versions: [] } },
      errors: change,
    },
    "GET /catalog": {
      description: "A page for partners; there when the setting `catalog_public` is on.",
      answer: {
        status: 200,
        description: "The registry",
        schema: Type.String(),
        contentType: "text/html",
        example: "<!doctype html>…",
      },
    },
  },
};
