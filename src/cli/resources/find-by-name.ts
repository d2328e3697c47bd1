import { suggestName } from "../../model/nearest-name.ts";
import { readAnswer, type ApiClient, type Query } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { asText, type Row } from "./fields.ts";
import type { Named } from "./resource.ts";

export const SUBSCRIPTION: Named = { noun: "subscription", path: "/api/v1/subscriptions", prefix: "sub_" };
/** Normally the first thing that names a tenant creates it; here a misspelt name must not create one. */
export const TENANT: Named = { noun: "tenant", path: "/api/v1/tenants", create: "posthorn tenants create" };
export const KEY: Named = { noun: "key", path: "/api/v1/keys", prefix: "key_" };

const PAGE_SIZE = 500;

/** Finds the id for an id or a name. An id takes precedence. */
export async function findId(client: ApiClient, of: Named, given: string): Promise<string> {
  const { noun, path, prefix, create } = of;
  if (prefix !== undefined && given.startsWith(prefix)) return given;
  const known = await client.get(`${path}/${encodeURIComponent(given)}`, {}, [403, 404]);
  // A key without permission to list leaves the check to the gateway.
  if (known.status !== 404) return given;
  const all = await listAll(client, path);
  const meant = all.filter(({ name }) => name === given);
  const [only, ...others] = meant.map(({ id }) => asText(id) ?? "");
  if (only === undefined) {
    const names = all.map(({ name }) => asText(name) ?? "");
    const hint = create === undefined ? "" : ` \`${create} ${given}\` creates it.`;
    throw new CommandFailure(`No ${noun} has the id or name "${given}"${suggestName(given, names) || "."}${hint}`);
  }
  if (others.length === 0) return only;
  throw new CommandFailure(`${meant.length} ${noun}s have the name "${given}": ${describeIds(meant)}. Use an id.`);
}

/** The ids to choose from, with what tells them apart. */
export function describeIds(rows: readonly Row[]): string {
  const texts = rows.map(({ id, tenant_id: tenant }) => {
    const of = asText(tenant);
    return `${asText(id)}${of === undefined ? "" : ` (tenant ${of})`}`;
  });
  return texts.join(", ");
}

/** Finds the names of ids. An id without a name, or of a resource that may not be listed, is left out. */
export async function listNames(client: ApiClient, { path }: Named): Promise<ReadonlyMap<string, string>> {
  const answer = await client.get(path, { limit: PAGE_SIZE }, [403]);
  if (answer.status === 403) return new Map();
  const { data } = readAnswer(client, answer) as { data: Row[] };
  return new Map(data.flatMap(({ id, name }) => (typeof name === "string" ? [[asText(id) ?? "", name]] : [])));
}

export async function listAll(client: ApiClient, path: string, query: Query = {}): Promise<readonly Row[]> {
  const all: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = readAnswer(client, await client.get(path, { ...query, limit: PAGE_SIZE, cursor })) as {
      data: Row[];
      next_cursor: string | null;
    };
    all.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}
