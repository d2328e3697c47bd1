import { readAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { printList, readTime, type Column, type ListFlags } from "./list.ts";
import { formatAgo, formatFacts, formatTable, print, shorten } from "./output.ts";

export interface DeliveryAnswer {
  id: string;
  event_id: string;
  event_type: string;
  tenant_id: string;
  subscription_id: string;
  status: string;
  hold_reason: string | null;
  attempt_count: number;
  next_attempt_at: string | null;
  last_error: string | null;
  dead_reason: string | null;
  created_at: string;
  completed_at: string | null;
}

interface AttemptAnswer {
  number: number;
  started_at: string;
  duration_ms: number;
  result: string;
  trigger: string;
  url: string | null;
  response_code: number | null;
  response_body: string | null;
  error: string | null;
}

export interface DeliveryListFlags extends ListFlags {
  status?: string;
  subscription?: string;
}

export interface DeadLetterFlags extends ListFlags {
  subscription?: string;
  reason?: string;
  type?: string;
  since?: string;
  until?: string;
}

export const DELIVERY_COLUMNS: readonly Column<DeliveryAnswer>[] = [
  { heading: "DELIVERY", show: ({ id }) => id },
  { heading: "EVENT", show: ({ event_id }) => event_id },
  { heading: "TYPE", show: ({ event_type }) => event_type },
  { heading: "SUBSCRIPTION", show: ({ subscription_id }) => subscription_id },
  { heading: "STATUS", show: describeStatus },
  { heading: "ATTEMPTS", show: ({ attempt_count }) => String(attempt_count) },
  { heading: "NEXT", show: ({ next_attempt_at }, wallMs) => formatAgo(next_attempt_at, wallMs) },
  { heading: "CREATED", show: ({ created_at }, wallMs) => formatAgo(created_at, wallMs) },
  { heading: "LAST ERROR", show: ({ last_error }) => last_error ?? "-" },
];

function describeStatus({ status, hold_reason, dead_reason }: DeliveryAnswer): string {
  const reason = hold_reason ?? dead_reason;
  return reason === null ? status : `${status} (${reason})`;
}

export async function runListDeliveries(flags: DeliveryListFlags): Promise<void> {
  const query = { status: flags.status, subscription_id: flags.subscription };
  await printList(await connect(flags), "/api/v1/deliveries", flags, { query, columns: DELIVERY_COLUMNS });
}

export async function runListDeadLetters(flags: DeadLetterFlags): Promise<void> {
  const query = {
    subscription_id: flags.subscription,
    reason: flags.reason,
    event_type: flags.type,
    since: readTime("--since", flags.since),
    until: readTime("--until", flags.until),
  };
  const columns = DELIVERY_COLUMNS.filter(({ heading }) => heading !== "NEXT");
  await printList(await connect(flags), "/api/v1/dead-letters", flags, { query, columns });
}

const MAX_BODY_CHARACTERS = 400;

export async function runShowDelivery(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(`/api/v1/deliveries/${encodeURIComponent(id)}`);
  if (flags.json === true) return print(answer.text);
  const delivery = readAnswer(client, answer) as DeliveryAnswer & { attempts: AttemptAnswer[] };
  const wallMs = Date.now();
  print(
    formatFacts([
      ["delivery", delivery.id],
      ["event", `${delivery.event_id} (${delivery.event_type})`],
      ["subscription", delivery.subscription_id],
      ["tenant", delivery.tenant_id],
      ["status", describeStatus(delivery)],
      ["created", `${delivery.created_at} (${formatAgo(delivery.created_at, wallMs)})`],
      ["next attempt", delivery.next_attempt_at && formatAgo(delivery.next_attempt_at, wallMs)],
      ["completed", delivery.completed_at && formatAgo(delivery.completed_at, wallMs)],
      ["last error", delivery.last_error],
    ]),
  );
  if (delivery.attempts.length === 0) return;
  const rows = delivery.attempts.map((attempt) => [
    String(attempt.number),
    formatAgo(attempt.started_at, wallMs),
    `${attempt.duration_ms} ms`,
    attempt.trigger,
    attempt.result,
    attempt.response_code === null ? "-" : String(attempt.response_code),
    attempt.error ?? "-",
  ]);
  print(`\n${formatTable(["ATTEMPT", "STARTED", "TOOK", "TRIGGER", "RESULT", "ANSWER", "ERROR"], rows)}`);
  const last = delivery.attempts.at(-1);
  if (last?.response_body)
    print(`\n${formatFacts([["last answer", shorten(last.response_body, MAX_BODY_CHARACTERS)]])}`);
}

export async function runRetryDelivery(id: string, flags: ClientFlags): Promise<void> {
  await act(`/api/v1/deliveries/${encodeURIComponent(id)}/retry`, undefined, flags);
}

export async function runCancelDelivery(id: string, flags: ClientFlags): Promise<void> {
  await act(`/api/v1/deliveries/${encodeURIComponent(id)}/cancel`, undefined, flags);
}

export async function runReplayDeadLetter(id: string, flags: ClientFlags): Promise<void> {
  await act("/api/v1/dead-letters/replay", JSON.stringify({ id }), flags);
}

async function act(path: string, body: string | undefined, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.post(path, body, body === undefined ? {} : { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const delivery = readAnswer(client, answer) as DeliveryAnswer;
  print(`${delivery.id}: ${describeStatus(delivery)}`);
}
