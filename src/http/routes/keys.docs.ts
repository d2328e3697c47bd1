import { Type } from "typebox";
import { SCOPES } from "../../registry/api-key.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  ETAG,
  IDEMPOTENCY_KEY,
  IF_MATCH,
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

const Key = named(
  "Key",
  closed({
    id: Type.String(),
    name: Type.String(),
    prefix: nullable(Type.String({ description: "How the key begins" })),
    scopes: Type.Array(oneOf(SCOPES)),
    tenant_id: nullable(Type.String({ description: "The tenant that it is bound to" })),
    status: oneOf(["active", "expired", "revoked"]),
    created_at: Time,
    expires_at: nullable(Time),
    revoked_at: nullable(Time),
  }),
);

const KEY = {
  id: EXAMPLE.key,
  name: "billing",
  prefix: "phk_H6YC",
  scopes: ["read"],
  tenant_id: EXAMPLE.tenant,
  status: "active",
  created_at: EXAMPLE.time,
  expires_at: null,
  revoked_at: null,
};

const params = { id: EXAMPLE.key };
const shown = { status: 200, schema: Key, example: KEY, headers: ETAG };
const made = {
  status: 201,
  description: "With the key itself, which is never shown again",
  schema: named("KeyWithSecret", extended(Key, { key: Type.String() })),
  headers: ETAG,
};

export const KEY_DOCS: AreaDocs = {
  tag: "Keys",
  description: "Who may do what. Only their hashes are stored",
  operations: {
    "POST /api/v1/keys": {
      description:
        "A key that is bound to a tenant makes keys of that tenant; one that ends makes none that lives longer. " +
        "A tenant has at most `limits.max_keys_per_tenant` live keys.",
      request: { name: "billing", scopes: ["read"] },
      headers: IDEMPOTENCY_KEY,
      answer: { ...made, example: { ...KEY, key: "phk_H6YC8sgpxmyWepwJL2kfRkjtvxRf0f5c2lBldEbabdg" } },
      otherAnswers: [
        {
          status: 200,
          description:
            "Made before with this `Idempotency-Key`; without the key itself, of which only the hash is kept",
          schema: Key,
          headers: ETAG,
        },
      ],
      errors: ["conflict", "idempotency_key_reused", "key_limit"],
    },
    "GET /api/v1/keys": {
      query: { limit: 20 },
      answer: { status: 200, description: "The oldest first", schema: pageSchema(Key), example: pageExample(KEY) },
    },
    "GET /api/v1/keys/:id": {
      params,
      answer: { ...shown, description: "The key, without the key itself" },
    },
    "PUT /api/v1/keys/:id": {
      description: "The key itself stays the same; so does its tenant.",
      params,
      request: { name: "billing", scopes: ["read"] },
      headers: IF_MATCH,
      answer: { ...shown, description: "Replaced, in force when the answer comes" },
      otherAnswers: [made],
      errors: ["conflict", "key_limit", "precondition_failed"],
    },
    "PATCH /api/v1/keys/:id": {
      params,
      request: { name: "billing" },
      headers: IF_MATCH,
      answer: { ...shown, description: "Changed, in force when the answer comes" },
      errors: ["conflict", "precondition_failed"],
    },
    "DELETE /api/v1/keys/:id": {
      description: "In force when the answer comes.",
      params,
      headers: IF_MATCH,
      answer: {
        ...shown,
        description: "Revoked for good",
        example: { ...KEY, status: "revoked", revoked_at: EXAMPLE.laterTime },
      },
      errors: ["conflict", "precondition_failed"],
    },
  },
};
