import { getDatabasePath } from "../config/store-url.ts";
import { createIdSource } from "../domain/ids.ts";
import { createSystemRandom } from "../domain/system-clock.ts";
import { createApiKey, type Scope } from "../manage/keys.ts";
import { addKeyToDatabase } from "../store/sqlite/add-key.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { note, print, printJson } from "./output.ts";

export interface CreateKeyFlags extends LocalFlags {
  name: string;
  scope: Scope[];
  tenant?: string;
}

/** Works on the database itself, so that a lost key can always be replaced by whoever owns the data. */
export function runCreateKey(flags: CreateKeyFlags): void {
  const { config } = loadLocal(flags);
  const { name, scope, tenant: tenantId } = flags;
  const scopes = [...new Set(scope)];
  const createId = createIdSource({ wall: Date.now }, createSystemRandom());
  const { key, row } = createApiKey({ id: createId("key"), name, scopes, tenantId, createdAt: Date.now() });
  addKeyToDatabase(getDatabasePath(config), row);
  if (flags.json === true) return printJson({ id: row.id, key, name, scopes, tenant_id: tenantId ?? null });
  note(
    `${row.id} "${name}" allows ${scopes.join(", ")}${tenantId === undefined ? "" : ` in the tenant ${tenantId}`}; shown only now`,
  );
  print(key);
}
