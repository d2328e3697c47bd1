import { userInfo } from "node:os";
import type { Config } from "../config/settings-tree.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { deriveAuditSeed } from "../model/audit.ts";
import { createIdSource } from "../model/ids.ts";
import { createSystemRandom } from "../model/clock.ts";
import { createApiKey, KEYS, toNewKeyChange } from "../resources/api-key.ts";
import type { AuditAction } from "../resources/authors.ts";
import { describeNew } from "../resources/draft.ts";
import { loadOrCreateMasterKey } from "../resources/secret-box.ts";
import { addRecordToDatabase, type LocalWrite, rejectMissingDatabase } from "../store/sqlite/local-writes.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import type { NewKey } from "./resources/keys.ts";

/** Commands that write into the data directory itself, without a gateway. */

/** A key in the database, so that the owner of the data can replace a lost one. */
export function createKeyLocally(flags: LocalFlags, request: NewKey): { id: string; key: string } {
  const { config } = loadLocal(flags);
  const file = getDatabasePath(config);
  rejectMissingDatabase(file);
  const { name, scopes, tenant_id: tenantId, expires_at: expires } = request;
  const id = createIdSource({ wall: Date.now }, createSystemRandom())("key");
  const expiresAt = expires === undefined ? undefined : Date.parse(expires);
  const { key, made } = createApiKey({ id, name, scopes, tenantId, createdAt: Date.now(), expiresAt });
  addRecordToDatabase(toNewKeyChange(made), {
    ...openLocalAudit(config, "keys create --local", describeNew(KEYS, made)),
    file,
    at: made.createdAt,
  });
  return { id, key };
}

/** Writes the audit entry of a command that works on the data directory itself, in the name of this machine's user. */
export function openLocalAudit(
  config: Pick<Config, "masterKey" | "dataDir">,
  command: string,
  action: AuditAction,
): Pick<LocalWrite, "audit" | "auditSeedHex"> {
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  return {
    auditSeedHex: deriveAuditSeed(masterKey),
    audit: { actor: `local:${findUser()}`, via: `posthorn ${command}`, ...action },
  };
}

/** In a container the user id may have no name. */
function findUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
