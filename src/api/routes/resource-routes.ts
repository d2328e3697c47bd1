import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type TProperties, type TSchema } from "typebox";
import { PosthornError } from "../../model/errors.ts";
import { etagOf } from "../../resources/resource.ts";
import type { Caller } from "../../resources/keys.ts";
import { rehearse, type Once } from "../../resources/registry.ts";
import type { PageOf } from "../../store/port/reads.ts";
import { readOnce } from "../once.ts";
import { presentPlan } from "../present/plan.ts";
import { presentPage, type PageParameters } from "./paging.ts";

/** All resources that users configure have seven routes: list, create, get, create or replace, plan, update, delete. */
export interface ResourceRoutes<Thing extends Versioned, Row, Input extends object, Change, Query> {
  path: string;
  /** The path parameter that identifies the object. If the input has it too, a replacement may leave it out. */
  key: "id" | "name";
  /** The noun with its article and the plural, for the summaries; and summaries that differ. */
  words: readonly [one: string, several: string];
  summaries?: Partial<Record<"list" | "make" | "read" | "replace" | "plan" | "change" | "remove", string>>;
  /** The rights for reading, and for everything else. */
  readers: FastifyContextConfig;
  writers: FastifyContextConfig;
  input: TSchema;
  change: TSchema;
  query: TSchema;
  /** The query that identifies an object if its key alone is ambiguous. */
  oneQuery?: TSchema;
  /** The rules for a key in the path when PUT creates the object. */
  chosenKey?: TSchema;
  maxBodyBytes?: number;
  /** Loads a page of objects, and presents each. */
  list(query: Query, by: Asked): Promise<ListedPage<Row>> | ListedPage<Row>;
  get(key: string, by: Asked): Promise<Thing> | Thing;
  /** Brings a body that another program wrote for its own model into the form that is validated. */
  adopt?(body: unknown): Adopted;
  make(input: Input, by: Asked, adopted?: Adopted): Promise<Saved<Thing>>;
  put(input: Input, by: Asked, key: string): Promise<Saved<Thing>>;
  patch(key: string, change: Change, by: Asked): Promise<Saved<Thing>>;
  /** The body of the answer; undefined for 204. */
  remove(key: string, by: Asked): Promise<Saved<Thing> | { gone: object } | void>;
  present(thing: Thing, caller: Caller | undefined): Promise<object> | object;
}

interface Versioned {
  /** Objects without a version have no ETag. */
  version?: number | undefined;
}

/** The caller, and the conditions of the request. */
export interface Asked {
  caller: Caller | undefined;
  /** The tenant of the key; for keys that are not bound, that of the query. */
  tenantId: string | undefined;
  ifMatch: string | undefined;
  /** Undefined without an `Idempotency-Key`. */
  once(scope: string, tenantId?: string): Once | undefined;
}

export interface Saved<Thing> {
  thing: Thing;
  isNew?: boolean;
  /** True when an earlier request with the same `Idempotency-Key` created the object. */
  isReplay?: boolean;
  /** Fields that only this answer shows. */
  more?: object | undefined;
}

export interface Adopted {
  body: unknown;
  /** The id that the body gives. */
  id?: string | undefined;
  /** What was not taken over, as sentences. */
  notes: readonly string[];
}

export interface ListedPage<Row> {
  page: PageOf<Row>;
  present: (row: Row) => object;
}

/** A key that is bound to a tenant creates objects of that tenant only. */
function ofTenant<Input extends { tenant_id?: unknown }>(body: Input, bound: string | undefined): Input {
  if (bound === undefined) return body;
  if (body.tenant_id !== undefined && body.tenant_id !== bound) {
    throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}. Leave out tenant_id.`, {
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

/** Returns the function that sends an object, for other routes of the resource. */
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
    plan: `Show what replacing ${one} would change`,
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
    return reply
      .code(isNew === true ? 201 : 200)
      .send({ ...(await resource.present(thing, reply.request.caller)), ...more });
  }

  function readInput({ body, caller }: FastifyRequest): Input {
    return Object.hasOwn(fields, "tenant_id") ? ofTenant(body as Input, caller?.tenantId) : (body as Input);
  }

  /** The body may repeat the key of the path. */
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

  const adopted = new WeakMap<FastifyRequest, Adopted>();
  app.post(
    path,
    {
      config: writers,
      schema: { summary: summaries.make, body: input },
      ...limit,
      async preValidation(request) {
        const made = resource.adopt?.(request.body);
        if (made === undefined) return;
        adopted.set(request, made);
        request.body = made.body;
      },
    },
    async (request, reply) => {
      const saved = await resource.make(readInput(request), asked(request), adopted.get(request));
      return send(reply, { isNew: true, ...saved });
    },
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
