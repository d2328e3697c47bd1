import type { Scope } from "../../src/manage/keys.ts";
import { until, type ApiClient, type ShownDelivery } from "../support/api-client.ts";

/**
 * What each route is to answer to whom. Every route of the gateway has an entry here: a new one without it fails the
 * test. `cases` name what belongs to the tenant `victim`, made afresh for each call because some calls use it up.
 */
export interface RouteEntry {
  /** Undefined: open to everybody. */
  scope?: Scope;
  /** Only for keys that are bound to no tenant. */
  unbound?: boolean;
  cases: (victim: Victim) => readonly RouteCase[] | Promise<readonly RouteCase[]>;
}

export interface RouteCase {
  path: string;
  body?: unknown;
  /** What a key of another tenant gets: 404 as if it did not exist; or success, but nothing of the victim's. */
  stranger: 404 | 403 | "own";
}

/** Makes things of the tenant `victim`; everything that people name carries its name, to be found in a leak. */
export interface Victim {
  /** With its own admin key. */
  readonly client: ApiClient;
  /** With an admin key that is bound to no tenant. */
  readonly operator: ApiClient;
  /** Refuses whatever is sent there. */
  readonly sinkUrl: string;
}

let number = 0;

async function newSubscription({ client, sinkUrl }: Victim): Promise<string> {
  return (await client.subscribe({ name: `victim ${number++}`, url: sinkUrl, events: ["never.once"] })).id;
}

/** With a delivery of its own subscription, which is dead or waits for ever. */
async function newEvent({ client, sinkUrl }: Victim, end: "dead" | "held"): Promise<string> {
  const event_id = `secret-${number++}`;
  const event_type = `victim.${event_id}`;
  const status = end === "dead" ? "active" : "inactive";
  await client.subscribe({ name: `victim ${event_id}`, url: sinkUrl, events: [event_type], status });
  await client.publish({ event_type, payload: { private: "victim's data" }, event_id });
  if (end === "dead") await until(async () => (await client.deliveryOf(event_id)).status === "dead");
  return event_id;
}

async function newDelivery(victim: Victim, end: "dead" | "held"): Promise<ShownDelivery> {
  return victim.client.deliveryOf(await newEvent(victim, end));
}

async function newKey({ client }: Victim): Promise<string> {
  const { json } = await client.post("/api/v1/keys", { name: "victim's key", scopes: ["read"] });
  return String(json["id"]);
}

async function newEventType({ operator }: Victim): Promise<string> {
  const name = `shared.t${number++}`;
  await operator.post("/api/v1/event-types", { name, versions: [{ version: "1.0", schema: { type: "object" } }] });
  return name;
}

const at = (stranger: RouteCase["stranger"], path: string, body?: unknown): RouteCase => ({ path, body, stranger });
const onSubscription =
  (suffix = "", body?: unknown) =>
  async (victim: Victim) => [at(404, `/api/v1/subscriptions/${await newSubscription(victim)}${suffix}`, body)];
/** A rotation is under way and confirmed, so that either step can follow. */
const onRotation = (suffix: string) => async (victim: Victim) => {
  const path = `/api/v1/subscriptions/${await newSubscription(victim)}`;
  await victim.client.post(`${path}/rotate-secret`, {});
  return [at(404, path + suffix, {})];
};
const onEventType =
  (suffix = "", body?: unknown) =>
  async (victim: Victim) => [at(403, `/api/v1/event-types/${await newEventType(victim)}${suffix}`, body)];
const onTenant =
  (body?: unknown): RouteEntry["cases"] =>
  () => [at(403, "/api/v1/tenants/victim", body)];
const open = (path: string): RouteEntry => ({ cases: () => [at("own", path)] });
const lists =
  (path: string): RouteEntry["cases"] =>
  async (victim) => [
    at("own", path),
    at("own", `${path}?tenant_id=victim`),
    at(404, `${path}?subscription_id=${await newSubscription(victim)}`),
  ];

export const ROUTE_MATRIX: Readonly<Record<string, RouteEntry>> = {
  "GET /health": open("/health"),
  "GET /livez": open("/livez"),
  "GET /readyz": open("/readyz"),
  "GET /status": { scope: "read", cases: () => [at("own", "/status")] },
  "GET /metrics": { scope: "read", unbound: true, cases: () => [at(403, "/metrics")] },

  "POST /api/v1/events": {
    scope: "publish",
    cases: () => [
      at(403, "/api/v1/events", { event_type: "a.b", payload: {}, tenant_id: "victim" }),
      at("own", "/api/v1/events", [{ event_type: "a.b", payload: {}, tenant_id: "victim" }]),
      at("own", "/api/v1/events", { event_type: "a.b", payload: {} }),
    ],
  },
  "GET /api/v1/events": {
    scope: "read",
    cases: async (victim) => [
      at("own", "/api/v1/events"),
      at("own", "/api/v1/events?tenant_id=victim&limit=500"),
      at("own", `/api/v1/events?id=${await newEvent(victim, "dead")}`),
      at("own", "/api/v1/events?text=private&status=FAILED"),
    ],
  },
  "GET /api/v1/events/export": {
    scope: "read",
    cases: async (victim) => [
      at("own", "/api/v1/events/export"),
      at("own", "/api/v1/events/export?tenant_id=victim"),
      at("own", `/api/v1/events/export?id=${await newEvent(victim, "dead")}`),
    ],
  },
  "GET /api/v1/events/:id": {
    scope: "read",
    cases: async (victim) => [at(404, `/api/v1/events/${await newEvent(victim, "dead")}`)],
  },
  "POST /api/v1/events/:id/replay": {
    scope: "admin",
    cases: async (victim) => [at(404, `/api/v1/events/${await newEvent(victim, "dead")}/replay`)],
  },

  "GET /api/v1/deliveries": { scope: "read", cases: lists("/api/v1/deliveries") },
  "GET /api/v1/deliveries/:id": {
    scope: "read",
    cases: async (victim) => [at(404, `/api/v1/deliveries/${(await newDelivery(victim, "dead")).id}`)],
  },
  "POST /api/v1/deliveries/:id/retry": {
    scope: "admin",
    cases: async (victim) => [at(404, `/api/v1/deliveries/${(await newDelivery(victim, "dead")).id}/retry`)],
  },
  "POST /api/v1/deliveries/:id/cancel": {
    scope: "admin",
    cases: async (victim) => [at(404, `/api/v1/deliveries/${(await newDelivery(victim, "held")).id}/cancel`)],
  },
  "GET /api/v1/dead-letters": { scope: "read", cases: lists("/api/v1/dead-letters") },
  "POST /api/v1/dead-letters/replay": {
    scope: "admin",
    cases: async (victim) => {
      const { id } = await newDelivery(victim, "dead");
      return [at(404, "/api/v1/dead-letters/replay", { id })];
    },
  },

  "GET /api/v1/sources/:name/requests": { scope: "read", cases: () => [at(404, "/api/v1/sources/theirs/requests")] },
  "GET /api/v1/requests/:id": {
    scope: "read",
    cases: async ({ client }) => {
      const [refused] = await client.refused("theirs");
      const accepted = await client.webhook("theirs", '{"private":"victim"}');
      const id = String(accepted.json["event_id"]).replace("evt_", "req_");
      return [at(404, `/api/v1/requests/${refused?.id}`), at(404, `/api/v1/requests/${id}`)];
    },
  },

  "POST /api/v1/subscriptions": {
    scope: "admin",
    cases: ({ sinkUrl }) => {
      const body = { name: `new ${number++}`, url: sinkUrl, events: ["never.once"] };
      return [at(403, "/api/v1/subscriptions", { ...body, tenant_id: "victim" })];
    },
  },
  "GET /api/v1/subscriptions": {
    scope: "read",
    cases: () => [at("own", "/api/v1/subscriptions"), at("own", "/api/v1/subscriptions?tenant_id=victim")],
  },
  "GET /api/v1/subscriptions/:id": { scope: "read", cases: onSubscription() },
  "PUT /api/v1/subscriptions/:id": {
    scope: "admin",
    cases: async (victim) => {
      const body = { name: `put ${number++}`, url: victim.sinkUrl, events: ["never.once"] };
      return [at(404, `/api/v1/subscriptions/${await newSubscription(victim)}`, body)];
    },
  },
  "PATCH /api/v1/subscriptions/:id": { scope: "admin", cases: onSubscription("", { timeout: 7 }) },
  "DELETE /api/v1/subscriptions/:id": { scope: "admin", cases: onSubscription() },
  "POST /api/v1/subscriptions/:id/pause": { scope: "admin", cases: onSubscription("/pause") },
  "POST /api/v1/subscriptions/:id/resume": { scope: "admin", cases: onSubscription("/resume") },

  "POST /api/v1/subscriptions/:id/rotate-secret": { scope: "admin", cases: onSubscription("/rotate-secret", {}) },
  "POST /api/v1/subscriptions/:id/rotate-secret/confirm": {
    scope: "admin",
    cases: onRotation("/rotate-secret/confirm"),
  },
  "POST /api/v1/subscriptions/:id/rotate-secret/retire": { scope: "admin", cases: onRotation("/rotate-secret/retire") },
  "GET /api/v1/subscriptions/:id/secret": { scope: "admin", cases: onSubscription("/secret") },

  "GET /api/v1/jobs": { scope: "admin", unbound: true, cases: () => [at(403, "/api/v1/jobs")] },
  "POST /api/v1/jobs/:name/run": {
    scope: "admin",
    unbound: true,
    cases: () => [at(403, "/api/v1/jobs/end-overlaps/run")],
  },

  "POST /api/v1/filters/test": {
    scope: "read",
    cases: async (victim) => [
      at(404, "/api/v1/filters/test", { filter: { data: { $exist: true } }, event_id: await newEvent(victim, "dead") }),
      at("own", "/api/v1/filters/test", { filter: { event_type: "a" }, event: { event_type: "a" } }),
    ],
  },

  // Types are the same for all tenants; only an operator changes them.
  "GET /api/v1/event-types": { scope: "read", cases: () => [at("own", "/api/v1/event-types")] },
  "POST /api/v1/event-types": {
    scope: "admin",
    unbound: true,
    cases: () => [at(403, "/api/v1/event-types", { name: `shared.t${number++}` })],
  },
  "GET /api/v1/event-types/export": { scope: "read", cases: () => [at("own", "/api/v1/event-types/export")] },
  "POST /api/v1/event-types/import": {
    scope: "admin",
    unbound: true,
    cases: () => [
      at(403, "/api/v1/event-types/import", { openapi: "3.1.0", info: { title: "t", version: "1" }, webhooks: {} }),
    ],
  },
  "GET /api/v1/event-types/:name": {
    scope: "read",
    cases: async (victim) => [at("own", `/api/v1/event-types/${await newEventType(victim)}`)],
  },
  "PUT /api/v1/event-types/:name": { scope: "admin", unbound: true, cases: onEventType("", { description: "d" }) },
  "PATCH /api/v1/event-types/:name": { scope: "admin", unbound: true, cases: onEventType("", { description: "d" }) },
  "DELETE /api/v1/event-types/:name": { scope: "admin", unbound: true, cases: onEventType() },
  "PUT /api/v1/event-types/:name/versions/:version": {
    scope: "admin",
    unbound: true,
    cases: onEventType("/versions/2.0", { schema: { type: "object" } }),
  },
  "DELETE /api/v1/event-types/:name/versions/:version": {
    scope: "admin",
    unbound: true,
    cases: onEventType("/versions/1.0"),
  },

  "GET /api/v1/tenants": { scope: "admin", unbound: true, cases: () => [at(403, "/api/v1/tenants")] },
  "POST /api/v1/tenants": {
    scope: "admin",
    unbound: true,
    cases: () => [at(403, "/api/v1/tenants", { id: `new-${number++}` })],
  },
  "GET /api/v1/tenants/:id": { scope: "admin", unbound: true, cases: onTenant() },
  "PUT /api/v1/tenants/:id": { scope: "admin", unbound: true, cases: onTenant({ name: "Victim" }) },
  "PATCH /api/v1/tenants/:id": { scope: "admin", unbound: true, cases: onTenant({ name: "Victim" }) },
  "DELETE /api/v1/tenants/:id": {
    scope: "admin",
    unbound: true,
    cases: async ({ operator }) => {
      const { json } = await operator.post("/api/v1/tenants", { id: `victim-${number++}` });
      return [at(403, `/api/v1/tenants/${String(json["id"])}`)];
    },
  },

  "POST /api/v1/keys": {
    scope: "admin",
    cases: () => [at(403, "/api/v1/keys", { name: "new", scopes: ["read"], tenant_id: "victim" })],
  },
  "GET /api/v1/keys": {
    scope: "admin",
    cases: () => [at("own", "/api/v1/keys"), at("own", "/api/v1/keys?tenant_id=victim")],
  },
  "GET /api/v1/keys/:id": {
    scope: "admin",
    cases: async (victim) => [at(404, `/api/v1/keys/${await newKey(victim)}`)],
  },
  "DELETE /api/v1/keys/:id": {
    scope: "admin",
    cases: async (victim) => [at(404, `/api/v1/keys/${await newKey(victim)}`)],
  },
};
