import { Type } from "typebox";
import { RetentionInput } from "../../model/retention.ts";
import { QuotasInput, TenantInput, TenantSettings } from "../../model/tenant.ts";
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

/** The fields that can be set, and read-only fields. */
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
      { description: "Further contacts, and the events that each gets", examples: [[]] },
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
      stage: Type.Enum([...ERASURE_STAGES], {
        description: "The kind of data that is being erased now",
        examples: ["events"],
      }),
      total: count(1200, "The number of events at the start"),
      events: count(400, "Erased events"),
      deliveries: count(800, "Erased deliveries"),
      bytes: count(512_000, "The size of the erased bodies in bytes"),
      requests: count(0, "Erased requests"),
      records: count(7, "Erased subscriptions, keys, sources and other configuration"),
      audit_entries: count(0, "Audit log entries whose content was erased; that they existed stays visible"),
      started_at: Time,
      completed_at: nullable(Time),
    },
    "The progress of a tenant's erasure, which continues after a restart",
  ),
);
const linkId = text(EXAMPLE.portalLink, "Identifies the link; it is not the token");
export const PortalLink = named(
  "PortalLink",
  closed({
    id: linkId,
    url: text("https://hooks.example.com/portal#token=php_…"),
    tenant_id: text(EXAMPLE.tenant),
    access: oneOf(PORTAL_ACCESS),
    expires_at: Time,
  }),
);
export const ListedPortalLink = named(
  "ListedPortalLink",
  closed({
    id: linkId,
    tenant_id: text(EXAMPLE.tenant),
    access: oneOf(PORTAL_ACCESS),
    created_by: text(EXAMPLE.key, "The id of the key, or `oidc:` and the subject of the user, that created it"),
    created_at: Time,
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
      list: { answer: { description: "Tenants, sorted by id" } },
      make: {
        request: { id: EXAMPLE.newTenant, ...settings },
        answer: { example: { ...TENANT, id: EXAMPLE.newTenant } },
      },
      read: { answer: { description: "The tenant with its usage" } },
      replace: { request: settings },
      plan: { ...settings, name: "Acme Foods" },
      change: { request: { name: "Acme" } },
      remove: {
        description: "Only a tenant without subscriptions and active keys can be deleted. Its events stay in the log.",
        params: { id: EXAMPLE.emptyTenant },
        errors: ["conflict"],
      },
    }),
    "POST /api/v1/tenants/:id/erase": {
      description:
        "The tenant becomes inactive at once. Its configuration, events and requests are erased, and the content of " +
        "its " +
        "audit log entries. Repeated calls return the running erasure. The tenant `default` cannot be erased.",
      params: { id: EXAMPLE.emptyTenant },
      request: { confirm: EXAMPLE.emptyTenant },
      answer: { ...erasure, status: 202, description: "The erasure, which runs in the background" },
      errors: ["conflict", "confirmation_required", "managed_by_config"],
    },
    "POST /api/v1/tenants/:id/portal-link": {
      description:
        "Anybody with the link sees the events, subscriptions and deliveries of this tenant only, and the catalogue. " +
        "It cannot publish events, nor erase or edit them. The link works until it expires or is revoked, the key that " +
        "created it is revoked, or the tenant is deleted or erased. It never allows more than that key. Sites in `portal.frame_origins` may show the page in a frame.",
      params: { id: EXAMPLE.tenant },
      request: { access: "manage", expires_in_s: 3600, theme: { name: "Acme", accent: "#0a7d4f" } },
      answer: { status: 201, description: "The link; its token is shown only here", schema: PortalLink },
    },
    "GET /api/v1/tenants/:id/portal-links": {
      params: { id: EXAMPLE.tenant },
      answer: {
        description: "The links that still work, oldest first; without their tokens",
        schema: closed({ data: Type.Array(ListedPortalLink) }),
        example: { data: [exampleOf(ListedPortalLink)] },
      },
    },
    "DELETE /api/v1/tenants/:id/portal-links/:link": {
      description: "The link ends at once; a live stream that was opened with it within 15 seconds.",
      params: { id: EXAMPLE.tenant, link: EXAMPLE.portalLink },
      answer: { status: 204, description: "Revoked" },
    },
    "GET /api/v1/tenants/:id/erase": {
      params: { id: EXAMPLE.erasedTenant },
      answer: { ...erasure, description: "The progress of the erasure, or its result" },
    },
  },
};
