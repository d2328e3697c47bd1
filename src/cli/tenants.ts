import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, type Column, type ListFlags } from "./list.ts";
import { formatAgo, formatBytes, formatFacts, print } from "./output.ts";
import { readCount } from "./read-number.ts";

interface TenantAnswer {
  id: string;
  name: string;
  contact_email: string | null;
  quotas: Record<"subscriptions" | "events_per_minute" | "open_deliveries" | "stored_bytes", number | null>;
  retention: Record<"days" | "answers_days" | "dead_letters_days" | "refused_requests_days", number | null>;
  usage: Record<"subscriptions" | "open_deliveries" | "stored_bytes", number>;
  status: string;
  managed_by: string;
  created_at: string;
  updated_at: string;
}

export interface TenantFlags extends ClientFlags {
  name?: string;
  email?: string;
  status?: string;
  maxSubscriptions?: string;
  maxEventsPerMinute?: string;
  maxOpenDeliveries?: string;
  maxStoredBytes?: string;
  retentionDays?: string;
}

const COLUMNS: readonly Column<TenantAnswer>[] = [
  { heading: "TENANT", show: ({ id }) => id },
  { heading: "NAME", show: ({ name }) => name },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "SUBSCRIPTIONS", show: ({ usage, quotas }) => ofQuota(usage.subscriptions, quotas.subscriptions) },
  { heading: "OPEN", show: ({ usage, quotas }) => ofQuota(usage.open_deliveries, quotas.open_deliveries) },
  { heading: "STORED", show: ({ usage, quotas }) => ofQuota(usage.stored_bytes, quotas.stored_bytes, formatBytes) },
  { heading: "PER MINUTE", show: ({ quotas }) => String(quotas.events_per_minute ?? "-") },
  { heading: "CREATED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
];

function ofQuota(used: number, quota: number | null, format: (count: number) => string = String): string {
  return quota === null ? format(used) : `${format(used)} of ${format(quota)}`;
}

const pathOf = (id: string) => `/api/v1/tenants/${encodeURIComponent(id)}`;

export async function runListTenants(flags: ListFlags): Promise<void> {
  await printList(await connect(flags), "/api/v1/tenants", flags, { query: {}, columns: COLUMNS });
}

export async function runCreateTenant(id: string, flags: TenantFlags): Promise<void> {
  const body = JSON.stringify({ id, ...readSettings(flags) });
  const client = await connect(flags);
  show(client, await client.post("/api/v1/tenants", body, JSON_BODY), flags);
}

export async function runUpdateTenant(id: string, flags: TenantFlags): Promise<void> {
  const body = JSON.stringify(readSettings(flags));
  const client = await connect(flags);
  show(client, await client.patch(pathOf(id), body, JSON_BODY), flags);
}

const JSON_BODY = { "content-type": "application/json" };

function readSettings(flags: TenantFlags) {
  const quotas = {
    subscriptions: readQuota("--max-subscriptions", flags.maxSubscriptions),
    events_per_minute: readQuota("--max-events-per-minute", flags.maxEventsPerMinute),
    open_deliveries: readQuota("--max-open-deliveries", flags.maxOpenDeliveries),
    stored_bytes: readQuota("--max-stored-bytes", flags.maxStoredBytes),
  };
  const retention = { days: readQuota("--retention-days", flags.retentionDays) };
  return { name: flags.name, contact_email: flags.email, status: flags.status, quotas, retention };
}

function readQuota(flag: string, text: string | undefined): number | null | undefined {
  if (text === "none") return null;
  return text === undefined ? undefined : readCount(flag, text, { min: 0, max: 2 ** 50 });
}

export async function runShowTenant(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.get(pathOf(id)), flags);
}

export async function runDeleteTenant(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(pathOf(id));
  if (flags.json === true) return print(answer.text);
  print(`${id}: deleted`);
}

function describeRetention(days: number | null): string {
  if (days === null) return "as the gateway keeps them";
  return days === 0 ? "for ever" : `${days} days`;
}

function show(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const tenant = readAnswer(client, answer) as TenantAnswer;
  const { usage, quotas } = tenant;
  print(
    formatFacts([
      ["tenant", tenant.id],
      ["name", tenant.name],
      ["contact", tenant.contact_email],
      ["status", tenant.status],
      ["managed by", tenant.managed_by],
      ["subscriptions", ofQuota(usage.subscriptions, quotas.subscriptions)],
      ["open deliveries", ofQuota(usage.open_deliveries, quotas.open_deliveries)],
      ["stored", ofQuota(usage.stored_bytes, quotas.stored_bytes, formatBytes)],
      ["events per minute", quotas.events_per_minute === null ? null : `at most ${quotas.events_per_minute}`],
      ["events kept", describeRetention(tenant.retention.days)],
      ["created", `${tenant.created_at} (${formatAgo(tenant.created_at, Date.now())})`],
    ]),
  );
}
