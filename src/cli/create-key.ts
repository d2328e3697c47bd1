import type { Scope } from "../model/scopes.ts";
import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import type { LocalFlags } from "./local.ts";
import { note, print, printJson } from "./output.ts";
import { findId, TENANT } from "./resources/find-by-name.ts";

export interface CreateKeyFlags extends LocalFlags, ClientFlags {
  local?: boolean;
}

/** The body of the API request. */
export interface KeyWish {
  name: string;
  scopes: Scope[];
  tenant_id?: string;
  expires_at?: string;
}

/** Through a running gateway; or in the database itself, so that the owner of the data can replace a lost key. */
export async function runCreateKey(flags: CreateKeyFlags, given: KeyWish): Promise<void> {
  const wish = { ...given, scopes: [...new Set(given.scopes)] };
  if (flags.local !== true) return createByGateway(flags, wish);
  if (flags.url !== undefined || flags.key !== undefined) {
    throw usageFailure("--local works without a gateway: leave out --url and --key.");
  }
  await createLocally(flags, wish);
}

async function createByGateway(flags: CreateKeyFlags, wish: KeyWish): Promise<void> {
  if (flags.config !== undefined || flags.dataDir !== undefined) {
    throw usageFailure("--config and --data-dir are only for keys that are created with --local.");
  }
  const client = await connect(flags);
  const { tenant_id: tenant } = wish;
  const tenantId = tenant === undefined ? undefined : await findId(client, TENANT, tenant);
  const body = JSON.stringify({ ...wish, tenant_id: tenantId });
  const answer = await client.post("/api/v1/keys", body, { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const { id, key } = readAnswer(client, answer) as { id: string; key: string };
  tell(id, key, wish);
}

async function createLocally(flags: CreateKeyFlags, wish: KeyWish): Promise<void> {
  const [
    { getDatabasePath },
    { createIdSource },
    { createSystemRandom },
    { createApiKey, KEYS, toNewKeyChange },
    { addRecordToDatabase, refuseMissingDatabase },
    { describeNew },
    { openLocalAudit },
    local,
  ] = await Promise.all([
    import("../config/store-url.ts"),
    import("../model/ids.ts"),
    import("../model/clock.ts"),
    import("../resources/api-key.ts"),
    import("../store/sqlite/local-writes.ts"),
    import("../resources/draft.ts"),
    import("./audit/local-audit.ts"),
    import("./local.ts"),
  ]);
  const { config } = local.loadLocal(flags);
  const file = getDatabasePath(config);
  refuseMissingDatabase(file);
  const { name, scopes, tenant_id: tenantId, expires_at: expires } = wish;
  const id = createIdSource({ wall: Date.now }, createSystemRandom())("key");
  const expiresAt = expires === undefined ? undefined : Date.parse(expires);
  const { key, made } = createApiKey({ id, name, scopes, tenantId, createdAt: Date.now(), expiresAt });
  addRecordToDatabase(toNewKeyChange(made), {
    ...openLocalAudit(config, "keys create --local", describeNew(KEYS, made)),
    file,
    at: made.createdAt,
  });
  if (flags.json !== true) return tell(id, key, wish);
  printJson({ id, key, name, scopes, tenant_id: tenantId ?? null, expires_at: expires ?? null });
}

function tell(id: string, key: string, { name, scopes, tenant_id: tenant }: KeyWish): void {
  const where = tenant === undefined ? "" : ` in the tenant ${tenant}`;
  note(`${id} "${name}" allows ${scopes.join(", ")}${where}; shown only now`);
  print(key);
}
