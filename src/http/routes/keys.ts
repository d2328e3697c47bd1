import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import type { Clock } from "../../domain/clock.ts";
import { PosthornError } from "../../domain/errors.ts";
import { SCOPES, type Caller, type Keys } from "../../manage/keys.ts";
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

const ListQuery = Type.Object(
  { ...PageQuery, tenant_id: Type.Optional(Type.String({ maxLength: 128 })) },
  { additionalProperties: false },
);

export interface KeyRoutesOptions {
  keys: Keys;
  clock: Pick<Clock, "wall">;
}

export function addKeyRoutes(app: FastifyInstance, { keys, clock }: KeyRoutesOptions): void {
  const present = (row: Parameters<typeof keys.statusOf>[0]) => presentKey(row, keys.statusOf(row));

  app.post<{ Body: KeyInput }>(
    "/api/v1/keys",
    { config: { scope: "admin" }, schema: { summary: "Make a key", body: KeyInput } },
    async ({ body, caller }, reply) => {
      const { key, row } = await keys.create({
        name: body.name,
        scopes: body.scopes,
        tenantId: chooseTenant(body, caller),
        expiresAt: chooseEnd(body, caller, clock.wall()),
      });
      return reply.code(201).send({ ...present(row), key });
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
      return presentPage({ rows, nextCursor: rest.length > limit ? rows.at(-1)?.id : undefined }, present);
    },
  );

  app.get<{ Params: { id: string } }>(
    "/api/v1/keys/:id",
    { config: { scope: "admin" }, schema: { summary: "Read a key" } },
    async ({ params, caller }) => present(await keys.get(params.id, caller?.tenantId)),
  );

  app.delete<{ Params: { id: string } }>(
    "/api/v1/keys/:id",
    { config: { scope: "admin" }, schema: { summary: "Revoke a key" } },
    async ({ params, caller }) => present(await keys.revoke(params.id, caller?.tenantId)),
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

function chooseEnd({ expires_at: wanted }: KeyInput, caller: Caller | undefined, wall: number): number | undefined {
  const expiresAt = typeof wanted === "string" ? Date.parse(wanted) : undefined;
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
  return expiresAt;
}
