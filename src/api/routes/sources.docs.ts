import { Type } from "typebox";
import { SourceChange, SourceInput } from "../../model/source.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  ETAG,
  IF_MATCH,
  ManagedByDocs,
  Time,
  closed,
  extended,
  named,
  nullable,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";

named("SourceInput", SourceInput);
named("SourceChange", SourceChange);

const settings = shownFields(SourceInput);

/** The fields that can be set, and read-only fields. */
export const Source = named(
  "Source",
  closed({
    ...settings,
    auth: Type.With(settings.auth, { examples: [{ header: "X-Shop-Token", token: "***" }] }),
    secrets: Type.Array(
      closed({
        id: text(EXAMPLE.sourceSecret),
        current: Type.Boolean({ examples: [true] }),
        hint: text("…nc5A", "The last characters of the secret"),
        created_at: Time,
        ends_at: nullable(Time),
      }),
      { description: "The secrets that are valid now, without their values" },
    ),
    event_type: nullable(text("shop.order", "Null when the kind of source determines it")),
    path_token: nullable(text("***", "Masked, except in the answer to create")),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
    last_request_at: nullable(Time),
  }),
);

const SourceWithSecret = named("SourceWithSecret", extended(Source, { secret: Type.String() }));

const SOURCE = exampleOf(Source);
const params = { name: EXAMPLE.ownSource };
const shown = { schema: Source, example: SOURCE, headers: ETAG };
const acted = { params, headers: IF_MATCH, errors: ["precondition_failed"] as const };
const given = {
  auth: { header: "X-Shop-Token", token: "b8f1c2a09d3e47d6" },
  content_types: ["application/json"],
  event_type: "shop.order",
  id_from: "body:/id",
};

export const SOURCE_DOCS: AreaDocs = {
  tag: "Sources",
  description:
    "Where webhooks come from: how they are verified, how their events are named and identified, and how they are " +
    "answered",
  operations: {
    ...resourceDocs({
      path: "/api/v1/sources",
      key: params,
      schema: Source,
      made: { description: "Created. This is the only answer that shows the path token" },
      refusals: ["managed_by_config"],
      list: {
        answer: {
          description: "Declared sources, sorted by name; without names that only the `*` source handles",
        },
      },
      make: {
        description: "Names are unique across all tenants, because webhooks are sent to `/webhook/NAME`.",
        request: { name: EXAMPLE.newSource, secrets: [EXAMPLE.secret], path_token: true, ...given },
        answer: { example: { ...SOURCE, name: EXAMPLE.newSource, path_token: EXAMPLE.pathToken } },
      },
      read: { answer: { description: "The source" } },
      replace: {
        description: "Secrets and the path token stay unchanged unless you send new ones.",
        request: given,
        errors: ["conflict"],
      },
      plan: { ...given, event_type: "shop.orders" },
      change: { request: { max_bytes: 1_048_576 } },
      remove: {
        description:
          "Events and requests of the source are kept. While the `*` source is on, anybody can send to the name " +
          "again: close the source instead.",
      },
    }),
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
      description: "The new secret is the current one at once. Earlier secrets stay valid until the overlap ends.",
      params,
      request: { secret: EXAMPLE.nextSecret, overlap_s: 86_400 },
      answer: {
        description: "The source with the new secret, which is not shown again",
        schema: SourceWithSecret,
        example: { ...SOURCE, secret: EXAMPLE.nextSecret },
      },
      errors: ["conflict"],
    },
    "DELETE /api/v1/sources/:name/secrets/:id": {
      params: { name: EXAMPLE.ownSource, id: EXAMPLE.sourceSecret },
      answer: {
        description: "The secret is no longer valid",
        schema: Source,
        example: { ...SOURCE, secrets: [] },
      },
      errors: ["conflict"],
    },
    "GET /api/v1/sources/:name/path-token": {
      description: "The gateway logs that the path was read.",
      params,
      answer: {
        description: "The path to which webhooks of this source are sent",
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
