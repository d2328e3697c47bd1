import { Type } from "typebox";
import { SCOPES } from "../../manage/keys.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
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

export const KEY_DOCS: AreaDocs = {
  tag: "Keys",
  description: "Who may do what. Only their hashes are stored",
  operations: {
    "POST /api/v1/keys": {
      description: "A key that is bound to a tenant makes keys of that tenant.",
      request: { name: "billing", scopes: ["read"] },
      answer: {
        status: 201,
        description: "With the key itself, which is never shown again",
        schema: named("KeyWithSecret", extended(Key, { key: Type.String() })),
        example: { ...KEY, key: "phk_H6YC8sgpxmyWepwJL2kfRkjtvxRf0f5c2lBldEbabdg" },
      },
    },
    "GET /api/v1/keys": {
      query: { limit: 20 },
      answer: { status: 200, description: "The oldest first", schema: pageSchema(Key), example: pageExample(KEY) },
    },
    "GET /api/v1/keys/:id": {
      params: { id: EXAMPLE.key },
      answer: { status: 200, description: "The key, without the key itself", schema: Key, example: KEY },
    },
    "DELETE /api/v1/keys/:id": {
      description: "In force when the answer comes.",
      params: { id: EXAMPLE.key },
      answer: {
        status: 200,
        description: "Revoked for good",
        schema: Key,
        example: { ...KEY, status: "revoked", revoked_at: EXAMPLE.laterTime },
      },
      errors: ["conflict"],
    },
  },
};
