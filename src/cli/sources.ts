import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { formatAgo, formatBytes, formatFacts, note, print } from "./output.ts";
import { readCount } from "./read-number.ts";
import { readSecretFile, readSourceInput, type SourceFlags } from "./source-input.ts";

interface SourceAnswer {
  name: string;
  kind: string;
  tenant_id: string;
  status: string;
  secrets: { id: string; hint: string; created_at: string; ends_at: string | null }[];
  auth: { header: string } | null;
  allowed_ips: string[] | null;
  max_bytes: number;
  methods: string[];
  content_types: string[] | null;
  answer_within: number | null;
  event_type: string | null;
  id_from: string | null;
  ordering_key_from: string | null;
  priority_from: string | null;
  only: string[] | null;
  path_token: string | null;
  options: Record<string, unknown>;
  managed_by: string;
  created_at: string;
  last_request_at: string | null;
}

interface RequestAnswer {
  id: string;
  source: string;
  received_at: string;
  remote_address: string;
  method: string;
  path: string;
  size: number;
  outcome: string;
  cause: string | null;
  events: { event_id: string | null; outcome: string; cause: string | null }[];
  replayed_at: string | null;
  replayed_by: string | null;
  replay_event_ids: string[];
  /** Only in the answer to a replay. */
  result?: { outcome: string; cause: string | null };
}

const COLUMNS: readonly Column<SourceAnswer>[] = [
  { heading: "SOURCE", show: ({ name }) => name },
  { heading: "KIND", show: ({ kind }) => kind },
  { heading: "TENANT", show: ({ tenant_id }) => tenant_id },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "EVENTS", show: ({ only }) => only?.join(", ") ?? "all" },
  { heading: "MANAGED BY", show: ({ managed_by }) => managed_by },
  { heading: "LAST REQUEST", show: ({ last_request_at }, wallMs) => formatAgo(last_request_at, wallMs) },
];

const REQUEST_COLUMNS: readonly Column<RequestAnswer>[] = [
  { heading: "REQUEST", show: ({ id }) => id },
  { heading: "RECEIVED", show: ({ received_at }, wallMs) => formatAgo(received_at, wallMs) },
  { heading: "FROM", show: ({ remote_address }) => remote_address },
  { heading: "WHAT", show: ({ method, path }) => `${method} ${path}` },
  { heading: "SIZE", show: ({ size }) => formatBytes(size) },
  { heading: "OUTCOME", show: ({ outcome }) => outcome },
  { heading: "CAUSE", show: ({ cause }) => cause ?? "-" },
  { heading: "REPLAYED", show: ({ replayed_at }, wallMs) => formatAgo(replayed_at, wallMs) },
];

const PATH = "/api/v1/sources";
const JSON_BODY = { "content-type": "application/json" };
const pathOf = (name: string, act = "") => `${PATH}/${encodeURIComponent(name)}${act}`;

export async function runListSources(flags: ListFlags & { kind?: string; status?: string }): Promise<void> {
  const { kind, status } = flags;
  await printList(await connect(flags), PATH, flags, { query: { kind, status }, columns: COLUMNS });
}

export async function runGetSource(name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.get(pathOf(name)), flags);
}

export interface CreateSourceFlags extends ClientFlags, SourceFlags {
  tenant?: string;
  idempotencyKey?: string;
}

export async function runCreateSource(name: string, flags: CreateSourceFlags): Promise<void> {
  const { tenant, idempotencyKey } = flags;
  const input = { ...readSourceInput(flags), name, ...(tenant !== undefined && { tenant_id: tenant }) };
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }) };
  show(client, await client.post(PATH, JSON.stringify(input), headers), flags);
}

export interface UpdateSourceFlags extends ClientFlags, SourceFlags {
  ifMatch?: string;
}

export async function runUpdateSource(name: string, flags: UpdateSourceFlags): Promise<void> {
  const body = JSON.stringify(readSourceInput(flags));
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(flags.ifMatch !== undefined && { "if-match": flags.ifMatch }) };
  show(client, await client.patch(pathOf(name), body, headers), flags);
}

export async function runActOnSource(act: string, name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.post(pathOf(name, `/${act}`));
  if (flags.json === true) return print(answer.text);
  print(`${name}: ${(readAnswer(client, answer) as SourceAnswer).status}`);
}

export interface RotateSourceFlags extends ClientFlags {
  overlap?: string;
  secretFile?: string;
}

export async function runRotateSourceSecret(name: string, flags: RotateSourceFlags): Promise<void> {
  const { overlap, secretFile } = flags;
  const body = JSON.stringify({
    secret: secretFile === undefined ? undefined : readSecretFile(secretFile),
    overlap_s: overlap === undefined ? undefined : readCount("--overlap", overlap, { min: 0, max: 31_536_000 }),
  });
  const client = await connect(flags);
  const answer = await client.post(pathOf(name, "/rotate-secret"), body, JSON_BODY);
  if (flags.json === true) return print(answer.text);
  const { secret, secrets } = readAnswer(client, answer) as SourceAnswer & { secret: string };
  const [, before] = secrets;
  const endsAt = before?.ends_at ?? null;
  note(endsAt === null ? "it alone counts" : `those before it count until ${endsAt}`);
  // Alone, so that it can be caught by a variable.
  print(secret);
}

export async function runShowSourcePath(name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(pathOf(name, "/path-token"));
  if (flags.json === true) return print(answer.text);
  print((readAnswer(client, answer) as { path: string }).path);
}

export async function runDeleteSource(name: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(pathOf(name));
  if (flags.json === true) return print(answer.text);
  print(`${name}: deleted`);
}

export interface SourceRequestsFlags extends ListFlags {
  outcome?: string;
  cause?: string;
}

export async function runListSourceRequests(name: string, flags: SourceRequestsFlags): Promise<void> {
  const { outcome, cause } = flags;
  const client = await connect(flags);
  await printList(client, pathOf(name, "/requests"), flags, { query: { outcome, cause }, columns: REQUEST_COLUMNS });
}

export async function runShowRequest(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  showRequest(client, await client.get(`/api/v1/requests/${encodeURIComponent(id)}`), flags);
}

export async function runReplayRequest(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  showRequest(client, await client.post(`/api/v1/requests/${encodeURIComponent(id)}/replay`), flags);
}

function showRequest(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const one = readAnswer(client, answer) as RequestAnswer;
  print(
    formatFacts([
      ["request", one.id],
      ["source", one.source],
      ["received", `${one.received_at} (${formatAgo(one.received_at, Date.now())}) from ${one.remote_address}`],
      ["what", `${one.method} ${one.path}, ${formatBytes(one.size)}`],
      ["outcome", describeOutcome(one)],
      ["events", one.events.map((part) => `${part.event_id ?? "-"} ${describeOutcome(part)}`).join(", ")],
      ["replayed", one.replayed_at === null ? null : `${one.replayed_at} by ${one.replayed_by ?? "somebody"}`],
      ["new events", one.replay_event_ids.join(", ")],
      ["now", one.result === undefined ? null : describeOutcome(one.result)],
    ]),
  );
}

function describeOutcome({ outcome, cause }: { outcome: string; cause: string | null }): string {
  return cause === null ? outcome : `${outcome} (${cause})`;
}

function show(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const one = readAnswer(client, answer) as SourceAnswer;
  const isTokenShown = one.path_token !== null && one.path_token !== "***";
  const options = Object.entries(one.options).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  print(
    formatFacts([
      ["source", one.name],
      ["kind", one.kind],
      ["tenant", one.tenant_id],
      ["status", one.status],
      ["path", `/webhook/${one.name}${one.path_token === null ? "" : `/${one.path_token}`}`],
      ["secrets", one.secrets.map(({ id, hint }) => `${id} (${hint})`).join(", ")],
      ["token in", one.auth?.header],
      ["allowed ips", one.allowed_ips?.join(", ")],
      ["takes", `${one.methods.join(", ")} up to ${formatBytes(one.max_bytes)}`],
      ["content types", one.content_types?.join(", ")],
      ["answer within", one.answer_within === null ? null : `${one.answer_within} s`],
      ["event type", one.event_type],
      ["id from", one.id_from],
      ["ordering key from", one.ordering_key_from],
      ["priority from", one.priority_from],
      ["only", one.only?.join(", ")],
      ["options", options.join(", ")],
      ["managed by", one.managed_by],
      ["made", `${one.created_at} (${formatAgo(one.created_at, Date.now())})`],
      ["last request", one.last_request_at === null ? null : formatAgo(one.last_request_at, Date.now())],
    ]),
  );
  if (isTokenShown) note("the path is a secret: who knows it may send");
}
