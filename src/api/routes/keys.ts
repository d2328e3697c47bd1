import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { SCOPES } from "../../model/scopes.ts";
import { changeOf, oneOf, orNull } from "../../model/shape.ts";
import type { ApiKey } from "../../resources/api-key.ts";
import type { Caller, KeyChange as KeptChange, MadeKey } from "../../resources/keys.ts";
import type { Entry } from "../../resources/resource.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage, presentAs } from "../present.ts";
import { addResourceRoutes } from "./resource-routes.ts";
import { ADMIN, routesOf, type Parts } from "./route.ts";

const Key = Doc.shape("Key", () => ({
  id: Doc.text(EXAMPLE.key),
  ...Doc.shownFields(KeyInput),
  prefix: Doc.nullable(Doc.text("phk_H6YC", "The first characters of the key")),
  status: Doc.choice(["active", "expired", "revoked"]),
  created_at: Doc.Time,
  revoked_at: Doc.nullable(Doc.Time),
}));

const request = { name: "billing", scopes: ["read"] };

/** Names have no control characters; NUL would cut them off. */
const PLAIN = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

const KeyInput = Doc.closed({
  name: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: PLAIN,
    description: "What the key is for",
    examples: ["billing"],
  }),
  scopes: Type.Array(oneOf(SCOPES), { minItems: 1, uniqueItems: true, examples: [["read"]] }),
  tenant_id: Type.Optional(
    orNull(Type.String({ minLength: 1, maxLength: 128, pattern: PLAIN }), {
      description: "The tenant that the key is bound to; null for all tenants",
      examples: ["acme"],
    }),
  ),
  expires_at: Type.Optional(orNull(Type.String({ format: "date-time" }))),
});
type KeyInput = Static<typeof KeyInput>;
type KeyChange = Partial<Omit<KeyInput, "tenant_id">>;

const ListQuery = Doc.pageQuery({ tenant_id: Type.String({ maxLength: 128 }) });

export function addKeyRoutes(app: FastifyInstance, { keys, clock }: Parts): void {
  const route = routesOf(app, "Keys");
  /** The one mapping of a key to the wire. Never the key nor its hash: the answer to create adds the key. */
  const present = (key: ApiKey) => presentAs(Key, { ...key, status: keys.statusOf(key) });
  /** Adds the key in clear, which is never shown again. For a key created earlier only the hash is known. */
  const saved = ({ entry, key }: MadeKey) => ({
    thing: entry,
    isNew: key !== undefined,
    more: key === undefined ? {} : { key },
  });

  addResourceRoutes(route, {
    path: "/api/v1/keys",
    key: "id",
    words: ["a key", "keys"],
    summaries: {
      replace: "Create a key with a chosen id, or replace its settings",
      change: "Update the name, scopes or expiry of a key",
      remove: "Revoke a key",
    },
    readers: ADMIN,
    writers: ADMIN,
    input: KeyInput,
    change: changeOf(KeyInput.properties, ["tenant_id"]),
    query: ListQuery,
    chosenKey: Type.String({ pattern: "^(?!config$)[A-Za-z0-9_-]{1,64}$", description: "An id of your choice" }),
    async list(query, { tenantId }) {
      const { cursor } = query;
      const all = await keys.list(tenantId);
      const rest = cursor === undefined ? all : all.filter(({ id }) => id > cursor);
      return { page: cutPage(rest, query, ({ id }) => id), present: ({ thing }: Entry<ApiKey>) => present(thing) };
    },
    get: (id, { tenantId }) => keys.get(id, tenantId),
    // A bound key creates keys of its own tenant only, and none with more rights.
    async make({ name, scopes, tenant_id, expires_at: end }, { caller, once }) {
      const tenantId = tenant_id ?? undefined;
      const expiresAt = readEnd(end);
      const reject = () => rejectEnd(expiresAt, caller, clock.wall());
      const mark = once(`keys/${caller?.tenantId ?? ""}`, tenantId);
      const made = await keys.create({ name, scopes, tenantId, expiresAt }, mark, reject);
      return { ...saved(made), isReplay: made.isReplay };
    },
    async put({ name, scopes, tenant_id: given, expires_at: end }, { caller, ifMatch }, id) {
      const expiresAt = chooseEnd(end, caller, clock.wall());
      const by = { tenantId: caller?.tenantId, ifMatch, isTenantGiven: given !== undefined };
      return saved(await keys.put({ id, name, scopes, tenantId: given ?? undefined, expiresAt }, by));
    },
    async patch(id, { name, scopes, expires_at: end }: KeyChange, { caller, ifMatch }) {
      const expiresAt = end === undefined ? undefined : (chooseEnd(end, caller, clock.wall()) ?? null);
      const change = { name, scopes, expiresAt };
      const reject = (known: ApiKey) => rejectOutliving(known, change, caller);
      return { thing: await keys.change(id, caller?.tenantId, change, { ifMatch, reject }) };
    },
    // A revoked key stays visible.
    async remove(id, { caller, ifMatch }) {
      const entry = await keys.revoke(id, caller?.tenantId, ifMatch);
      return { thing: entry };
    },
    present: ({ thing }) => present(thing),
    docs: () => ({
      params: { id: EXAMPLE.key },
      schema: Key,
      made: {
        description: "Created. This is the only answer that shows the key itself",
        schema: Doc.extended(Key, () => ({ key: Type.String() }), "KeyWithSecret"),
      },
      refusals: ["conflict"],
      list: { answer: { description: "Keys, oldest first" } },
      make: {
        description:
          "A key that is bound to a tenant can create keys only for that tenant. A key that expires cannot create a " +
          "key that expires later. A tenant has at most `limits.max_keys_per_tenant` active keys.",
        request,
        answer: { example: { key: EXAMPLE.keyInClear } },
        otherAnswers: [
          {
            status: 200,
            description:
              "Already created with this `Idempotency-Key`. The key itself is not shown, because only its hash is stored",
            schema: Key,
            headers: Doc.ETAG,
          },
        ],
        errors: ["key_limit"],
      },
      read: { answer: { description: "The key's data, without the key itself" } },
      replace: {
        description: "The key itself and its tenant cannot be changed.",
        request,
        answer: { description: "Replaced, with immediate effect" },
        errors: ["key_limit"],
      },
      change: { request: { name: "billing" }, answer: { description: "Updated, with immediate effect" } },
      remove: {
        description: "Takes effect immediately.",
        answer: {
          status: 200,
          description: "Permanently revoked",
          schema: Key,
          example: { status: "revoked", revoked_at: EXAMPLE.laterTime },
          headers: Doc.ETAG,
        },
      },
    }),
  });
}

/** A key that expires cannot give rights to a key that expires later: its own expiry would mean nothing. */
function rejectOutliving(
  known: ApiKey,
  { scopes = [], expiresAt }: Pick<KeptChange, "scopes" | "expiresAt">,
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
    `This key expires at ${new Date(callersEnd).toISOString()} and cannot give ${gained.join(" and ")} to a key that ` +
      "expires later. Set its expires_at, too.",
    { field: "scopes" },
  );
}

function chooseEnd(wanted: KeyInput["expires_at"], caller: Caller | undefined, wall: number): number | undefined {
  const expiresAt = readEnd(wanted);
  rejectEnd(expiresAt, caller, wall);
  return expiresAt;
}

function readEnd(wanted: KeyInput["expires_at"]): number | undefined {
  return typeof wanted === "string" ? Date.parse(wanted) : undefined;
}

function rejectEnd(expiresAt: number | undefined, caller: Caller | undefined, wall: number): void {
  if (expiresAt !== undefined && !(expiresAt > wall)) {
    throw invalidField("expires_at", "expires_at must be in the future.");
  }
  const callersEnd = caller?.expiresAt;
  if (callersEnd !== undefined && (expiresAt === undefined || expiresAt > callersEnd)) {
    throw new PosthornError(
      "forbidden",
      `This key expires at ${new Date(callersEnd).toISOString()} and cannot create a key that expires later. Set ` +
        "expires_at.",
      { field: "expires_at" },
    );
  }
}
