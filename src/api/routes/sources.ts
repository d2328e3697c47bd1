import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { PulledFacts } from "../../intake/messages/pullers.ts";
import { PosthornError } from "../../model/errors.ts";
import { MASK, type SourceSecret } from "../../model/secrets.ts";
import { fillIn, oneOf, withDefault } from "../../model/shape.ts";
import {
  SOURCE_STATUSES,
  SourceChange,
  SourceInput,
  type SourceKindRules,
  type SourceStatus,
} from "../../model/source.ts";
import type { NamedConnection } from "../../queues/connections.ts";
import type { Caller } from "../../resources/keys.ts";
import type { Entry } from "../../resources/resource.ts";
import { maskOptions, type SourceRecord } from "../../resources/sources/source-record.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage, isoTime, presentAs } from "../present.ts";
import { ConnectionState } from "./operation.ts";
import { addResourceRoutes, asked, onceScope, type Saved } from "./resource-routes.ts";
import { ADMIN, OPERATOR_READ, READ, routesOf, type Parts } from "./route.ts";

Doc.named("SourceInput", SourceInput);
Doc.named("SourceChange", SourceChange);

const settings = () => Doc.shownFields(SourceInput);

const Secret = Doc.closed(() => ({
  id: Doc.text(EXAMPLE.sourceSecret),
  current: Type.Boolean({ examples: [true] }),
  hint: Doc.text("…nc5A", "The last characters of the secret"),
  created_at: Doc.Time,
  ends_at: Doc.nullable(Doc.Time),
}));

const Source = Doc.shape("Source", () => ({
  ...settings(),
  auth: Type.With(settings().auth, { examples: [{ header: "X-Shop-Token", token: "***" }] }),
  secrets: Type.Array(Secret, { description: "The secrets that are valid now, without their values" }),
  event_type: Doc.nullable(Doc.text("shop.order", "Null when the kind of source determines it")),
  path_token: Doc.nullable(Doc.text("***", "Masked, except in the answer to create")),
  managed_by: Doc.ManagedByDocs,
  created_at: Doc.Time,
  updated_at: Doc.Time,
  last_request_at: Doc.nullable(Doc.Time),
}));

const SourceWithSecret = Doc.extended(Source, () => ({ secret: Type.String() }), "SourceWithSecret");

const params = { name: EXAMPLE.ownSource };
const shown = () => ({ schema: Source, headers: Doc.ETAG });
const given = {
  auth: { header: "X-Shop-Token", token: "b8f1c2a09d3e47d6" },
  content_types: ["application/json"],
  event_type: "shop.order",
  id_from: "body:/id",
};

const ListQuery = Doc.pageQuery({
  tenant_id: Type.String({ maxLength: 128 }),
  kind: Type.String({ maxLength: 32 }),
  status: oneOf(SOURCE_STATUSES),
});

const RotateBody = Doc.closed({
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
});

export function addSourceRoutes(app: FastifyInstance, { sources, trail, logger }: Parts): void {
  const route = routesOf(app, "Sources");
  const logSecrets = ({ source }: SourceRecord, what: "rotated" | "retired", caller: Caller | undefined) =>
    logger.info({ source: source.name, what, key_id: caller?.keyId }, "the secrets of a source were changed");
  /** A new source with its path token, which otherwise only its own route shows. */
  const saved = (thing: Entry<SourceRecord>, isNew: boolean): Saved<Entry<SourceRecord>> => ({
    thing,
    isNew,
    more: isNew ? { path_token: thing.thing.source.pathToken ?? null } : {},
  });

  const send = addResourceRoutes(route, {
    path: "/api/v1/sources",
    key: "name",
    words: ["a source", "sources"],
    readers: READ,
    writers: ADMIN,
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
    patch: async (name, change: SourceChange, by) => saved(await sources.change(name, change, by), false),
    async remove(name, by) {
      await sources.remove(name, by);
      return { gone: { name } };
    },
    present: ({ thing }) => presentSource(thing),
    docs: () => ({
      params,
      schema: Source,
      made: { description: "Created. This is the only answer that shows the path token" },
      refusals: ["managed_by_config"],
      list: {
        answer: { description: "Declared sources, sorted by name; without names that only the `*` source handles" },
      },
      make: {
        description: "Names are unique across all tenants, because webhooks are sent to `/webhook/NAME`.",
        request: { name: EXAMPLE.newSource, secrets: [EXAMPLE.secret], path_token: true, ...given },
        answer: { example: { name: EXAMPLE.newSource, path_token: EXAMPLE.pathToken } },
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
  });

  function addStatusRoute(action: string, status: SourceStatus, summary: string, description: string): void {
    route(`POST /api/v1/sources/:name/${action}`, ADMIN, summary, {
      example: { params },
      headers: Doc.IF_MATCH,
      answer: () => ({ ...shown(), description, example: { status } }),
      errors: ["precondition_failed"],
      handle: async (request, reply) =>
        send(reply, { thing: await sources.setStatus(request.params.name, status, asked(request)) }),
    });
  }
  addStatusRoute("pause", "paused", "Pause a source: its senders get 503 and retry", "Paused");
  addStatusRoute("resume", "active", "Resume a source", "Active");
  addStatusRoute("close", "closed", "Close a source: its senders get 410", "Closed");

  route("POST /api/v1/sources/:name/rotate-secret", ADMIN, "Rotate the secret of a source", {
    body: Doc.nullable(RotateBody),
    description: "The new secret is the current one at once. Earlier secrets stay valid until the overlap ends.",
    example: { params, body: { secret: EXAMPLE.nextSecret, overlap_s: 86_400 } },
    answer: () =>
      Doc.shows(SourceWithSecret, "The source with the new secret, which is not shown again", {
        secret: EXAMPLE.nextSecret,
      }),
    errors: ["conflict"],
    async handle(request, reply) {
      const { secret: given, overlap_s: overlapS } = fillIn(RotateBody.properties, request.body ?? {});
      const rotation = { secret: given ?? undefined, overlapMs: overlapS * 1000 };
      const { entry, secret } = await sources.rotateSecret(request.params.name, rotation, asked(request));
      logSecrets(entry.thing, "rotated", request.caller);
      return send(reply, { thing: entry, more: { secret } });
    },
  });

  route("DELETE /api/v1/sources/:name/secrets/:id", ADMIN, "Delete a secret of a source at once", {
    example: { params: { name: EXAMPLE.ownSource, id: EXAMPLE.sourceSecret } },
    answer: () => Doc.shows(Source, "The secret is no longer valid", { secrets: [] }),
    errors: ["conflict"],
    async handle(request, reply) {
      const { name, id } = request.params;
      const entry = await sources.retireSecret(name, id, asked(request));
      logSecrets(entry.thing, "retired", request.caller);
      return send(reply, { thing: entry });
    },
  });

  route("GET /api/v1/sources/:name/path-token", ADMIN, "Get the webhook path of a source", {
    description: "The gateway logs that the path was read.",
    example: { params },
    answer: () =>
      Doc.shows(
        Doc.closed({ name: Type.String(), path_token: Type.String(), path: Type.String() }),
        "The path to which webhooks of this source are sent",
        {
          name: EXAMPLE.ownSource,
          path_token: EXAMPLE.pathToken,
          path: `/webhook/${EXAMPLE.ownSource}/${EXAMPLE.pathToken}`,
        },
      ),
    async handle(request, reply) {
      const { thing: record } = sources.get(request.params.name, request.caller?.tenantId);
      const { name, tenantId, pathToken } = record.source;
      if (pathToken === undefined) throw new PosthornError("not_found", `The source ${name} has no path token.`);
      await trail.note({ act: "source.reveal_path_token", kind: "source", id: name, tenantId });
      logger.info({ source: name, key_id: request.caller?.keyId }, "the path token of a source was read");
      return reply.send({ name, path_token: pathToken, path: `/webhook/${name}/${pathToken}` });
    },
  });
}

/** The one mapping of a source to the wire, without secrets: answers that may show one add it. */
function presentSource(record: SourceRecord): Doc.AnswerOf<typeof Source> {
  const { source, state, managedBy, createdAt, updatedAt } = record;
  const { auth, pathToken, secrets } = state;
  return {
    ...fillIn(SourceInput.properties, state.shown),
    kind: source.kind,
    tenant_id: source.tenantId,
    status: source.status,
    secrets: secrets.map(presentSecret),
    auth: auth === undefined ? null : { header: auth.header, token: MASK },
    max_bytes: source.maxBytes,
    event_type: state.shown.event_type ?? null,
    only: source.only?.map(({ text }) => text) ?? null,
    refuse_replays: source.refusesReplays,
    path_token: pathToken === undefined ? null : MASK,
    options: maskOptions(state.options),
    managed_by: managedBy,
    created_at: isoTime(createdAt),
    updated_at: isoTime(updatedAt),
    last_request_at: source.lastRequestAt === 0 ? null : isoTime(source.lastRequestAt),
  };
}

function presentSecret(secret: SourceSecret, index: number) {
  return presentAs(Secret, { ...secret, current: index === 0, hint: hintOf(secret) });
}

const HINT_LENGTH = 4;
const MIN_HINTED_LENGTH = 16;

/** The end of a secret, so that its owner can recognise it; nothing if the secret is short. */
function hintOf({ secret }: SourceSecret): string {
  return secret.length < MIN_HINTED_LENGTH ? "…" : `…${secret.slice(-HINT_LENGTH)}`;
}

const SourceKind = Doc.shape("SourceKind", () => ({
  name: Doc.text("github", "For `kind` of a source"),
  needs_secret: Type.Boolean({ description: "A source of it needs at least one secret", examples: [true] }),
  pulled: Type.Boolean({ description: "It takes messages from a queue of a broker", examples: [false] }),
  has_manifest: Type.Boolean({ description: "A source of it may have a `manifest`", examples: [false] }),
  options: Doc.nullable(Type.With(Doc.Anything, { description: "A JSON Schema of `options`; null: there are none" })),
}));

const SourceQueue = Doc.shape("SourceQueue", () => ({
  source: Doc.text(EXAMPLE.queueSource),
  connection: Doc.closed({ kind: Doc.text("amqp"), name: Doc.text("default"), state: ConnectionState }),
  depth: Doc.nullable(Doc.count(3, "Messages that wait in it; null where the broker does not tell")),
  trouble: Doc.textOrNull("Why its messages cannot be taken or parked, and what to do"),
}));

/** What somebody needs to know in order to declare a source, and how the queues are that sources take from. */
export function addSourceKindRoutes(app: FastifyInstance, { sourceKinds, pullers, connections }: Parts): void {
  const route = routesOf(app, "Kinds of sources");

  route("GET /api/v1/source-kinds", READ, "List the kinds of sources", {
    answer: () =>
      Doc.shows(Doc.closed({ data: Type.Array(SourceKind) }), "Those of this gateway, with what plugins bring", {
        data: [{ name: "github", needs_secret: true, pulled: false, has_manifest: false, options: null }],
      }),
    handle: () => ({ data: [...sourceKinds.values()].map(presentKind) }),
  });

  // Queues of a broker belong to the gateway: messages of several tenants may lie in one.
  route("GET /api/v1/source-queues", OPERATOR_READ, "List the queues that sources take from", {
    answer: () =>
      Doc.shows(Doc.closed({ data: Type.Array(SourceQueue) }), "One for each active source that takes from a queue", {
        data: [],
      }),
    handle() {
      const known = connections.list();
      return { data: pullers.list().map((pulled) => presentQueue(pulled, known)) };
    },
  });
}

function presentKind(kind: SourceKindRules) {
  const { isPulled: pulled = false, checkManifest, options } = kind;
  return presentAs(SourceKind, { ...kind, pulled, hasManifest: checkManifest !== undefined, options });
}

/** Its trouble is that of its own, or of its connection. */
export function presentQueue(pulled: PulledFacts, connections: readonly NamedConnection[]) {
  const { connection, trouble } = pulled;
  const found = connections.find(({ kind, name }) => kind === connection.kind && name === connection.name)?.state;
  return presentAs(SourceQueue, {
    ...pulled,
    connection: { ...connection, state: found?.state ?? "unused" },
    trouble: trouble ?? (found?.state === "failed" ? found.fault.message : undefined),
  });
}
