import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static, type TProperties, type TSchema } from "typebox";
import type { MaybePromise } from "../../model/accepted.ts";
import { invalidField, PosthornError, type ErrorCode } from "../../model/errors.ts";
import { isDeeperThan } from "../../model/json.ts";
import type { Caller } from "../../resources/keys.ts";
import { rehearse, type Once } from "../../resources/registry.ts";
import { etagOf } from "../../resources/resource.ts";
import type { AuditNote } from "../../store/port/audit.ts";
import type { PageOf } from "../../store/port/reads.ts";
import * as Doc from "../openapi/shapes.ts";
import { presentPage } from "../present.ts";
import type { Access, routesOf } from "./route.ts";

/** What differs for one of the seven routes from the docs that all resources share. */
type Own = Partial<Omit<Doc.OperationDocs, "answer">> & { answer?: Partial<Doc.AnswerDocs> };

interface ResourceDocs {
  params: Readonly<Record<string, string>>;
  /** The shape of the resource in answers, and what differs from the example that is derived from it. */
  schema: TSchema;
  example?: object;
  /** The answer to create, if it shows more. */
  made?: Partial<Doc.AnswerDocs>;
  /** The errors of all changes, in addition to `precondition_failed`. */
  refusals: readonly ErrorCode[];
  list: Own;
  make: Own;
  read: Own;
  replace: Own;
  /** A body that changes something, if the body of `replace` does not. */
  plan?: object;
  change: Own;
  remove: Omit<Own, "answer"> & { answer?: Doc.AnswerDocs };
}

const Plan = Doc.shape("Plan", () => ({
  act: Doc.choice(["update", "create", "none"], "What PUT would do"),
  changes: Type.Array(
    Doc.closed({
      field: Doc.text("description"),
      before: Type.Unknown({ examples: [null], description: "Null when the field or the object would be new" }),
      after: Type.Unknown({ examples: ["orders of the shop"] }),
    }),
    { description: "The fields that would change; for a new object, all fields that are set" },
  ),
  secrets_changed: Type.Boolean(),
}));

function describeResource(of: ResourceDocs): Record<ResourceAction, Doc.OperationDocs> {
  const { params, schema, example, refusals } = of;
  const [key = ""] = Object.keys(params);
  const shown = { schema, headers: Doc.ETAG, ...(example !== undefined && { example }) };
  const made = { status: 201, description: "Created", schema, headers: Doc.ETAG, ...of.made };
  const changing = { params, headers: Doc.IF_MATCH, errors: [...refusals, "precondition_failed"] as const };
  const gone = {
    status: 200,
    description: "Deleted",
    schema: Doc.closed({ [key]: Type.String() }),
    example: of.remove.params ?? params,
  };
  return {
    list: join({ query: { limit: 20 }, answer: Doc.page(schema, "", example) }, of.list),
    make: join(
      { headers: Doc.IDEMPOTENCY_KEY, answer: { ...shown, ...made }, errors: ["conflict", "idempotency_key_reused"] },
      of.make,
    ),
    read: join({ params, answer: { ...shown, description: "" } }, of.read),
    replace: join({ ...changing, answer: { ...shown, description: "Replaced" }, otherAnswers: [made] }, of.replace),
    plan: {
      description:
        "Checks the same as PUT, but saves nothing. For secrets, the answer says only whether they would change.",
      params,
      request: of.plan ?? of.replace.request,
      answer: Doc.shows(Plan, "The changes that PUT with this body would make"),
      errors: [...refusals, ...(of.replace.errors ?? [])],
    },
    change: join({ ...changing, answer: { ...shown, description: "Updated" } }, of.change),
    remove: join({ ...changing, answer: of.remove.answer ?? gone }, of.remove),
  };
}

function join(usual: Doc.OperationDocs, { answer, errors = [], ...own }: Own): Doc.OperationDocs {
  const example = { ...(usual.answer.example as object | undefined), ...(answer?.example as object | undefined) };
  return {
    ...usual,
    ...own,
    answer: { ...usual.answer, ...answer, example },
    errors: [...(usual.errors ?? []), ...errors],
  };
}

type ResourceAction = "list" | "make" | "read" | "replace" | "plan" | "change" | "remove";

/** All resources that users configure have seven routes: list, create, get, create or replace, plan, update, delete. */
interface ResourceRoutes<Thing extends Versioned, Row, Input extends TSchema, Change, Query extends TSchema> {
  path: string;
  /** The path parameter that identifies the object. If the input has it too, a replacement may leave it out. */
  key: "id" | "name";
  /** The noun with its article and the plural, for the summaries; and summaries that differ. */
  words: readonly [one: string, several: string];
  summaries?: Partial<Record<ResourceAction, string>>;
  /** The rights for reading, and for everything else. */
  readers: Access;
  writers: Access;
  input: Input;
  change: TSchema;
  query: Query;
  /** The query that identifies an object if its key alone is ambiguous. */
  oneQuery?: TSchema;
  /** The rules for a key in the path when PUT creates the object. */
  chosenKey?: TSchema;
  maxBodyBytes?: number;
  /** Loads a page of objects, and presents each. */
  list(query: Static<Query>, by: Asked): MaybePromise<{ page: PageOf<Row>; present: (row: Row) => object }>;
  get(key: string, by: Asked): Promise<Thing> | Thing;
  /** Brings a body that another program wrote for its own model into the form that is validated. */
  adopt?(body: unknown): Adopted;
  make(input: Static<Input>, by: Asked, adopted?: Adopted): Promise<Saved<Thing>>;
  put(input: Static<Input>, by: Asked, key: string): Promise<Saved<Thing>>;
  patch(key: string, change: Change, by: Asked): Promise<Saved<Thing>>;
  /** The body of the answer; undefined for 204. */
  remove(key: string, by: Asked): Promise<Saved<Thing> | { gone: object } | void>;
  present(thing: Thing, caller: Caller | undefined): Promise<object> | object;
  docs: () => ResourceDocs;
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
export function addResourceRoutes<Thing extends Versioned, Row, Input extends TSchema, Change, Query extends TSchema>(
  route: ReturnType<typeof routesOf>,
  resource: ResourceRoutes<Thing, Row, Input, Change, Query>,
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
  let docs: ReturnType<typeof describeResource> | undefined;
  const docsOf = (action: ResourceAction) => () => (docs ??= describeResource(resource.docs()))[action];
  const pathOfOne = `${path}/:${key}`;
  const { properties: fields } = input as unknown as { properties: TProperties };
  const isKeyGiven = Object.hasOwn(fields, key);
  const ofOne = oneQuery === undefined ? {} : { query: oneQuery };
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

  function readInput({ body, caller }: FastifyRequest): Static<Input> {
    const given = body as Static<Input> & { tenant_id?: unknown };
    return Object.hasOwn(fields, "tenant_id") ? ofTenant(given, caller?.tenantId) : given;
  }

  /** The body may repeat the key of the path. */
  function readReplacement(request: FastifyRequest): Static<Input> {
    const given = readInput(request);
    if (!isKeyGiven) return given;
    const { [key]: repeated = keyOf(request), ...rest } = given as Record<string, unknown>;
    if (repeated !== keyOf(request)) {
      const message = `${key} must be ${keyOf(request)}, as in the path, or be left out.`;
      throw invalidField(key, message);
    }
    return { [key]: keyOf(request), ...rest } as Static<Input>;
  }

  route(`GET ${path}`, readers, summaries.list, {
    query: resource.query,
    docs: docsOf("list"),
    async handle(request) {
      const { page, present } = await resource.list(request.query as Static<Query>, asked(request));
      return presentPage(page, present);
    },
  });

  const adopted = new WeakMap<FastifyRequest, Adopted>();
  route(`POST ${path}`, writers, summaries.make, {
    body: input,
    ...limit,
    async preValidation(request) {
      const made = resource.adopt?.(request.body);
      if (made === undefined) return;
      adopted.set(request, made);
      request.body = made.body;
    },
    docs: docsOf("make"),
    async handle(request, reply) {
      const saved = await resource.make(readInput(request), asked(request), adopted.get(request));
      return send(reply, { isNew: true, ...saved });
    },
  });

  route(`GET ${pathOfOne}`, readers, summaries.read, {
    ...ofOne,
    docs: docsOf("read"),
    handle: async (request, reply) => send(reply, { thing: await resource.get(keyOf(request), asked(request)) }),
  });

  const replacement = isKeyGiven ? Doc.closed({ ...fields, [key]: Type.Optional(Type.String()) }) : input;
  const replace = { body: replacement, ...chosen, ...limit };
  route(`PUT ${pathOfOne}`, writers, summaries.replace, {
    ...replace,
    docs: docsOf("replace"),
    handle: async (request, reply) =>
      send(reply, await resource.put(readReplacement(request), asked(request), keyOf(request))),
  });

  route(`POST ${pathOfOne}/plan`, writers, summaries.plan, {
    ...replace,
    docs: docsOf("plan"),
    handle: async (request) =>
      presentPlan(await rehearse(() => resource.put(readReplacement(request), asked(request), keyOf(request)))),
  });

  route(`PATCH ${pathOfOne}`, writers, summaries.change, {
    body: resource.change,
    ...ofOne,
    docs: docsOf("change"),
    handle: async (request, reply) =>
      send(reply, await resource.patch(keyOf(request), request.body as Change, asked(request))),
  });

  route(`DELETE ${pathOfOne}`, writers, summaries.remove, {
    ...ofOne,
    docs: docsOf("remove"),
    async handle(request, reply) {
      const left = await resource.remove(keyOf(request), asked(request));
      if (typeof left !== "object") return reply.code(204).send();
      return "gone" in left ? reply.send(left.gone) : send(reply, left);
    },
  });
  return send;
}

/** The effect of a change, derived from the entry that the audit log would get. */
function presentPlan([note]: readonly AuditNote[]): Doc.AnswerOf<typeof Plan> {
  if (note === undefined) return { act: "none", changes: [], secrets_changed: false };
  const { before = {}, after = {}, details = {} } = note;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return {
    act: note.act.endsWith(".create") ? "create" : "update",
    changes: [...names].map((field) => ({ field, before: before[field] ?? null, after: after[field] ?? null })),
    secrets_changed: Object.hasOwn(details, "secrets"),
  };
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const MAX_DEPTH = 500;

/** The `Idempotency-Key` with which a client makes sure that a repeated request is carried out only once. */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && KEY.test(key)) return key;
  throw invalidField("Idempotency-Key", "Idempotency-Key: must be 1 to 255 printable ASCII characters.");
}

/** Undefined for a request without an `Idempotency-Key`. */
function readOnce(request: FastifyRequest, scope: string, tenantId?: string): Once | undefined {
  const key = readIdempotencyKey(request);
  return key === undefined ? undefined : { scope, key, fingerprint: fingerprintOf(request.body), tenantId };
}

/**
 * The scope of keys for things of a tenant. A caller that is bound to the tenant has another one than operators: the
 * answer to a repeated request may contain a secret of what an operator has created.
 */
export function onceScope(things: string, tenantId: string, caller: Pick<Caller, "tenantId"> | undefined): string {
  return `${caller?.tenantId === undefined ? "" : "bound "}${things} ${tenantId}`;
}

function fingerprintOf(body: unknown): string {
  // A body that is nested deeper cannot be written as JSON again.
  if (isDeeperThan(body, MAX_DEPTH)) {
    throw new PosthornError("invalid_field", `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  return createHash("sha256").update(JSON.stringify(body)).digest("base64url");
}
