import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient, until, type ApiClient } from "./api-client.ts";
import { ADMIN_KEY, startGatewayProcess } from "./gateway-process.ts";
import { openSinkServer } from "./sink-server.ts";
import {
  RARE,
  storeWeek,
  WEEK_SOURCES,
  WEEK_TENANTS,
  WEEK_TYPES,
  type WeekEvent,
  type WeekLane,
} from "./stored-week.ts";

/** A gateway as a process of its own that has been busy for a week: every page of its dashboard has something to show. */
export interface BusyGateway {
  readonly url: string;
  readonly client: ApiClient;
  /** Of the subscription that got one event, a week ago, and none since. */
  readonly quietId: string;
  /** How long the events took to store. */
  readonly filledMs: number;
  /** What it has logged since it is filled. */
  readLog(): string;
  close(): Promise<void>;
}

/** Its events are delivered to a sink, one by one. */
export const LOAD_SOURCE = "load";
const REJECTED_REQUESTS = 300;

export async function startBusyGateway(count: number, env: Record<string, string> = {}): Promise<BusyGateway> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-busy-"));
  const sink = await openSinkServer();
  let gateway = startGatewayProcess({ folder, env });
  async function close(): Promise<void> {
    await gateway.kill("SIGTERM");
    await sink.close();
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    let url = await gateway.ready;
    const client = createApiClient({ url: () => url }, ADMIN_KEY);
    const lanes = await configure(client, sink.url);
    await gateway.kill("SIGTERM");
    const startedAt = performance.now();
    await storeWeek(folder, { count, lanes });
    const filledMs = performance.now() - startedAt;
    gateway = startGatewayProcess({ folder, env });
    url = await gateway.ready;
    // What has died in that week is told of once the rules were looked at.
    await until(async () => ((await client.get("/api/v1/alerts?status=active")).json["data"] as []).length > 0);
    const quietId = lanes.find(({ wants }) => wants === isFirst)?.id ?? "";
    return { url, client, quietId, filledMs, readLog: () => gateway.output, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const all = () => true;
const isFirst = ({ number }: WeekEvent) => number < WEEK_TENANTS.length * 8 && number % 2 === 0;
const isOrder = ({ type }: WeekEvent) => type.startsWith("order.");

/** One in so many dies. */
const diesEvery =
  (nth: number) =>
  ({ number }: WeekEvent) =>
    number % nth === 0 ? ("dead" as const) : ("delivered" as const);

const SUBSCRIPTIONS: readonly (Omit<WeekLane, "id"> & { name: string; events: string[]; status?: "inactive" })[] = [
  { name: "ERP", tenantId: "default", events: ["order.#", "invoice.#", "user.#"], wants: all, endOf: diesEvery(211) },
  { name: "Warehouse", tenantId: "default", events: ["order.*"], wants: isOrder },
  { name: "Quiet", tenantId: "default", events: ["seldom.*"], wants: isFirst },
  {
    name: "Paused",
    tenantId: "default",
    events: ["later.*"],
    status: "inactive",
    wants: ({ number }) => number % 500 === 0,
    endOf: () => "open",
  },
  { name: "Acme", tenantId: "acme", events: ["order.*"], wants: isOrder, endOf: diesEvery(53) },
  { name: "Acme archive", tenantId: "acme", events: ["#"], wants: all },
  { name: "Globex CRM", tenantId: "globex", events: ["#"], wants: all, endOf: diesEvery(997) },
  { name: "Globex mail", tenantId: "globex", events: ["user.*"], wants: ({ type }) => type.startsWith("user.") },
];

/** Through the API, as people do it. */
async function configure(client: ApiClient, sinkUrl: string): Promise<WeekLane[]> {
  const make = async (path: string, body: unknown) => {
    const { status, text } = await client.post(path, body);
    if (status >= 300) throw new Error(`POST ${path} answered ${status}: ${text}`);
  };
  for (const id of WEEK_TENANTS.filter((tenant) => tenant !== "default")) await make("/api/v1/tenants", { id });
  for (const name of [...WEEK_SOURCES, LOAD_SOURCE]) await make("/api/v1/sources", { name });
  for (const name of WEEK_TYPES) await make("/api/v1/event-types", { name, description: `What ${name} tells` });
  await make("/api/v1/keys", { name: "Dashboard on the wall", scopes: ["read"] });
  await client.request("PUT", "/validations/shop", {
    body: '{"type":"object"}',
    headers: { "content-type": "application/json" },
  });
  for (let n = 0; n < REJECTED_REQUESTS; n++) await client.webhook("shop", `{"broken": ${n}`);

  await client.subscribe({ name: "Load", url: sinkUrl, events: [`webhook.${LOAD_SOURCE}`] });
  const lanes: WeekLane[] = [];
  for (const { name, events, status = "active", ...lane } of SUBSCRIPTIONS) {
    const settings = { name, url: sinkUrl, events, status, tenant_id: lane.tenantId };
    lanes.push({ ...lane, id: (await client.subscribe(settings)).id });
  }
  await make("/api/v1/replays", { kind: "dead_letters", filter: { subscription_id: lanes[0]?.id } });
  return lanes;
}

export const eventsWith = (filters: Record<string, string>) => `/events?${new URLSearchParams(filters).toString()}`;

/** Views that people open, by what they look for. */
export function listViews({ quietId }: Pick<BusyGateway, "quietId">): Record<string, string> {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  return {
    "events of a type": eventsWith({ event_type: "order.paid" }),
    "events of a pattern": eventsWith({ event_type: "order.*" }),
    "events of a tenant's source": eventsWith({ tenant_id: "acme", source: "billing" }),
    "failed events": eventsWith({ status: "FAILED" }),
    "pending events": eventsWith({ status: "PENDING" }),
    "events by a field of the payload": eventsWith({ data: '{"order":{"total":{"$gt":500}}}' }),
    "events by a field that few have": eventsWith({ data: JSON.stringify({ coupon: RARE.coupon }) }),
    "events by a field that none has": eventsWith({ data: '{"nowhere":true}' }),
    "events by a text that few have": eventsWith({ text: RARE.coupon }),
    "events of a type that few have": eventsWith({ event_type: RARE.type }),
    "events of two hours of last week": eventsWith({ since: daysAgo(5), until: daysAgo(5 - 2 / 24) }),
    "events by an ordering key": eventsWith({ ordering_key: "customer-4711" }),
    "the last week on the overview": "/overview?window=last_7d",
    "dead letters of a cause": "/dead-letters?reason=refused",
    "dead letters of a type": "/dead-letters?event_type=order.paid",
    "dead letters of a tenant": "/dead-letters?tenant_id=acme",
    "rejected requests of a source": "/requests?source=shop",
    "a subscription that has long got nothing": `/subscriptions/${quietId}`,
  };
}
