/** What the example gateway is told to do: a shop that takes webhooks in and lets partners subscribe to its events. */
import type { ApiClient } from "../../test/support/api-client.ts";
import { must } from "./must.ts";

export const SECRETS = {
  github: "a-secret-of-github-3f9c0a71d2b84e66",
  shop: "a-secret-of-the-shop-91be77d204",
} as const;

const order = (extra: object = {}) => ({
  type: "object",
  required: ["order_id", "total"],
  properties: {
    order_id: { type: "integer" },
    total: { type: "number", minimum: 0 },
    currency: { enum: ["EUR", "SEK", "NOK"] },
    customer: { type: "string" },
    ...extra,
  },
});

const EVENT_TYPES = [
  ["order.created", "A customer placed an order", "shop", ["erp", "warehouse"], 3],
  ["order.paid", "The payment of an order was captured", "billing", ["erp"], 2],
  ["order.shipped", "The parcel of an order left the warehouse", "warehouse", ["customers"], 1],
  ["order.cancelled", "An order was cancelled before it was shipped", "shop", ["erp", "warehouse", "billing"], 1],
  ["invoice.sent", "An invoice was sent to a customer", "billing", ["data-lake"], 1],
  ["customer.updated", "A customer changed the address or the name", "crm", ["erp", "data-lake"], 2],
  ["stock.low", "Less than a week's supply of an article is left", "warehouse", ["purchasing"], 1],
] as const;

/** By name; everything that is not said has its default. */
const SUBSCRIPTIONS = {
  erp: {
    name: "ERP",
    url: "https://erp.nordwind.example/hooks/orders",
    events: ["order.#", "invoice.#"],
    labels: { team: "core" },
  },
  warehouse: {
    name: "Warehouse",
    url: "https://warehouse.nordwind.example/api/v2/events",
    events: ["order.created", "order.cancelled"],
    ordered: true,
    headers: { "X-Api-Key": "hidden-key-of-the-warehouse" },
    description: "Picks and packs. Needs the events of an order one after the other.",
    target: "warehouse",
  },
  billing: {
    name: "Billing",
    url: "https://billing.nordwind.example/webhooks",
    events: ["order.created", "order.paid"],
    suspend_after_dead: null,
    retry_policy: { delays_s: [30, 120, 600] },
    event_filter: { data: { total: { $gt: 0 } } },
  },
  chat: {
    name: "Team chat",
    url: "https://hooks.slack.example/services/T024BE7LD/B8KJ3/orders",
    events: ["order.created", "stock.low"],
    preset: "slack",
    event_filter: { data: { total: { $gte: 400 } } },
  },
  mail: {
    name: "Shipping mails",
    kind: "email",
    events: ["order.shipped"],
    destination: {
      to: "{{ data.customer }}@mail.example",
      subject: "Your order {{ data.order_id }} is on its way",
      text: "Hello, your parcel has left our warehouse.",
    },
  },
  crm: {
    name: "Legacy CRM",
    url: "https://crm.globex.example/soap/bridge/receive.aspx?environment=production&version=2011-10-01&tenant=globex-europe",
    events: ["customer.updated", "order.paid"],
    retry_policy: { delays_s: [20, 60] },
    suspend_after_dead: 12,
    tenant_id: "globex",
  },
  lake: {
    name: "Data lake, every event of every shop and warehouse in the Nordic countries and Germany (second copy)",
    url: "https://ingest.eu-north-1.lake.example/v1/streams/nordwind-commerce-events-production/partitions/by-ordering-key/records",
    events: ["#"],
    format: "cloudevents",
    concurrency: 64,
  },
  partner: {
    name: "متجر الشريك",
    url: "https://partner.initech.example/in",
    events: ["order.*"],
    tenant_id: "initech",
  },
  archive: { name: "Archive", url: "https://archive.nordwind.example/put", events: ["order.#"], status: "inactive" },
} as const;

export type Subscribed = Readonly<Record<keyof typeof SUBSCRIPTIONS, string>>;

export async function configure(client: ApiClient): Promise<Subscribed> {
  await addTenantsAndKeys(client);
  for (const [name, description, producer, consumers, versions] of EVENT_TYPES) {
    await must(
      client.post("/api/v1/event-types", {
        name,
        description,
        producer,
        consumers,
        enforce: false,
        ...(name === "order.cancelled" && { status: "deprecated", replaced_by: "order.shipped" }),
        versions: Array.from({ length: versions }, (_, at) => ({
          version: `${at + 1}.0`,
          schema: order(at > 0 ? { ship_to: { type: "object" } } : {}),
          example: { order_id: 1001, total: 249.9, currency: "EUR" },
        })),
      }),
    );
  }
  for (const source of [
    { name: "shop", kind: "shopify", secrets: [SECRETS.shop], ordering_key_from: "body:/id" },
    { name: "code", kind: "github", secrets: [SECRETS.github], only: ["push", "pull_request.#"] },
    { name: "crm", content_types: ["application/json"], event_type: "customer.updated" },
    { name: "legacy-erp-of-the-warehouse-in-gothenburg-north-harbour", path_token: true },
  ]) {
    await must(client.post("/api/v1/sources", source));
  }
  await must(client.post("/api/v1/sources/legacy-erp-of-the-warehouse-in-gothenburg-north-harbour/pause"));
  await must(
    client.post("/api/v1/targets", {
      name: "warehouse",
      url: "https://warehouse.nordwind.example",
      health_url: "https://warehouse.nordwind.example/health",
      description: "The warehouse in Gothenburg",
    }),
  );
  await addValidations(client);
  const ids: [string, string][] = [];
  for (const [key, settings] of Object.entries(SUBSCRIPTIONS)) {
    ids.push([key, String((await must(client.post("/api/v1/subscriptions", settings))).json["id"])]);
  }
  return Object.fromEntries(ids) as Subscribed;
}

async function addTenantsAndKeys(client: ApiClient): Promise<void> {
  for (const tenant of [
    {
      id: "globex",
      name: "Globex Europe",
      contact_email: "ops@globex.example",
      quotas: { subscriptions: 10, events_per_minute: 600, stored_bytes: 52_428_800 },
    },
    { id: "initech", name: "Initech", quotas: { subscriptions: 3 } },
    { id: "hooli", name: "Hooli", status: "inactive" },
  ]) {
    await must(client.post("/api/v1/tenants", tenant));
  }
  for (const key of [
    { name: "Grafana", scopes: ["read"] },
    { name: "Shop backend", scopes: ["publish"] },
    { name: "Globex", scopes: ["read", "publish"], tenant_id: "globex" },
    { name: "Continuous integration of the integration team in Stockholm", scopes: ["admin"] },
  ]) {
    await must(client.post("/api/v1/keys", key));
  }
  const { json } = await must(client.post("/api/v1/keys", { name: "Former consultant", scopes: ["admin"] }));
  await must(client.request("DELETE", `/api/v1/keys/${String(json["id"])}`));
}

async function addValidations(client: ApiClient): Promise<void> {
  const put = (endpoint: string, document: object) =>
    must(
      client.request("PUT", `/validations/${endpoint}`, {
        body: JSON.stringify(document, undefined, 2),
        headers: { "content-type": "application/json" },
      }),
    );
  await put("shop-orders", { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } });
  await put("shop-orders", order());
  await put(
    "shop-orders",
    order({ customer: { type: "string", minLength: 2 }, lines: { type: "array", minItems: 1 } }),
  );
  await put("stock-levels", { type: "object", required: ["article", "left"] });
}
