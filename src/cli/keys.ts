import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { readEnd } from "./create-key.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { formatAgo, formatFacts, print } from "./output.ts";

export interface KeyAnswer {
  id: string;
  name: string;
  prefix: string | null;
  scopes: string[];
  tenant_id: string | null;
  status: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Only in the answer to create. */
  key?: string;
}

const COLUMNS: readonly Column<KeyAnswer>[] = [
  { heading: "KEY", show: ({ id }) => id },
  { heading: "BEGINS", show: ({ prefix }) => prefix ?? "-" },
  { heading: "NAME", show: ({ name }) => name },
  { heading: "SCOPES", show: ({ scopes }) => scopes.join(", ") },
  { heading: "TENANT", show: ({ tenant_id }) => tenant_id ?? "-" },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "CREATED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
  { heading: "EXPIRES", show: ({ expires_at }, wallMs) => formatAgo(expires_at, wallMs) },
];

export async function runListKeys(flags: ListFlags): Promise<void> {
  await printList(await connect(flags), "/api/v1/keys", flags, { query: {}, columns: COLUMNS });
}

export interface UpdateKeyFlags extends ClientFlags {
  name?: string;
  scope?: string[];
  expires?: string;
}

const pathOf = (id: string) => `/api/v1/keys/${encodeURIComponent(id)}`;

export async function runShowKey(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.get(pathOf(id)), flags);
}

export async function runUpdateKey(id: string, flags: UpdateKeyFlags): Promise<void> {
  const expires_at = flags.expires === "never" ? null : readEnd(flags.expires);
  const body = JSON.stringify({ name: flags.name, scopes: flags.scope && [...new Set(flags.scope)], expires_at });
  const client = await connect(flags);
  show(client, await client.patch(pathOf(id), body, { "content-type": "application/json" }), flags);
}

function show(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const key = readAnswer(client, answer) as KeyAnswer;
  const wallMs = Date.now();
  print(
    formatFacts([
      ["key", key.id],
      ["name", key.name],
      ["begins", key.prefix],
      ["scopes", key.scopes.join(", ")],
      ["tenant", key.tenant_id],
      ["status", key.status],
      ["created", `${key.created_at} (${formatAgo(key.created_at, wallMs)})`],
      ["expires", key.expires_at],
      ["revoked", key.revoked_at],
    ]),
  );
}

export async function runRevokeKey(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(pathOf(id));
  if (flags.json === true) return print(answer.text);
  const key = readAnswer(client, answer) as KeyAnswer;
  print(`${key.id}: ${key.status}`);
}
