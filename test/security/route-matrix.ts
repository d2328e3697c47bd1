import { EXAMPLE } from "../../src/api/openapi/examples.ts";
import type { Scope } from "../../src/model/scopes.ts";
import {
  findAlert,
  newEvent,
  newKeyInClear,
  newSubscription,
  type Owner,
  type Thing,
} from "../support/example-things.ts";

/**
 * What each route is to answer to whom. Every operation of the OpenAPI document has an entry here: a new one without it
 * fails the test, and so does a document that says otherwise. The requests are the document's examples, on things of the
 * victim that each operation has of its own, made afresh after each call that may have used them up.
 */
export interface RouteEntry {
  /** Undefined: open to everybody. */
  scope?: Scope;
  /** Only for keys that are bound to no tenant. */
  unbound?: boolean;
  /**
   * What a key of another tenant gets for the example: 404, as if it did not exist; or success, but nothing of the
   * victim's. When not given it follows from the example: 404 if that names something of the victim's.
   */
  stranger?: Stranger;
  /** What stands for a thing in the example, where it is not what the example says. */
  things?: Readonly<Record<string, Thing>>;
  /** A GET that does too much to be answered without a body. */
  hasNoHead?: boolean;
  /** Beside the example. */
  cases?: (victim: Owner) => readonly RouteCase[] | Promise<readonly RouteCase[]>;
}

export type Stranger = 404 | 403 | "own";

export interface RouteCase {
  path: string;
  body?: unknown;
  stranger: Stranger;
}

const at = (stranger: Stranger, path: string, body?: unknown): RouteCase => ({ path, body, stranger });
/** Whoever knows its name may send something to a source; so to one that is nobody's. */
const webhook: RouteEntry = { things: { [EXAMPLE.source]: { make: () => "anyones" } } };

export const ROUTE_MATRIX: Readonly<Record<string, RouteEntry>> = {
  "POST /webhook/:source": webhook,
  "POST /webhook/:source/:path": webhook,

  "GET /": {},
  "GET /health": {},
  "GET /livez": {},
  "GET /readyz": {},
  "GET /openapi.json": {},
  "GET /docs": {},
  "POST /api/v1/session": { things: { [EXAMPLE.keyInClear]: { make: ({ operator }) => newKeyInClear(operator) } } },
  "GET /api/v1/session": { scope: "read" },
  "DELETE /api/v1/session": {},
  "DELETE /api/v1/sessions/:key_id": { scope: "admin", unbound: true },
  "GET /api/v1/sign-in": {},
  "GET /api/v1/sign-in/oidc": { hasNoHead: true },
  "GET /api/v1/sign-in/oidc/callback": { hasNoHead: true },
  "GET /status": { scope: "read" },
  "GET /metrics": { scope: "read", unbound: true },

  "POST /api/v1/events": {
    scope: "publish",
    cases: ({ tenant }) => [at("own", "/api/v1/events", [{ event_type: "a.b", payload: {}, tenant_id: tenant }])],
  },
  "GET /api/v1/events": {
    scope: "read",
    cases: async (victim) => [
      at("own", `/api/v1/events?tenant_id=${victim.tenant}&limit=500`),
      at("own", `/api/v1/events?id=${await newEvent(victim, "dead")}`),
      at("own", "/api/v1/events?text=private&status=FAILED"),
    ],
  },
  "GET /api/v1/events/export": {
    scope: "read",
    hasNoHead: true,
    cases: async (victim) => [
      at("own", `/api/v1/events/export?tenant_id=${victim.tenant}`),
      at("own", `/api/v1/events/export?id=${await newEvent(victim, "dead")}`),
    ],
  },
  "GET /api/v1/stream": {
    scope: "read",
    hasNoHead: true,
    cases: async (victim) => [
      at("own", `/api/v1/stream?tenant_id=${victim.tenant}&follow=false&body=true`),
      at(404, `/api/v1/stream?follow=false&subscription_id=${await newSubscription(victim)}`),
    ],
  },
  "GET /api/v1/events/:id": { scope: "read" },
  "POST /api/v1/events/:id/replay": { scope: "admin" },
  "DELETE /api/v1/events/:id/body": { scope: "admin" },

  "GET /api/v1/deliveries": { scope: "read" },
  "GET /api/v1/deliveries/:id": { scope: "read" },
  "POST /api/v1/deliveries/:id/retry": { scope: "admin" },
  "POST /api/v1/deliveries/:id/cancel": { scope: "admin" },
  "GET /api/v1/dead-letters": { scope: "read" },
  "GET /api/v1/dead-letters/groups": {
    scope: "read",
    cases: ({ tenant }) => [at("own", `/api/v1/dead-letters/groups?tenant_id=${tenant}`)],
  },
  "POST /api/v1/dead-letters/replay": {
    scope: "admin",
    cases: async (victim) => [
      at(404, "/api/v1/dead-letters/replay", { filter: { subscription_id: await newSubscription(victim) } }),
      at(403, "/api/v1/dead-letters/replay", { filter: { tenant_id: victim.tenant } }),
      at("own", "/api/v1/dead-letters/replay", { all: true, plan: true }),
    ],
  },
  "POST /api/v1/dead-letters/purge": {
    scope: "admin",
    cases: async (victim) => [
      at(404, "/api/v1/dead-letters/purge", {
        filter: { subscription_id: await newSubscription(victim) },
        confirm: "purge",
      }),
      at(403, "/api/v1/dead-letters/purge", { filter: { tenant_id: victim.tenant }, confirm: "purge" }),
    ],
  },
  "POST /api/v1/deliveries/cancel": {
    scope: "admin",
    cases: async (victim) => [
      at(404, "/api/v1/deliveries/cancel", { filter: { subscription_id: await newSubscription(victim) } }),
      at("own", "/api/v1/deliveries/cancel", { filter: { event_type: "never.once" } }),
    ],
  },

  "POST /api/v1/replays": {
    scope: "admin",
    cases: async (victim) => [
      at(404, "/api/v1/replays", { kind: "events", filter: { subscription_id: await newSubscription(victim) } }),
      at(403, "/api/v1/replays", { kind: "dead_letters", filter: { tenant_id: victim.tenant } }),
      at("own", "/api/v1/replays", { kind: "dead_letters", plan: true }),
    ],
  },
  "GET /api/v1/replays": { scope: "read" },
  "GET /api/v1/replays/:id": { scope: "read" },
  "POST /api/v1/replays/:id/pause": { scope: "admin" },
  "POST /api/v1/replays/:id/resume": { scope: "admin" },
  "POST /api/v1/replays/:id/cancel": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/recover": { scope: "admin" },

  "GET /api/v1/sources": {
    scope: "read",
    cases: () => [at("own", "/api/v1/sources?limit=500")],
  },
  "POST /api/v1/sources": { scope: "admin" },
  "GET /api/v1/source-kinds": { scope: "read", stranger: "own" },
  "GET /api/v1/source-queues": { scope: "read", unbound: true },
  "GET /api/v1/sources/:name": { scope: "read" },
  "PUT /api/v1/sources/:name": { scope: "admin" },
  "POST /api/v1/sources/:name/plan": { scope: "admin" },
  "PATCH /api/v1/sources/:name": { scope: "admin" },
  "DELETE /api/v1/sources/:name": { scope: "admin" },
  "POST /api/v1/sources/:name/pause": { scope: "admin" },
  "POST /api/v1/sources/:name/resume": { scope: "admin" },
  "POST /api/v1/sources/:name/close": { scope: "admin" },
  "POST /api/v1/sources/:name/rotate-secret": { scope: "admin" },
  "DELETE /api/v1/sources/:name/secrets/:id": { scope: "admin" },
  "GET /api/v1/sources/:name/path-token": { scope: "admin" },
  "GET /api/v1/sources/:name/requests": { scope: "read" },
  "GET /api/v1/requests": {
    scope: "read",
    cases: ({ tenant }) => [at("own", `/api/v1/requests?tenant_id=${tenant}&limit=500`)],
  },
  "POST /api/v1/requests/:id/replay": { scope: "admin" },
  "GET /api/v1/requests/:id": {
    scope: "read",
    cases: async ({ client, source }) => {
      const [refused] = await client.rejected(source);
      return [at(404, `/api/v1/requests/${refused?.id}`)];
    },
  },

  "POST /api/v1/subscriptions": { scope: "admin" },
  "GET /api/v1/subscriptions": { scope: "read" },
  "GET /api/v1/subscriptions/:id": { scope: "read" },
  "PUT /api/v1/subscriptions/:id": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/plan": { scope: "admin" },
  "PATCH /api/v1/subscriptions/:id": { scope: "admin" },
  "DELETE /api/v1/subscriptions/:id": { scope: "admin" },
  "GET /api/v1/subscriptions/:id/stats": { scope: "read" },
  "GET /api/v1/stats": { scope: "read" },
  "GET /api/v1/stats/series": { scope: "read" },
  "POST /api/v1/subscriptions/:id/pause": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/resume": { scope: "admin" },

  "POST /api/v1/subscriptions/:id/preview": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/test": { scope: "admin" },

  "POST /api/v1/subscriptions/:id/rotate-secret": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/rotate-secret/confirm": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/rotate-secret/retire": { scope: "admin" },
  "GET /api/v1/subscriptions/:id/secret": { scope: "admin" },

  "GET /api/v1/targets": { scope: "read" },
  "POST /api/v1/targets": { scope: "admin" },
  // Names are a tenant's own: a stranger makes one of that name for himself.
  "PUT /api/v1/targets/:name": { scope: "admin", stranger: "own" },
  "POST /api/v1/targets/:name/plan": { scope: "admin", stranger: "own" },
  "PATCH /api/v1/targets/:name": { scope: "admin" },
  "DELETE /api/v1/targets/:name": { scope: "admin" },
  "GET /api/v1/targets/:name": { scope: "read" },
  "POST /api/v1/targets/:name/mode": { scope: "admin" },
  "POST /api/v1/subscriptions/:id/drain": { scope: "admin" },

  "GET /api/v1/audit": {
    scope: "admin",
    cases: ({ tenant }) => [at("own", `/api/v1/audit?tenant_id=${tenant}&limit=500`)],
  },
  "GET /api/v1/audit/export": { scope: "admin", unbound: true, hasNoHead: true },
  "GET /api/v1/audit/verify": { scope: "admin", unbound: true, hasNoHead: true },
  "GET /api/v1/subscriptions/:id/history": { scope: "read" },

  "GET /api/v1/alerts": {
    scope: "read",
    cases: async (victim) => {
      await findAlert(victim);
      return [at("own", `/api/v1/alerts?tenant_id=${victim.tenant}`), at("own", "/api/v1/alerts")];
    },
  },
  "GET /api/v1/alerts/rules": { scope: "admin", unbound: true },
  "GET /api/v1/alerts/:id": { scope: "read" },
  "POST /api/v1/alerts/:id/acknowledge": { scope: "admin" },
  "POST /api/v1/alerts/:id/mute": { scope: "admin" },
  "POST /api/v1/alerts/:id/unmute": { scope: "admin" },
  "GET /api/v1/jobs": { scope: "admin", unbound: true },
  "POST /api/v1/jobs/:name/run": { scope: "admin", unbound: true },

  "POST /api/v1/filters/test": {
    scope: "read",
    cases: async (victim) => [
      at(404, "/api/v1/filters/test", { filter: { data: { $exist: true } }, event_id: await newEvent(victim, "dead") }),
    ],
  },

  "POST /api/v1/templates/preview": {
    scope: "read",
    cases: async (victim) => {
      const templates = [{ text: "{{ data.secret }}" }];
      return [at(404, "/api/v1/templates/preview", { templates, event_id: await newEvent(victim, "dead") })];
    },
  },

  // Types are the same for all tenants; only an operator changes them.
  "GET /api/v1/event-types": { scope: "read" },
  "POST /api/v1/event-types": { scope: "admin", unbound: true },
  "GET /api/v1/event-types/export": { scope: "read" },
  "POST /api/v1/event-types/import": { scope: "admin", unbound: true },
  "GET /api/v1/event-types/:name": { scope: "read" },
  "PUT /api/v1/event-types/:name": { scope: "admin", unbound: true },
  "POST /api/v1/event-types/:name/plan": { scope: "admin", unbound: true },
  "PATCH /api/v1/event-types/:name": { scope: "admin", unbound: true },
  "DELETE /api/v1/event-types/:name": { scope: "admin", unbound: true },
  "PUT /api/v1/event-types/:name/versions/:version": { scope: "admin", unbound: true },
  "DELETE /api/v1/event-types/:name/versions/:version": { scope: "admin", unbound: true },

  "GET /validations": { scope: "admin", unbound: true },
  "GET /validations/:endpoint": { scope: "admin", unbound: true },
  "PUT /validations/:endpoint": { scope: "admin", unbound: true },
  "DELETE /validations/:endpoint": { scope: "admin", unbound: true },
  "GET /validations/:endpoint/versions": { scope: "admin", unbound: true },
  "POST /validations/:endpoint/rollback": { scope: "admin", unbound: true },
  "POST /validations/:endpoint/test": { scope: "admin", unbound: true },
  "GET /api/v1/sources/:name/parked": { scope: "admin", unbound: true },
  "GET /api/v1/sources/:name/parked/:id": { scope: "admin", unbound: true },
  "POST /api/v1/sources/:name/parked/requeue": { scope: "admin", unbound: true },
  "POST /api/v1/sources/:name/parked/purge": { scope: "admin", unbound: true },
  "GET /api/v1/smartsheet/webhooks": { scope: "admin", unbound: true },
  "POST /api/v1/smartsheet/webhooks/register": { scope: "admin", unbound: true },
  "POST /api/v1/smartsheet/webhooks/cleanup": { scope: "admin", unbound: true },

  "GET /api/v1/tenants": { scope: "admin", unbound: true },
  "POST /api/v1/tenants": { scope: "admin", unbound: true },
  "GET /api/v1/tenants/:id": { scope: "admin", unbound: true },
  "PUT /api/v1/tenants/:id": { scope: "admin", unbound: true },
  "POST /api/v1/tenants/:id/plan": { scope: "admin", unbound: true },
  "PATCH /api/v1/tenants/:id": { scope: "admin", unbound: true },
  "DELETE /api/v1/tenants/:id": { scope: "admin", unbound: true },
  "POST /api/v1/tenants/:id/portal-link": { scope: "admin", unbound: true },
  "GET /api/v1/tenants/:id/portal-links": { scope: "admin", unbound: true },
  "DELETE /api/v1/tenants/:id/portal-links/:link": { scope: "admin", unbound: true },
  "POST /api/v1/tenants/:id/erase": { scope: "admin", unbound: true },
  "GET /api/v1/tenants/:id/erase": { scope: "admin", unbound: true },

  "POST /api/v1/keys": { scope: "admin" },
  "GET /api/v1/keys": { scope: "admin" },
  "GET /api/v1/keys/:id": { scope: "admin" },
  "PUT /api/v1/keys/:id": { scope: "admin" },
  "POST /api/v1/keys/:id/plan": { scope: "admin" },
  "PATCH /api/v1/keys/:id": { scope: "admin" },
  "DELETE /api/v1/keys/:id": { scope: "admin" },
};
