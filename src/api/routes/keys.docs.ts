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

/** The fields that can be set, and read-only fields. */
export const Key = named(
  "Key",
  closed({
    id: text(EXAMPLE.key),
    ...shownFields(KeyInput),
    prefix: nullable(text("phk_H6YC", "The first characters of the key")),
    status: oneOf(["active", "expired", "revoked"]),
    created_at: Time,
    revoked_at: nullable(Time),
  }),
);

const KEY = exampleOf(Key);
const request = { name: "billing", scopes: ["read"] };

export const KEY_DOCS: AreaDocs = {
  tag: "Keys",
  description: "API keys and what they allow. Only hashes of keys are stored",
  operations: resourceDocs({
    path: "/api/v1/keys",
    key: { id: EXAMPLE.key },
    schema: Key,
    example: KEY,
    made: {
      description: "Created. This is the only answer that shows the key itself",
      schema: named("KeyWithSecret", extended(Key, { key: Type.String() })),
    },
    refusals: ["conflict"],
    list: { answer: { description: "Keys, oldest first" } },
    make: {
      description:
        "A key that is bound to a tenant can create keys only for that tenant. A key that expires cannot create a " +
        "key that " +
        "expires later. A tenant has at most `limits.max_keys_per_tenant` active keys.",
      request,
      answer: { example: { ...KEY, key: EXAMPLE.keyInClear } },
      otherAnswers: [
        {
          status: 200,
          description:
            "Already created with this `Idempotency-Key`. The key itself is not shown, because only its hash is stored",
          schema: Key,
          headers: ETAG,
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
        example: { ...KEY, status: "revoked", revoked_at: EXAMPLE.laterTime },
        headers: ETAG,
      },
    },
  }),
};
