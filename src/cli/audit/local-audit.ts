import { userInfo } from "node:os";
import type { Config } from "../../config/settings-tree.ts";
import { deriveAuditSeed } from "../../model/audit.ts";
import type { AuditAction } from "../../resources/authors.ts";
import { loadOrCreateMasterKey } from "../../resources/secret-box.ts";
import type { LocalWrite } from "../../store/sqlite/local-writes.ts";

/** Writes the audit entry of a command that works on the data directory itself, in the name of this machine's user. */
export function openLocalAudit(
  config: Pick<Config, "masterKey" | "dataDir">,
  command: string,
  deed: AuditAction,
): Pick<LocalWrite, "audit" | "auditSeedHex"> {
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  return {
    auditSeedHex: deriveAuditSeed(masterKey),
    audit: { actor: `local:${findUser()}`, via: `posthorn ${command}`, ...deed },
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
