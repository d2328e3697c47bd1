import type { KeyStatus } from "../../manage/keys.ts";
import type { KeyRow } from "../../store/store.ts";
import { isoTime } from "./time.ts";

/** The one mapping of a key to the wire. Never the key nor its hash: the answer to create adds the key. */
export function presentKey(row: KeyRow, status: KeyStatus) {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix ?? null,
    scopes: row.scopes.split(" "),
    tenant_id: row.tenantId ?? null,
    status,
    created_at: isoTime(row.createdAt),
    expires_at: isoTime(row.expiresAt) ?? null,
    revoked_at: isoTime(row.revokedAt) ?? null,
  };
}
