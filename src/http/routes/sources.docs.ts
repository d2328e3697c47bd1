import { Type } from "typebox";
import { SOURCE_STATUSES, SourceInput } from "../../domain/source.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  pageExample,
  pageSchema,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { SourceChange } from "./sources.ts";

named("SourceInput", SourceInput);
named("SourceChange", SourceChange);

const texts = nullable(Type.Array(Type.String()));
const text = nullable(Type.String());

const Source = named(
  "Source",
  closed({
    name: Type.String(),
    kind: Type.String(),
    tenant_id: Type.String(),
    status: oneOf(SOURCE_STATUSES),
    secrets: Type.Array(
      closed({
        id: Type.String(),
        current: Type.Boolean(),
        hint: Type.String({ description: "Its last characters" }),
        created_at: Time,
        ends_at: nullable(Time),
      }),
      { description: "Those that count now, without what they are" },
    ),
    auth: nullable(closed({ header: Type.String(), token: Type.String({ description: "Masked" }) })),
    allowed_ips: texts,
    max_bytes: Type.Integer(),
    methods: Type.Array(Type.String()),
    content_types: texts,
    answer_within: nullable(Type.Number()),
    event_type: nullable(Type.String({ description: "Null: as its kind says" })),
    id_from: text,
    ordering_key_from: text,
    priority_from: text,
    only: texts,
    manifest: nullable(Type.Union([Type.String(), Anything])),
    refuse_replays: Type.Boolean({ description: "An equal signature is not taken again" }),
    path_token: nullable(Type.String({ description: "Masked, but in the answer to create" })),
    options: Anything,
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
    last_request_at: nullable(Time),
  }),
);

const SOURCE = {
  name: EXAMPLE.ownSource,
  kind: "generic",
  tenant_id: EXAMPLE.tenant,
  status: "active",
  secrets: [{ id: EXAMPLE.sourceSecret, current: true, hint: "…nc5A", created_at: EXAMPLE.time, ends_at: null }],
  auth: { header: "X-Shop-Token", token: "***" },
  allowed_ips: null,
  max_bytes: 2_097_152,
  methods: ["POST"],
  content_types: ["application/json"],
  answer_within: null,
  event_type: "shop.order",
  id_from: "body:/id",
  ordering_key_from: null,
  priority_from: null,
  only: null,
  manifest: null,
  refuse_replays: false,
  path_token: "***",
  options: {},
  managed_by: "api",
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
  last_request_at: null,
};

const settings = {
  auth: { header: "X-Shop-Token", token: "b8f1c2a09d3e47d6" },
  content_types: ["application/json"],
  event_type: "shop.order",
  id_from: "body:/id",
};
const params = { name: EXAMPLE.ownSource };
const shown = { status: 200, schema: Source, example: SOURCE, headers: ETAG };
const made = { status: 201, description: "Made; the only answer with its path token", schema: Source, headers: ETAG };
const acted = { params, headers: IF_MATCH, errors: ["precondition_failed"] as const };

export const SOURCE_DOCS: AreaDocs = {
  tag: "Sources",
  description: "Where webhooks come from: how they are verified, named, identified and answered",
  operations: {
    "GET /api/v1/sources": {
      query: { limit: 20 },
      answer: {
        status: 200,
        description: "Those that were declared, by name; not the names that only the `*` source answers to",
        schema: pageSchema(Source),
        example: pageExample(SOURCE),
      },
    },
    "POST /api/v1/sources": {
      description: "Names are unique in the gateway, because webhooks come to `/webhook/NAME`.",
      request: { name: EXAMPLE.newSource, secrets: [EXAMPLE.secret], path_token: true, ...settings },
      headers: IDEMPOTENCY_KEY,
      answer: { ...made, example: { ...SOURCE, name: EXAMPLE.newSource, path_token: EXAMPLE.pathToken } },
      errors: ["conflict", "idempotency_key_reused"],
    },
    "GET /api/v1/sources/:name": { params, answer: { ...shown, description: "The source" } },
    "PUT /api/v1/sources/:name": {
      description: "Secrets and the path token stay when none is given.",
      params,
      request: settings,
      headers: IF_MATCH,
      answer: { ...shown, description: "Replaced" },
      otherAnswers: [made],
      errors: ["conflict", "managed_by_config", "precondition_failed"],
    },
    "PATCH /api/v1/sources/:name": {
      params,
      request: { max_bytes: 1_048_576 },
      headers: IF_MATCH,
      answer: { ...shown, description: "Changed" },
      errors: ["managed_by_config", "precondition_failed"],
    },
    "DELETE /api/v1/sources/:name": {
      description:
        "Its events and requests stay. While the `*` source is on, its name is anybody's again: close it instead.",
      params,
      headers: IF_MATCH,
      answer: {
        status: 200,
        description: "Gone",
        schema: closed({ name: Type.String() }),
        example: { name: EXAMPLE.ownSource },
      },
      errors: ["managed_by_config", "precondition_failed"],
    },
    "POST /api/v1/sources/:name/pause": {
      ...acted,
      answer: { ...shown, description: "Paused", example: { ...SOURCE, status: "paused" } },
    },
    "POST /api/v1/sources/:name/resume": { ...acted, answer: { ...shown, description: "Active" } },
    "POST /api/v1/sources/:name/close": {
      ...acted,
      answer: { ...shown, description: "Closed", example: { ...SOURCE, status: "closed" } },
    },
    "POST /api/v1/sources/:name/rotate-secret": {
      description: "The new secret is current at once; those before it count until the overlap ends.",
      params,
      request: { secret: EXAMPLE.nextSecret, overlap_s: 86_400 },
      answer: {
        status: 200,
        description: "With the new secret, which is not shown again",
        schema: extended(Source, { secret: Type.String() }),
        example: { ...SOURCE, secret: EXAMPLE.nextSecret },
      },
      errors: ["conflict"],
    },
    "DELETE /api/v1/sources/:name/secrets/:id": {
      params: { name: EXAMPLE.ownSource, id: EXAMPLE.sourceSecret },
      answer: {
        status: 200,
        description: "It counts no more",
        schema: Source,
        example: { ...SOURCE, secrets: [] },
      },
      errors: ["conflict"],
    },
    "GET /api/v1/sources/:name/path-token": {
      description: "The gateway notes in its log that it was read.",
      params,
      answer: {
        status: 200,
        description: "Where its webhooks come to",
        schema: closed({ name: Type.String(), path_token: Type.String(), path: Type.String() }),
        example: {
          name: EXAMPLE.ownSource,
          path_token: EXAMPLE.pathToken,
          path: `/webhook/${EXAMPLE.ownSource}/${EXAMPLE.pathToken}`,
        },
      },
    },
  },
};
