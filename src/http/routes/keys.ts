import type { FastifyInstance, FastifyReply } from "fastify";
import { Type, type Static } from "typebox";
import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { SCOPES, type ApiKey } from "../../registry/api-key.ts";
import type { Caller, KeyChange as KeyChanges, Keys, MadeKey } from "../../registry/keys.ts";
import type { Entry } from "../../registry/resource.ts";
import { readIfMatch, sendEntry } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentKey } from "../present/key.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

/** Control characters are no part of a name; NUL would cut it. */
const PLAIN = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

const KeyInput = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200, pattern: PLAIN, description: "What the key is for" }),
    scopes: Type.Array(Type.Union(SCOPES.map((scope) => Type.Literal(scope))), { minItems: 1, uniqueItems: true }),
    tenant_id: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 128, pattern: PLAIN }), Type.Null()], {
        description: "The tenant that it is bound to; null for all of them",
      }),
    ),
    expires_at: Type.Optional(Type.Union([Type.String({ format: "date-time" }), Type.Null()])),
  },
  { additionalProperties: false },
);
type KeyInput = Static<typeof KeyInput>;

const { tenant_id: _, ...changeable } = KeyInput.properties;
const KeyChange = Type.Partial(Type.Object(changeable), { additionalProperties: false });

const ChosenId = Type.Object({
  id: Type.String({ pattern: "^(?!config$)[A-Za-z0-9_-]{1,64}$", description: "Chosen by whoever makes it" }),
});

const ListQuery = Type.Object(
  { ...PageQuery, tenant_id: Type.Optional(Type.String({ maxLength: 128 })) },
  { additionalProperties: false },
);

export interface KeyRoutesOptions {
  keys: Keys;
  clock: Pick<Clock, "wall">;
}

export function addKeyRoutes(app: FastifyInstance, { keys, clock }: KeyRoutesOptions): void {
  const present = (key: ApiKey) => presentKey(key, keys.statusOf(key));
  const send = (reply: FastifyReply, entry: Entry<ApiKey>) => sendEntry(reply, entry, present);

  /** With the key in clear, which is never shown again. */
  const sendMade = (reply: FastifyReply, { entry, key }: MadeKey) =>
    key === undefined ? send(reply, entry) : sendEntry(reply.code(201), entry, (made) => ({ ...present(made), key }));

  app.post<{ Body: KeyInput }>(
    "/api/v1/keys",
    { config: { scope: "admin" }, schema: { summary: "Make a key", body: KeyInput } },
    async (request, reply) => {
      const { body, caller } = request;
      const { name, scopes } = body;
      const tenantId = chooseTenant(body, caller);
      const once = readOnce(request, `keys/${caller?.tenantId ?? ""}`, tenantId);
      const expiresAt = readEnd(body.expires_at);
      const refuse = () => refuseEnd(expiresAt, caller, clock.wall());
      const made = await keys.create({ name, scopes, tenantId, expiresAt }, once, refuse);
      // Without the key: only its hash is known here.
      return sendMade(made.isReplay ? reply.header("idempotency-replayed", "true") : reply, made);
    },
  );

  app.put<{ Body: KeyInput; Params: Static<typeof ChosenId> }>(
    "/api/v1/keys/:id",
    {
      config: { scope: "admin" },
      schema: {
        summary: "Make a key with a chosen id, or replace what is set of one",
        body: KeyInput,
        params: ChosenId,
      },
    },
    async (request, reply) => {
      const { body, caller } = request;
      const { id } = request.params;
      const { name, scopes } = body;
      const tenantId = chooseTenant(body, caller);
      const expiresAt = chooseEnd(body.expires_at, caller, clock.wall());
      const by = {
        tenantId: caller?.tenantId,
        ifMatch: readIfMatch(request),
        isTenantMeant: body.tenant_id !== undefined,
      };
      return sendMade(reply, await keys.put({ id, name, scopes, tenantId, expiresAt }, by));
    },
  );

  app.patch<{ Body: Static<typeof KeyChange>; Params: { id: string } }>(
    "/api/v1/keys/:id",
    { config: { scope: "admin" }, schema: { summary: "Change the name, scopes or end of a key", body: KeyChange } },
    async (request, reply) => {
      const { body, caller } = request;
      const { name, scopes, expires_at: end } = body;
      const expiresAt = end === undefined ? undefined : (chooseEnd(end, caller, clock.wall()) ?? null);
      const change = { name, scopes, expiresAt };
      const refuse = (known: ApiKey) => refuseOutliving(known, change, caller);
      const check = { ifMatch: readIfMatch(request), refuse };
      return send(reply, await keys.change(request.params.id, caller?.tenantId, change, check));
    },
  );

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/keys",
    { config: { scope: "admin" }, schema: { summary: "List keys", querystring: ListQuery } },
    async ({ query, caller }) => {
      const { limit, cursor } = pageOf(query);
      const all = await keys.list(caller?.tenantId ?? query.tenant_id);
      const rest = cursor === undefined ? all : all.filter(({ id }) => id > cursor);
      const rows = rest.slice(0, limit);
      return presentPage({ rows, nextCursor: rest.length > limit ? rows.at(-1)?.id : undefined }, ({ thing }) =>
        present(thing),
      );
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/keys/:id",
    { config: { scope: "admin" }, schema: { summary: "Read a key" } },
    async ({ params, caller }, reply) => send(reply, await keys.get(params.id, caller?.tenantId)),
  );

  app.delete<{ Params: { id: string } }>(
    "/api/v1/keys/:id",
    { config: { scope: "admin" }, schema: { summary: "Revoke a key" } },
    async (request, reply) =>
      send(reply, await keys.revoke(request.params.id, request.caller?.tenantId, readIfMatch(request))),
  );
}

/** A bound key makes keys of its own tenant, and never one that could do more. */
function chooseTenant({ tenant_id: wanted }: KeyInput, caller: Caller | undefined): string | undefined {
  const bound = caller?.tenantId;
  if (bound === undefined) return wanted ?? undefined;
  if (wanted !== undefined && wanted !== bound) {
    throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`, {
      field: "tenant_id",
    });
  }
  return bound;
}

/** Who has an end makes no key more powerful that goes on after it: else the end would mean nothing. */
function refuseOutliving(
  known: ApiKey,
  { scopes = [], expiresAt }: Pick<KeyChanges, "scopes" | "expiresAt">,
  caller: Caller | undefined,
): void {
  const callersEnd = caller?.expiresAt;
  const held = known.scopes;
  const gained = held.includes("admin") ? [] : scopes.filter((scope) => !held.includes(scope));
  if (callersEnd === undefined || gained.length === 0) return;
  const end = expiresAt === undefined ? known.expiresAt : (expiresAt ?? undefined);
  if (end !== undefined && end <= callersEnd) return;
  throw new PosthornError(
    "forbidden",
    `This key ends at ${new Date(callersEnd).toISOString()}, and cannot give ${gained.join(" and ")} to one that lives ` +
      "longer. Set its expires_at too.",
    { field: "scopes" },
  );
}

function chooseEnd(wanted: KeyInput["expires_at"], caller: Caller | undefined, wall: number): number | undefined {
  const expiresAt = readEnd(wanted);
  refuseEnd(expiresAt, caller, wall);
  return expiresAt;
}

function readEnd(wanted: KeyInput["expires_at"]): number | undefined {
  return typeof wanted === "string" ? Date.parse(wanted) : undefined;
}

function refuseEnd(expiresAt: number | undefined, caller: Caller | undefined, wall: number): void {
  if (expiresAt !== undefined && !(expiresAt > wall)) {
    throw new PosthornError("invalid_field", "expires_at must lie in the future.", { field: "expires_at" });
  }
  const callersEnd = caller?.expiresAt;
  if (callersEnd !== undefined && (expiresAt === undefined || expiresAt > callersEnd)) {
    throw new PosthornError(
      "forbidden",
      `This key ends at ${new Date(callersEnd).toISOString()}, and can make none that lives longer. Set expires_at.`,
      { field: "expires_at" },
    );
  }
}
