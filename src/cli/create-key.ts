import type { Scope } from "../registry/api-key.ts";
import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import type { KeyAnswer } from "./keys.ts";
import type { LocalFlags } from "./local.ts";
import { note, parseEnd, print, printJson } from "./output.ts";

export interface CreateKeyFlags extends LocalFlags, ClientFlags {
  local?: boolean;
  name: string;
  scope: Scope[];
  tenant?: string;
  expires?: string;
}

/** By a running gateway; or on the database itself, so that a lost key can always be replaced by who owns the data. */
export async function runCreateKey(flags: CreateKeyFlags): Promise<void> {
  const scopes = [...new Set(flags.scope)];
  const expiresAt = readEnd(flags.expires);
  if (flags.local !== true) return createByGateway(flags, scopes, expiresAt);
  if (flags.url !== undefined || flags.key !== undefined) {
    throw usageFailure("--local asks no gateway: leave --url and --key out.");
  }
  await createLocally(flags, scopes, expiresAt);
}

async function createByGateway(flags: CreateKeyFlags, scopes: readonly Scope[], expires_at: string | undefined) {
  if (flags.config !== undefined || flags.dataDir !== undefined) {
    throw usageFailure("--config and --data-dir are for keys that are made with --local.");
  }
  const client = await connect(flags);
  const body = JSON.stringify({ name: flags.name, scopes, tenant_id: flags.tenant, expires_at });
  const answer = await client.post("/api/v1/keys", body, { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const made = readAnswer(client, answer) as KeyAnswer;
  tell(made.id, flags, scopes);
  print(made.key ?? "");
}

async function createLocally(flags: CreateKeyFlags, scopes: readonly Scope[], expires: string | undefined) {
  const [
    { getDatabasePath },
    { createIdSource },
    { createSystemRandom },
    { createApiKey, toNewKeyChange },
    { addRecordToDatabase },
    local,
  ] = await Promise.all([
    import("../config/store-url.ts"),
    import("../domain/ids.ts"),
    import("../domain/system-clock.ts"),
    import("../registry/api-key.ts"),
    import("../store/sqlite/add-record.ts"),
    import("./local.ts"),
  ]);
  const { config } = local.loadLocal(flags);
  const { name, tenant: tenantId } = flags;
  const createId = createIdSource({ wall: Date.now }, createSystemRandom());
  const expiresAt = expires === undefined ? undefined : Date.parse(expires);
  const id = createId("key");
  const { key, made } = createApiKey({ id, name, scopes, tenantId, createdAt: Date.now(), expiresAt });
  addRecordToDatabase(getDatabasePath(config), toNewKeyChange(made), made.createdAt);
  if (flags.json === true) {
    return printJson({ id, key, name, scopes, tenant_id: tenantId ?? null, expires_at: expires ?? null });
  }
  tell(id, flags, scopes);
  print(key);
}

function tell(id: string, { name, tenant }: CreateKeyFlags, scopes: readonly Scope[]): void {
  const where = tenant === undefined ? "" : ` in the tenant ${tenant}`;
  note(`${id} "${name}" allows ${scopes.join(", ")}${where}; shown only now`);
}

export function readEnd(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const end = parseEnd(text, Date.now());
  if (end === undefined) throw usageFailure(`--expires: "${text}" is no time to come; write RFC 3339, or 12h, 30d.`);
  return end;
}
