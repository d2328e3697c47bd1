import { readAnswer, type ApiAnswer, type ApiClient } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { CommandFailure } from "./failure.ts";
import { printList, readTime, type Column, type ListFlags } from "./list.ts";
import { countOf, formatAgo, formatFacts, print } from "./output.ts";
import { formatRate } from "./subscription-stats.ts";
import { readSubscriptionInput, type SubscriptionFlags } from "./subscription-input.ts";

interface SubscriptionAnswer {
  id: string;
  tenant_id: string;
  name: string;
  kind: string;
  /** Of those of the kind http; others have a destination of their own. */
  url?: string;
  destination?: unknown;
  events: string[];
  event_filter: unknown;
  status: string;
  format?: string;
  timeout: number;
  rate_limit: number | null;
  concurrency: number;
  ordered: boolean;
  retry_policy?: unknown;
  retry_count?: number;
  retry_interval?: number;
  labels: Record<string, string>;
  description: string | null;
  managed_by: string;
  created_by: string | null;
  created_at: string;
  stats: {
    delivery_count: number;
    failure_count: number;
    open_count: number;
    dead_count: number;
    last_delivery: string | null;
    success_rate_24h: number | null;
    latency_p50_ms: number | null;
    latency_p99_ms: number | null;
  };
  /** Only in the answer to create. */
  secret?: string;
}

const COLUMNS: readonly Column<SubscriptionAnswer>[] = [
  { heading: "SUBSCRIPTION", show: ({ id }) => id },
  { heading: "NAME", show: ({ name }) => name },
  { heading: "TENANT", show: ({ tenant_id }) => tenant_id },
  { heading: "STATUS", show: ({ status }) => status },
  { heading: "EVENTS", show: ({ events }) => events.join(", ") },
  { heading: "URL", show: ({ url, kind }) => url ?? `(${kind})` },
  { heading: "OPEN", show: ({ stats }) => String(stats.open_count) },
  { heading: "DEAD", show: ({ stats }) => String(stats.dead_count) },
  { heading: "SUCCESS 24H", show: ({ stats }) => formatRate(stats.success_rate_24h) },
  { heading: "LAST DELIVERY", show: ({ stats }, wallMs) => formatAgo(stats.last_delivery, wallMs) },
];

const PATH = "/api/v1/subscriptions";
const JSON_BODY = { "content-type": "application/json" };
const pathOf = (id: string, act = "") => `${PATH}/${encodeURIComponent(id)}${act}`;

export async function runListSubscriptions(flags: ListFlags & { label?: string }): Promise<void> {
  await printList(await connect(flags), PATH, flags, { query: { label: flags.label }, columns: COLUMNS });
}

export async function runShowSubscription(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  show(client, await client.get(pathOf(id)), flags);
}

export interface CreateSubscriptionFlags extends ClientFlags, SubscriptionFlags {
  id?: string;
  tenant?: string;
  idempotencyKey?: string;
}

export async function runCreateSubscription(name: string | undefined, flags: CreateSubscriptionFlags): Promise<void> {
  const { tenant, id, idempotencyKey } = flags;
  const input = readSubscriptionInput(name === undefined ? flags : { ...flags, name });
  const body = JSON.stringify({ ...input, ...(tenant !== undefined && { tenant_id: tenant }) });
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }) };
  const answer =
    id === undefined ? await client.post(PATH, body, headers) : await client.put(pathOf(id), body, headers);
  show(client, answer, flags);
}

export interface UpdateSubscriptionFlags extends ClientFlags, SubscriptionFlags {
  ifMatch?: string;
}

export async function runUpdateSubscription(id: string, flags: UpdateSubscriptionFlags): Promise<void> {
  const body = JSON.stringify(readSubscriptionInput(flags));
  const client = await connect(flags);
  const headers = { ...JSON_BODY, ...(flags.ifMatch !== undefined && { "if-match": flags.ifMatch }) };
  show(client, await client.patch(pathOf(id), body, headers), flags);
}

export async function runPauseSubscription(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  tellStatus(client, await client.post(pathOf(id, "/pause")), flags);
}

export async function runResumeSubscription(id: string, flags: ClientFlags & { skipHeld?: boolean }): Promise<void> {
  const client = await connect(flags);
  const body = flags.skipHeld === true ? JSON.stringify({ held: "skip" }) : undefined;
  tellStatus(client, await client.post(pathOf(id, "/resume"), body, body === undefined ? {} : JSON_BODY), flags);
}

function tellStatus(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const { id, status } = readAnswer(client, answer) as SubscriptionAnswer;
  print(`${id}: ${status}`);
}

/** The attempt; or the delivery, when none could be made now. */
interface TestAnswer {
  delivery_id?: string;
  result?: string;
  response_code?: number | null;
  duration_ms?: number;
  error?: string | null;
  hold_reason?: string | null;
}

/** Fails when the destination did not take it: for scripts that want to know. */
export async function runTestSubscription(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.post(pathOf(id, "/test"));
  const test = readAnswer(client, answer) as TestAnswer;
  if (flags.json === true) print(answer.text);
  else if (test.result !== undefined) {
    print(
      formatFacts([
        ["delivery", test.delivery_id],
        ["result", test.result],
        ["answer", test.response_code],
        ["took", test.duration_ms === undefined ? null : `${test.duration_ms} ms`],
        ["error", test.error],
      ]),
    );
  }
  if (test.result === "success") return;
  const waits = test.result === undefined ? ` yet: it waits (${test.hold_reason ?? "pending"})` : "";
  throw new CommandFailure(`The test event was not delivered${waits}.`);
}

export interface RecoverFlags extends ClientFlags {
  since: string;
  until?: string;
  include: string;
  plan?: boolean;
}

export async function runRecoverSubscription(id: string, flags: RecoverFlags): Promise<void> {
  const body = JSON.stringify({
    since: readTime("--since", flags.since),
    until: readTime("--until", flags.until),
    include: flags.include,
    plan: flags.plan,
  });
  const client = await connect(flags);
  const answer = await client.post(pathOf(id, "/recover"), body, JSON_BODY);
  if (flags.json === true) return print(answer.text);
  const facts = Object.entries(readAnswer(client, answer) as Record<string, unknown>);
  const plain = facts.filter((fact): fact is [string, string | number] =>
    ["string", "number"].includes(typeof fact[1]),
  );
  print(formatFacts(plain.map(([name, value]) => [name.replaceAll("_", " "), value])));
}

export async function runDeleteSubscription(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.remove(pathOf(id));
  if (flags.json === true) return print(answer.text);
  const { cancelled_deliveries: cancelled } = readAnswer(client, answer) as { cancelled_deliveries: number };
  print(`${id}: deleted, ${countOf(cancelled, "open delivery", "open deliveries")} cancelled`);
}

function show(client: ApiClient, answer: ApiAnswer, flags: ClientFlags): void {
  if (flags.json === true) return print(answer.text);
  const one = readAnswer(client, answer) as SubscriptionAnswer;
  const { stats } = one;
  const wallMs = Date.now();
  print(
    formatFacts([
      ["subscription", one.id],
      ["name", one.name],
      ["description", one.description],
      ["tenant", one.tenant_id],
      ["status", one.status],
      ["url", one.url ?? null],
      ["destination", one.destination === undefined ? null : `${one.kind} ${asText(one.destination)}`],
      ["events", one.events.join(", ")],
      ["filter", one.event_filter === null ? null : asText(one.event_filter)],
      ["format", one.format ?? null],
      ["ordered", one.ordered ? "by ordering key" : null],
      ["retries", describeRetries(one)],
      ["timeout", `${one.timeout} s`],
      ["at most", `${one.concurrency} at once${one.rate_limit === null ? "" : `, ${one.rate_limit} a minute`}`],
      [
        "labels",
        Object.entries(one.labels)
          .map((label) => label.join("="))
          .join(", "),
      ],
      [
        "made",
        `${one.created_at} (${formatAgo(one.created_at, wallMs)})${one.created_by === null ? "" : ` by ${one.created_by}`}`,
      ],
      ["managed by", one.managed_by],
      ["attempts", `${stats.delivery_count}, ${stats.failure_count} of them failed`],
      ["last delivery", stats.last_delivery === null ? null : formatAgo(stats.last_delivery, wallMs)],
      ["last 24 hours", describeDay(stats)],
      ["open", stats.open_count],
      ["dead letters", stats.dead_count],
      ["secret", one.secret],
    ]),
  );
}

function describeDay({
  success_rate_24h: rate,
  latency_p50_ms: p50,
  latency_p99_ms: p99,
}: SubscriptionAnswer["stats"]) {
  return rate === null ? null : `${formatRate(rate)} succeeded, half within ${p50} ms, 99% within ${p99} ms`;
}

function describeRetries({ retry_policy: policy, retry_count: count, retry_interval: interval }: SubscriptionAnswer) {
  return policy === undefined ? `${count}, ${interval} s apart` : asText(policy);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
