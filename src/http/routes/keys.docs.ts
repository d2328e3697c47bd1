import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  ETAG,
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";
import { KeyInput } from "./keys.ts";

/** What may be set, and what is only shown. */
export const Key = named(
  "Key",
  closed({
    id: text(EXAMPLE.key),
    ...shownFields(KeyInput),
    prefix: nullable(text("phk_H6YC", "How the key begins")),
    status: oneOf(["active", "expired", "revoked"]),
    created_at: Time,
    revoked_at: nullable(Time),
  }),
);

const KEY = exampleOf(Key);
const request = { name: "billing", scopes: ["read"] };

export const KEY_DOCS: AreaDocs = {
  tag: "Keys",
  description: "Who may do what. Only their hashes are stored",
  operations: resourceDocs({
    path: "/api/v1/keys",
    key: { id: EXAMPLE.key },
    schema: Key,
    example: KEY,
    made: {
      description: "With the key itself, which is never shown again",
      schema: named("KeyWithSecret", extended(Key, { key: Type.String() })),
    },
    refusals: ["conflict"],
    list: { answer: { description: "The oldest first" } },
    make: {
      description:
        "A key that is bound to a tenant makes keys of that tenant; one that ends makes none that lives longer. " +
        "A tenant has at most `limits.max_keys_per_tenant` live keys.",
      request,
      answer: { example: { ...KEY, key: EXAMPLE.keyInClear } },
      otherAnswers: [
        {
          status: 200,
          description:
            "Created before with this `Idempotency-Key`; without the key itself, of which only the hash is kept",
          schema: Key,
          headers: ETAG,
        },
      ],
      errors: ["key_limit"],
    },
    read: { answer: { description: "The key, without the key itself" } },
    replace: {
      description: "The key itself stays the same; so does its tenant.",
      request,
      answer: { description: "Replaced, in force when the answer comes" },
      errors: ["key_limit"],
    },
    change: { request: { name: "billing" }, answer: { description: "Updated, in force when the answer comes" } },
    remove: {
      description: "In force when the answer comes.",
      answer: {
        status: 200,
        description: "Revoked for good",
        schema: Key,
        example: { ...KEY, status: "revoked", revoked_at: EXAMPLE.laterTime },
        headers: ETAG,
      },
    },
  }),
};
