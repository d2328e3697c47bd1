import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { formatAgo, print } from "./output.ts";

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

export async function runRevokeKey(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(`/api/v1/keys/${encodeURIComponent(id)}`);
  if (flags.json === true) return print(answer.text);
  const key = readAnswer(client, answer) as KeyAnswer;
  print(`${key.id}: ${key.status}`);
}
