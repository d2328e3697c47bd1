import { Type } from "typebox";
import { RetentionInput } from "../../domain/retention.ts";
import { QuotasInput, TenantInput, TenantSettings } from "../../domain/tenant.ts";
import { ERASURE_STAGES } from "../../store/port/erasures.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Count,
  ManagedByDocs,
  Time,
  closed,
  count,
  named,
  nullable,
  oneOf,
  text,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { PORTAL_ACCESS } from "../session/portal-links.ts";
import { resourceDocs } from "../openapi/resource-docs.ts";
import { exampleOf, shownFields } from "../openapi/shown.ts";

named("TenantInput", TenantInput);
named("TenantSettings", TenantSettings);

/** What may be set, and what is only shown. */
export const Tenant = named(
  "Tenant",
  closed({
    ...shownFields(TenantInput),
    name: text("Acme", "A name for people"),
    contacts: Type.Array(
      closed({
        email: Type.Optional(text("ops@acme.example")),
        phone: Type.Optional(Type.String()),
        url: Type.Optional(Type.String()),
        about: Type.Array(Type.String(), { examples: [["suspended", "failing", "rotation"]] }),
      }),
      { description: "Who else is told, and what", examples: [[]] },
    ),
    quotas: closed(shownFields(QuotasInput)),
    retention: closed(shownFields(RetentionInput)),
    usage: closed({ subscriptions: Count, open_deliveries: Count, stored_bytes: Count }),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
  }),
);

const TENANT = exampleOf(Tenant);
const settings = {
  name: "Acme",
  contact_email: "ops@acme.example",
  contacts: [{ url: EXAMPLE.destination, about: ["suspended"] }],
  quotas: { subscriptions: 10_000 },
};

const Erasure = named(
  "TenantErasure",
  closed(
    {
      tenant_id: text(EXAMPLE.erasedTenant),
      status: Type.Enum(["running", "completed"], { examples: ["running"] }),
      stage: Type.Enum([...ERASURE_STAGES], { description: "What is being erased", examples: ["events"] }),
      total: count(1200, "Events that there were when it began"),
      events: count(400, "Those that are gone"),
      deliveries: count(800, "Gone with them"),
      bytes: count(512_000, "Of their bodies"),
      requests: count(0, "Logged requests that are gone"),
      records: count(7, "Subscriptions, keys, sources and other configuration that is gone"),
      audit_entries: count(0, "Entries of the audit log of which only the fact is left"),
      started_at: Time,
      completed_at: nullable(Time),
    },
    "How far the erasure of a tenant is; it survives restarts",
  ),
);
export const PortalLink = named(
  "PortalLink",
  closed({
    url: text("https://hooks.example.com/portal#token=php_…"),
    tenant_id: text(EXAMPLE.tenant),
    access: oneOf(PORTAL_ACCESS),
    expires_at: Time,
  }),
);
const erasure = { schema: Erasure, example: exampleOf(Erasure) };

export const TENANT_DOCS: AreaDocs = {
  tag: "Tenants",
  description: "Owners of subscriptions, sources and keys, with their quotas",
  operations: {
    ...resourceDocs({
      path: "/api/v1/tenants",
      key: { id: EXAMPLE.tenant },
      schema: Tenant,
      example: TENANT,
      refusals: ["managed_by_config"],
      list: { answer: { description: "By id" } },
      make: {
        request: { id: EXAMPLE.newTenant, ...settings },
        answer: { example: { ...TENANT, id: EXAMPLE.newTenant } },
      },
      read: { answer: { description: "With what it uses" } },
      replace: { request: settings },
      plan: { ...settings, name: "Acme Foods" },
      change: { request: { name: "Acme" } },
      remove: {
        description: "Only one that has nothing any more.",
        params: { id: EXAMPLE.emptyTenant },
        errors: ["conflict"],
      },
    }),
    "POST /api/v1/tenants/:id/erase": {
      description:
        "The tenant is inactive from then on. All that is configured for it, its events and its requests are erased, and " +
        "what the audit log says of its things. While it runs it is answered as it is. The tenant `default` cannot be erased.",
      params: { id: EXAMPLE.emptyTenant },
      request: { confirm: EXAMPLE.emptyTenant },
      answer: { ...erasure, status: 202, description: "The job, which goes on by itself" },
      errors: ["conflict", "confirmation_required", "managed_by_config"],
    },
    "POST /api/v1/tenants/:id/portal-link": {
      description:
        "Whoever opens the link sees this tenant and no other: its events, subscriptions, deliveries and the catalogue. " +
        "It works until it expires, or until the key that made it is revoked. Sites of `portal.frame_origins` may show " +
        "the page in a frame.",
      params: { id: EXAMPLE.tenant },
      request: { access: "manage", expires_in_s: 3600 },
      answer: { status: 201, description: "The link; its token is shown only here", schema: PortalLink },
    },
    "GET /api/v1/tenants/:id/erase": {
      params: { id: EXAMPLE.erasedTenant },
      answer: { ...erasure, description: "How far it is, or what was erased" },
    },
  },
};
