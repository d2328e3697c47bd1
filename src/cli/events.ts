import { memberSpans } from "../domain/json-members.ts";
import { readAnswer, type ApiAnswer } from "./api-client.ts";
import { connect, type ClientFlags } from "./connect.ts";
import { DELIVERY_COLUMNS, type DeliveryAnswer } from "./deliveries.ts";
import { printList, readTime, type Column, type ListFlags } from "./list.ts";
import { countOf, formatAgo, formatBytes, formatFacts, formatTable, print } from "./output.ts";

interface EventAnswer {
  event_id: string;
  event_type: string;
  event_version: string;
  source: string;
  tenant_id: string;
  priority: string;
  ordering_key: string | null;
  timestamp: string;
  status: string;
  unmatched: boolean;
  received_at: string;
  content_type: string | null;
  size: number;
  delivery_count: number;
  deliveries: DeliveryAnswer[];
  payload_base64?: string;
}

export interface EventListFlags extends ListFlags {
  type?: string;
  source?: string;
  since?: string;
  until?: string;
  status?: string;
  unmatched?: boolean;
  id?: string;
  orderingKey?: string;
  label?: string[];
  text?: string;
}

const COLUMNS: readonly Column<EventAnswer>[] = [
  { heading: "EVENT", show: ({ event_id }) => event_id },
  { heading: "TYPE", show: ({ event_type }) => event_type },
  { heading: "SOURCE", show: ({ source }) => source },
  { heading: "STATUS", show: ({ status, unmatched }) => (unmatched ? `${status} (unmatched)` : status) },
  { heading: "DELIVERIES", show: ({ delivery_count }) => String(delivery_count) },
  { heading: "SIZE", show: ({ size }) => formatBytes(size) },
  { heading: "RECEIVED", show: ({ received_at }, wallMs) => formatAgo(received_at, wallMs) },
];

export async function runListEvents(flags: EventListFlags): Promise<void> {
  const query = {
    event_type: flags.type,
    source: flags.source,
    since: readTime("--since", flags.since),
    until: readTime("--until", flags.until),
    status: flags.status,
    unmatched: flags.unmatched === true ? "true" : undefined,
    id: flags.id,
    ordering_key: flags.orderingKey,
    label: flags.label,
    text: flags.text,
  };
  await printList(await connect(flags), "/api/v1/events", flags, { query, columns: COLUMNS });
}

export async function runShowEvent(id: string, flags: ClientFlags): Promise<void> {
  const client = await connect(flags);
  const answer = await client.get(`/api/v1/events/${encodeURIComponent(id)}`);
  if (flags.json === true) return print(answer.text);
  const event = readAnswer(client, answer) as EventAnswer;
  const wallMs = Date.now();
  print(
    formatFacts([
      ["event", event.event_id],
      ["type", `${event.event_type} (version ${event.event_version})`],
      ["status", event.unmatched ? `${event.status} (unmatched)` : event.status],
      ["source", event.source],
      ["tenant", event.tenant_id],
      ["priority", event.priority],
      ["ordering key", event.ordering_key],
      ["received", `${event.received_at} (${formatAgo(event.received_at, wallMs)})`],
      ["content type", event.content_type],
      ["size", formatBytes(event.size)],
    ]),
  );
  if (event.deliveries.length > 0) print(`\n${formatDeliveries(event.deliveries, wallMs)}`);
  print(`\n${findPayload(answer)}`);
}

export async function runReplayEvent(id: string, flags: ClientFlags & { subscription?: string }): Promise<void> {
  const client = await connect(flags);
  const { subscription: subscription_id } = flags;
  const path = `/api/v1/events/${encodeURIComponent(id)}/replay`;
  const answer =
    subscription_id === undefined
      ? await client.post(path)
      : await client.post(path, JSON.stringify({ subscription_id }), { "content-type": "application/json" });
  if (flags.json === true) return print(answer.text);
  const { deliveries } = readAnswer(client, answer) as { deliveries: DeliveryAnswer[] };
  print(`${id}: ${countOf(deliveries.length, "delivery", "deliveries")} opened again`);
  if (deliveries.length > 0) print(formatDeliveries(deliveries, Date.now()));
}

function formatDeliveries(deliveries: readonly DeliveryAnswer[], wallMs: number): string {
  const rows = deliveries.map((delivery) => DELIVERY_COLUMNS.map(({ show }) => show(delivery, wallMs)));
  return formatTable(
    DELIVERY_COLUMNS.map(({ heading }) => heading),
    rows,
  );
}

/** As it was sent: read and written again, numbers beyond 2^53 would change. */
function findPayload({ text }: ApiAnswer): string {
  const json = Buffer.from(text);
  const spans = memberSpans(json, 0, json.length);
  const span = spans.get("payload") ?? spans.get("payload_base64");
  return span === undefined ? "" : json.toString("utf8", span.start, span.end);
}
