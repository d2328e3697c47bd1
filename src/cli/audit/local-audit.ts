import { userInfo } from "node:os";
import type { Config } from "../../config/settings-tree.ts";
import { deriveAuditSeed } from "../../domain/audit/audit-key.ts";
import type { Deed } from "../../registry/authors.ts";
import { loadOrCreateMasterKey } from "../../registry/key-files.ts";
import type { LocalWrite } from "../../store/sqlite/local-writes.ts";

/** What a command that works on the data directory itself writes into its audit log, by the user of this machine. */
export function openLocalAudit(
  config: Pick<Config, "masterKey" | "dataDir">,
  command: string,
  deed: Deed,
): Pick<LocalWrite, "audit" | "auditSeedHex"> {
  const masterKey = config.masterKey ?? loadOrCreateMasterKey(config.dataDir);
  return {
    auditSeedHex: deriveAuditSeed(masterKey),
    audit: { actor: `local:${findUser()}`, via: `posthorn ${command}`, ...deed },
  };
}

/** A container may run as a number that has no name. */
function findUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
