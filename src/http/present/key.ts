import type { ApiKey } from "../../registry/api-key.ts";
import type { KeyStatus } from "../../registry/keys.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Key as Described } from "../routes/keys.docs.ts";
import { isoTime } from "./time.ts";

/** The one mapping of a key to the wire. Never the key nor its hash: the answer to create adds the key. */
export function presentKey(key: ApiKey, status: KeyStatus): AnswerOf<typeof Described> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix ?? null,
    scopes: key.scopes,
    tenant_id: key.tenantId ?? null,
    status,
    created_at: isoTime(key.createdAt),
    expires_at: isoTime(key.expiresAt) ?? null,
    revoked_at: isoTime(key.revokedAt) ?? null,
  };
}
