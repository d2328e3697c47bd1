import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { readTargetInput, type TargetSettingFlags } from "./target-input.ts";
import { countOf, formatAgo, formatFacts, print } from "./output.ts";

interface TargetAnswer {
  name: string;
  tenant_id: string;
  shared: boolean;
  subscriptions: string[];
  mode: string;
  forced: string | null;
  since: string | null;
  reason: string | null;
  health: string;
  checked_at: string | null;
  queue_length: number;
  failures: number;
  last_error: string | null;
  health_url: string | null;
}

export interface TargetFlags extends ClientFlags {
  tenant?: string;
}

export interface CreateTargetFlags extends TargetFlags, TargetSettingFlags {
  idempotencyKey?: string;
}

export interface UpdateTargetFlags extends TargetFlags, TargetSettingFlags {
  ifMatch?: string;
}

const JSON_BODY = { "content-type": "application/json" };

const COLUMNS: readonly Column<TargetAnswer>[] = [
  { heading: "TARGET", show: ({ name }) => name },
  { heading: "TENANT", show: ({ tenant_id }) => tenant_id },
  { heading: "MODE", show: describeMode },
  { heading: "SINCE", show: ({ since }, wallMs) => formatAgo(since, wallMs) },
  { heading: "HEALTH", show: ({ health }) => health },
  { heading: "WAITING", show: ({ queue_length }) => String(queue_length) },
  { heading: "FAILURES", show: ({ failures }) => String(failures) },
  { heading: "LAST ERROR", show: ({ last_error }) => last_error ?? "-" },
];

const pathOf = (name: string, { tenant }: TargetFlags, act = "") =>
  `/api/v1/targets/${encodeURIComponent(name)}${act}` +
  (tenant === undefined ? "" : `?tenant_id=${encodeURIComponent(tenant)}`);

export async function runListTargets(flags: ListFlags): Promise<void> {
  await printList(await connect(flags), "/api/v1/targets", flags, { query: {}, columns: COLUMNS });
}

export async function runShowTarget(name: string, flags: TargetFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.get(pathOf(name, flags)), flags);
}

export async function runCreateTarget(name: string, flags: CreateTargetFlags): Promise<void> {
  const { tenant, idempotencyKey } = flags;
  const input = { ...readTargetInput(flags), name, ...(tenant !== undefined && { tenant_id: tenant }) };
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }) };
  show(client, await client.post("/api/v1/targets", JSON.stringify(input), headers), flags);
}

export async function runUpdateTarget(name: string, flags: UpdateTargetFlags): Promise<void> {
  const body = JSON.stringify(readTargetInput(flags));
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(flags.ifMatch !== undefined && { "if-match": flags.ifMatch }) };
  show(client, await client.patch(pathOf(name, flags), body, headers), flags);
}

export async function runDeleteTarget(name: string, flags: TargetFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(pathOf(name, flags));
  if (flags.json === true) return print(answer.text);
  print(`${name}: deleted`);
}

export async function runSetMode(name: string, mode: string, flags: TargetFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.post(pathOf(name, flags, "/mode"), JSON.stringify({ mode }), JSON_BODY), flags);
}

export async function runDrain(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.post(`/api/v1/subscriptions/${encodeURIComponent(id)}/drain`);
  if (flags.json === true) return print(answer.text);
  const { waiting } = readAnswer(client, answer) as { waiting: number };
  print(`${id}: trying ${countOf(waiting, "delivery", "deliveries")}`);
}

function describeMode({ mode, forced }: TargetAnswer): string {
  return forced === null ? mode : `${mode} (by hand)`;
}

function show(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const target = readAnswer(client, answer) as TargetAnswer;
  const wallMs = Date.now();
  print(
    formatFacts([
      ["target", target.name],
      ["tenant", target.tenant_id],
      ["subscriptions", target.shared ? target.subscriptions.join(", ") : null],
      ["mode", describeMode(target)],
      ["since", target.since === null ? null : `${target.since} (${formatAgo(target.since, wallMs)})`],
      ["reason", target.reason],
      ["health", target.health],
      ["health url", target.health_url],
      ["checked", target.checked_at === null ? null : formatAgo(target.checked_at, wallMs)],
      ["waiting", countOf(target.queue_length, "delivery", "deliveries")],
      ["failures", target.failures],
      ["last error", target.last_error],
    ]),
  );
}
