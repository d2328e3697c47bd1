import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import { until, type ApiClient, type ShownDelivery } from "./api-client.ts";
import type { ApiOperation } from "./api-document.ts";
import { refillQueue } from "./example-queue.ts";

/** Makes what the document's examples speak of, so that each can be run on a real gateway. */
export interface Owner {
  /** With an admin key of its own tenant. */
  readonly client: ApiClient;
  /** With an admin key that is bound to no tenant. */
  readonly operator: ApiClient;
  readonly tenant: string;
  /** A declared one of its own, with a request that was refused. */
  readonly source: string;
  /** Refuses whatever is sent there. */
  readonly sinkUrl: string;
}

export interface Thing {
  make: (owner: Owner) => string | Promise<string>;
  /** It is its owner's: for other tenants it does not exist. */
  isOwned?: boolean;
}

export interface ExampleRequest {
  method: string;
  path: string;
  body: unknown;
  usesOwned: boolean;
}

let number = 0;
const fresh = (prefix: string) => `${prefix}${number++}`;

export async function newSubscription({ client, sinkUrl, tenant }: Owner): Promise<string> {
  return (await client.subscribe({ name: fresh(`${tenant} `), url: sinkUrl, events: ["never.once"] })).id;
}

async function newRotation(owner: Owner): Promise<string> {
  const id = await newSubscription(owner);
  await owner.client.post(`/api/v1/subscriptions/${id}/rotate-secret`, {});
  return id;
}

/** With a delivery of its own subscription, which is dead or waits for ever. */
export async function newEvent({ client, sinkUrl, tenant }: Owner, end: "dead" | "held"): Promise<string> {
  const event_id = fresh("secret-");
  const event_type = `${tenant}.${event_id}`;
  const status = end === "dead" ? "active" : "inactive";
  await client.subscribe({ name: `${tenant} ${event_id}`, url: sinkUrl, events: [event_type], status });
  await client.publish({ event_type, payload: { private: `${tenant}'s data` }, event_id });
  if (end === "dead") await until(async () => (await client.deliveryOf(event_id)).status === "dead");
  return event_id;
}

async function newDelivery(owner: Owner, end: "dead" | "held"): Promise<ShownDelivery> {
  return owner.client.deliveryOf(await newEvent(owner, end));
}

/** Its subscription is paused: it gets nowhere by itself. */
async function newReplay(owner: Owner): Promise<string> {
  const subscription_id = await newSubscription(owner);
  await owner.client.post(`/api/v1/subscriptions/${subscription_id}/pause`);
  const { json } = await owner.client.post("/api/v1/replays", { kind: "dead_letters", filter: { subscription_id } });
  return String(json["id"]);
}

async function newPausedReplay(owner: Owner): Promise<string> {
  const id = await newReplay(owner);
  await owner.client.post(`/api/v1/replays/${id}/pause`);
  return id;
}

/** All dead letters of the tenant are one alert. */
export async function findAlert(owner: Owner): Promise<string> {
  const load = async () => {
    const { json } = await owner.client.get("/api/v1/alerts?status=active&rule=dead_letters");
    return (json["data"] as { id: string }[])[0]?.id;
  };
  if ((await load()) === undefined) await newEvent(owner, "dead");
  await until(async () => (await load()) !== undefined);
  return String(await load());
}

async function newKey({ client, tenant }: Owner): Promise<string> {
  const { json } = await client.post("/api/v1/keys", { name: `${tenant}'s key`, scopes: ["read"] });
  return String(json["id"]);
}

export async function newKeyInClear(client: ApiClient): Promise<string> {
  const { json } = await client.post("/api/v1/keys", { name: fresh("signs in "), scopes: ["read"] });
  return String(json["key"]);
}

async function newEventType({ operator }: Owner): Promise<string> {
  const name = fresh("shared.t");
  const versions = [{ version: "1.0", schema: { type: "object" }, example: {} }];
  await operator.post("/api/v1/event-types", { name, versions });
  return name;
}

async function newEndpoint({ operator }: Owner): Promise<string> {
  const endpoint = fresh("shop-orders");
  for (const validation of [{ type: "object" }, EXAMPLE.validation]) {
    const headers = { "content-type": "application/json" };
    await operator.request("PUT", `/validations/${endpoint}`, { body: JSON.stringify(validation), headers });
  }
  return endpoint;
}

async function newTenant({ operator, tenant }: Owner): Promise<string> {
  const { json } = await operator.post("/api/v1/tenants", { id: fresh(`${tenant}-`) });
  return String(json["id"]);
}

async function newPortalLink({ operator, tenant }: Owner): Promise<string> {
  const { json } = await operator.post(`/api/v1/tenants/${tenant}/portal-link`, {});
  return String(json["id"]);
}

async function newErasedTenant(owner: Owner): Promise<string> {
  const id = await newTenant(owner);
  await owner.operator.post(`/api/v1/tenants/${id}/erase`, { confirm: id });
  return id;
}

async function newWebhookRequest({ client, source, tenant }: Owner): Promise<string> {
  const { json } = await client.webhook(source, JSON.stringify({ private: tenant }));
  return String(json["event_id"]).replace("evt_", "req_");
}

/** By API; with a secret, which `findSecret` knows. */
async function newSource({ client }: Owner): Promise<string> {
  const name = fresh("hooks-");
  const secrets = [`whsec_${Buffer.alloc(32, name).toString("base64")}`];
  await client.post("/api/v1/sources", { name, secrets, path_token: true, ...SOURCE_SETTINGS });
  latestSource = name;
  return name;
}

async function newTarget({ client }: Owner): Promise<string> {
  const name = fresh("target-");
  await client.post("/api/v1/targets", { name, description: "private" });
  return name;
}

const SOURCE_SETTINGS = {
  auth: { header: "X-Shop-Token", token: "b8f1c2a09d3e47d6" },
  content_types: ["application/json"],
  event_type: "shop.order",
  id_from: "body:/id",
};
let latestSource = "";

/** Of the source that was made last, as an example that names both makes it first. */
async function findSecret({ client }: Owner): Promise<string> {
  const { json } = await client.get(`/api/v1/sources/${latestSource}`);
  return (json["secrets"] as { id: string }[] | undefined)?.[0]?.id ?? "sec_none";
}

async function newIgnoredRequest({ client }: Owner): Promise<string> {
  const name = fresh("ignoring");
  await client.post("/api/v1/sources", { name, only: ["nothing.at.all"] });
  await client.webhook(name, '{"private":1}');
  await until(async () => (await client.rejected(name)).length === 1);
  const [ignored] = await client.rejected(name);
  const body = JSON.stringify({ only: null });
  await client.request("PATCH", `/api/v1/sources/${name}`, { body, headers: { "content-type": "application/json" } });
  return String(ignored?.id);
}

async function findRefusedRequest({ client, source }: Owner): Promise<string> {
  const [refused] = await client.rejected(source);
  return String(refused?.id);
}

/** By the value that stands for it in the examples. */
export const THINGS: Readonly<Record<string, Thing>> = {
  [EXAMPLE.subscription]: { make: newSubscription, isOwned: true },
  [EXAMPLE.rotatingSubscription]: { make: newRotation, isOwned: true },
  [EXAMPLE.event]: { make: (owner) => newEvent(owner, "dead"), isOwned: true },
  [EXAMPLE.deadDelivery]: { make: async (owner) => (await newDelivery(owner, "dead")).id, isOwned: true },
  [EXAMPLE.heldDelivery]: { make: async (owner) => (await newDelivery(owner, "held")).id, isOwned: true },
  [EXAMPLE.runningReplay]: { make: newReplay, isOwned: true },
  [EXAMPLE.pausedReplay]: { make: newPausedReplay, isOwned: true },
  [EXAMPLE.request]: { make: newWebhookRequest, isOwned: true },
  [EXAMPLE.refusedRequest]: { make: findRefusedRequest, isOwned: true },
  [EXAMPLE.ownSource]: { make: newSource, isOwned: true },
  [EXAMPLE.queueSource]: { make: refillQueue },
  [EXAMPLE.ownTarget]: { make: newTarget, isOwned: true },
  [EXAMPLE.sourceSecret]: { make: findSecret, isOwned: true },
  [EXAMPLE.ignoredRequest]: { make: newIgnoredRequest, isOwned: true },
  [EXAMPLE.source]: { make: ({ source }) => source, isOwned: true },
  [EXAMPLE.alert]: { make: findAlert, isOwned: true },
  [EXAMPLE.key]: { make: newKey, isOwned: true },
  [EXAMPLE.keyInClear]: { make: ({ client }) => newKeyInClear(client) },
  [EXAMPLE.tenant]: { make: ({ tenant }) => tenant, isOwned: true },
  [EXAMPLE.portalLink]: { make: newPortalLink, isOwned: true },
  [EXAMPLE.emptyTenant]: { make: newTenant, isOwned: true },
  [EXAMPLE.erasedTenant]: { make: newErasedTenant, isOwned: true },
  [EXAMPLE.eventType]: { make: newEventType },
  [EXAMPLE.endpoint]: { make: newEndpoint },
  [EXAMPLE.destination]: { make: ({ sinkUrl }) => sinkUrl },
  [EXAMPLE.newName]: { make: () => fresh("ERP ") },
  [EXAMPLE.newSource]: { make: () => fresh("crm-") },
  [EXAMPLE.newTarget]: { make: () => fresh("erp-home-") },
  [EXAMPLE.newTenant]: { make: () => fresh("globex-") },
  [EXAMPLE.newEvent]: { make: () => fresh("order-") },
  [EXAMPLE.newEventType]: { make: () => fresh("order.paid") },
};

/** The example of an operation, with things that were made for it. */
export async function buildExample(operation: ApiOperation, owner: Owner, things = THINGS): Promise<ExampleRequest> {
  const made = new Map<string, string>();
  let usesOwned = false;

  async function fill(value: unknown): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map(fill));
    if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value).map(async ([key, member]) => [key, await fill(member)] as const);
      return Object.fromEntries(await Promise.all(entries));
    }
    const thing = typeof value === "string" && Object.hasOwn(things, value) ? things[value] : undefined;
    if (typeof value !== "string" || thing === undefined) return value;
    usesOwned ||= thing.isOwned === true;
    const known = made.get(value) ?? (await thing.make(owner));
    made.set(value, known);
    return known;
  }

  let { path } = operation;
  const query: string[] = [];
  for (const { name, in: place, example } of operation.parameters) {
    if (example === undefined || place === "header") continue;
    const text = encodeURIComponent(String(await fill(example)));
    if (place === "path") path = path.replace(`{${name}}`, text);
    else query.push(`${name}=${text}`);
  }
  const body = await fill(operation.body?.example);
  return { method: operation.method, path: query.length > 0 ? `${path}?${query.join("&")}` : path, body, usesOwned };
}

export function sendExample(client: ApiClient, { method, path, body }: Omit<ExampleRequest, "usesOwned">) {
  if (body === undefined) return client.request(method, path);
  return client.request(method, path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
}
