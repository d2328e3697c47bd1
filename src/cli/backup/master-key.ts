import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox } from "../../resources/secret-box.ts";
import { MASTER_KEY, type Manifest } from "./manifest.ts";

export interface MasterKeyFinding {
  /** In words, for the report. */
  from: string;
  /** The key, when it was in the data directory that is replaced. */
  found: string | undefined;
  /** What the operator must do before a gateway can read the secrets. */
  missing: string | undefined;
}

/** Finds the master key that encrypted the secrets of a backup. */
export function findMasterKey(manifest: Manifest, dataDir: string): MasterKeyFinding {
  const { master_key_fingerprint: fingerprint, with_master_key } = manifest;
  if (with_master_key) return { from: "in the backup", found: undefined, missing: undefined };
  if (fingerprint === null) return { from: "none was created yet", found: undefined, missing: undefined };
  const path = join(dataDir, MASTER_KEY);
  const present = existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  if (present !== undefined && createSecretBox(present).fingerprint === fingerprint) {
    return { from: "the one that was already here", found: present, missing: undefined };
  }
  return {
    from: "not in the backup",
    found: undefined,
    missing:
      `the secrets are encrypted with a master key that is not in the backup (fingerprint ${fingerprint}). Put it into ` +
      `${path}, or set POSTHORN_MASTER_KEY, before the gateway starts`,
  };
}
