import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type TProperties, type TSchema } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { etagOf } from "../../registry/if-match.ts";
import type { Caller } from "../../registry/keys.ts";
import { rehearse } from "../../registry/rehearsal.ts";
import type { Once } from "../../registry/registry.ts";
import type { PageOf } from "../../store/port/reads.ts";
import { readOnce } from "../once.ts";
import { presentPlan } from "../present/plan.ts";
import { presentPage, type PageParameters } from "./paging.ts";

/** What users configure has the same seven routes: list, make, read, make or replace, plan that, change, delete. */
export interface ResourceRoutes<Thing extends Versioned, Row, Input extends object, Change, Query> {
  path: string;
  /** The parameter in the path that names one. Where the input has it too, it may be left out of a replacement. */
  key: "id" | "name";
  /** One of them and several, for the summaries; and those that say more. */
  words: readonly [one: string, several: string];
  summaries?: Partial<Record<"list" | "make" | "read" | "replace" | "plan" | "change" | "remove", string>>;
  /** Who may read, and who may do all else. */
  readers: FastifyContextConfig;
  writers: FastifyContextConfig;
  input: TSchema;
  change: TSchema;
  query: TSchema;
  /** The query of one that the key alone does not tell from others. */
  oneQuery?: TSchema;
  /** What a key in the path must be like, for one that is made there. */
  chosenKey?: TSchema;
  maxBodyBytes?: number;
  /** A page of them, and how each is shown. */
  list(query: Query, by: Asked): Promise<ListedPage<Row>> | ListedPage<Row>;
  get(key: string, by: Asked): Promise<Thing> | Thing;
  make(input: Input, by: Asked): Promise<Saved<Thing>>;
  put(input: Input, by: Asked, key: string): Promise<Saved<Thing>>;
  patch(key: string, change: Change, by: Asked): Promise<Saved<Thing>>;
  /** What is left of it, or what is said instead; nothing for 204. */
  remove(key: string, by: Asked): Promise<Saved<Thing> | { gone: object } | void>;
  present(thing: Thing): Promise<object> | object;
}

interface Versioned {
  /** Without one it has no ETag. */
  version?: number | undefined;
}

/** Who asks, and on which terms. */
export interface Asked {
  caller: Caller | undefined;
  /** Of the key, or of the query where the key is bound to none. */
  tenantId: string | undefined;
  ifMatch: string | undefined;
  /** Undefined without an `Idempotency-Key`. */
  once(scope: string, tenantId?: string): Once | undefined;
}

export interface Saved<Thing> {
  thing: Thing;
  isNew?: boolean;
  /** Made before, by a request with the same `Idempotency-Key`. */
  isReplay?: boolean;
  /** What is shown in this answer only. */
  more?: object | undefined;
}

export interface ListedPage<Row> {
  page: PageOf<Row>;
  present: (row: Row) => object;
}

/** A tenant's key sets its own tenant and no other. */
function ofTenant<Input extends { tenant_id?: unknown }>(body: Input, bound: string | undefined): Input {
  if (bound === undefined) return body;
  if (body.tenant_id !== undefined && body.tenant_id !== bound) {
    throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`, {
      field: "tenant_id",
    });
  }
  return { ...body, tenant_id: bound };
}

export function asked(request: FastifyRequest): Asked {
  const { caller, query, headers } = request;
  return {
    caller,
    tenantId: caller?.tenantId ?? (query as { tenant_id?: string }).tenant_id,
    ifMatch: headers["if-match"],
    once: (scope, tenantId) => readOnce(request, scope, tenantId),
  };
}

/** Returns how one of them is answered, for its other routes. */
export function addResourceRoutes<Thing extends Versioned, Row, Input extends object, Change, Query>(
  app: FastifyInstance,
  resource: ResourceRoutes<Thing, Row, Input, Change, Query & PageParameters>,
): (reply: FastifyReply, saved: Saved<Thing>) => Promise<FastifyReply> {
  const { path, key, words, input, readers, writers, oneQuery, maxBodyBytes } = resource;
  const [one, several] = words;
  const summaries = {
    list: `List ${several}`,
    make: `Create ${one}`,
    read: `Get ${one}`,
    replace: `Create or replace ${one}`,
    plan: `Plan a replacement of ${one}`,
    change: `Update ${one}`,
    remove: `Delete ${one}`,
    ...resource.summaries,
  };
  const pathOfOne = `${path}/:${key}`;
  const { properties: fields } = input as unknown as { properties: TProperties };
  const isKeyGiven = Object.hasOwn(fields, key);
  const ofOne = oneQuery === undefined ? {} : { querystring: oneQuery };
  const chosen = resource.chosenKey === undefined ? {} : { params: Type.Object({ [key]: resource.chosenKey }) };
  const limit = maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes };
  const keyOf = ({ params }: FastifyRequest) => (params as Readonly<Record<string, string>>)[key] as string;

  async function send(reply: FastifyReply, { thing, isNew, isReplay, more }: Saved<Thing>): Promise<FastifyReply> {
    const { version } = thing;
    if (isReplay === true) void reply.header("idempotency-replayed", "true");
    if (version !== undefined) void reply.header("etag", etagOf({ version }));
    return reply.code(isNew === true ? 201 : 200).send({ ...(await resource.present(thing)), ...more });
  }

  function readInput({ body, caller }: FastifyRequest): Input {
    return Object.hasOwn(fields, "tenant_id") ? ofTenant(body as Input, caller?.tenantId) : (body as Input);
  }

  /** What stands in the path may be repeated in the body. */
  function readReplacement(request: FastifyRequest): Input {
    const given = readInput(request);
    if (!isKeyGiven) return given;
    const { [key]: repeated = keyOf(request), ...rest } = given as Record<string, unknown>;
    if (repeated !== keyOf(request)) {
      const message = `${key} must be ${keyOf(request)}, as in the path, or be left out.`;
      throw new PosthornError("invalid_field", message, { field: key });
    }
    return { [key]: keyOf(request), ...rest } as Input;
  }

  app.get(
    path,
    { config: readers, schema: { summary: summaries.list, querystring: resource.query } },
    async (request) => {
      const { page, present } = await resource.list(request.query as Query & PageParameters, asked(request));
      return presentPage(page, present);
    },
  );

  app.post(
    path,
    { config: writers, schema: { summary: summaries.make, body: input }, ...limit },
    async (request, reply) =>
      send(reply, { isNew: true, ...(await resource.make(readInput(request), asked(request))) }),
  );

  app.get(pathOfOne, { config: readers, schema: { summary: summaries.read, ...ofOne } }, async (request, reply) =>
    send(reply, { thing: await resource.get(keyOf(request), asked(request)) }),
  );

  const replacement = isKeyGiven
    ? Type.Object({ ...fields, [key]: Type.Optional(Type.String()) }, { additionalProperties: false })
    : input;
  app.put(
    pathOfOne,
    { config: writers, schema: { summary: summaries.replace, body: replacement, ...chosen }, ...limit },
    async (request, reply) => send(reply, await resource.put(readReplacement(request), asked(request), keyOf(request))),
  );

  app.post(
    `${pathOfOne}/plan`,
    { config: writers, schema: { summary: summaries.plan, body: replacement, ...chosen }, ...limit },
    async (request) =>
      presentPlan(await rehearse(() => resource.put(readReplacement(request), asked(request), keyOf(request)))),
  );

  app.patch(
    pathOfOne,
    { config: writers, schema: { summary: summaries.change, body: resource.change, ...ofOne } },
    async (request, reply) => send(reply, await resource.patch(keyOf(request), request.body as Change, asked(request))),
  );

  app.delete(
    pathOfOne,
    { config: writers, schema: { summary: summaries.remove, ...ofOne } },
    async (request, reply) => {
      const left = await resource.remove(keyOf(request), asked(request));
      if (typeof left !== "object") return reply.code(204).send();
      return "gone" in left ? reply.send(left.gone) : send(reply, left);
    },
  );
  return send;
}
