import { RetentionInput } from "../../domain/retention.ts";
import { QuotasInput, TenantInput, TenantSettings } from "../../domain/tenant.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import { Count, ManagedByDocs, Time, closed, named, text, type AreaDocs } from "../openapi/operation-docs.ts";
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
    quotas: closed(shownFields(QuotasInput)),
    retention: closed(shownFields(RetentionInput)),
    usage: closed({ subscriptions: Count, open_deliveries: Count, stored_bytes: Count }),
    managed_by: ManagedByDocs,
    created_at: Time,
    updated_at: Time,
  }),
);

const TENANT = exampleOf(Tenant);
const settings = { name: "Acme", contact_email: "ops@acme.example", quotas: { subscriptions: 10_000 } };

export const TENANT_DOCS: AreaDocs = {
  tag: "Tenants",
  description: "Owners of subscriptions, sources and keys, with their quotas",
  operations: resourceDocs({
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
    change: { request: { name: "Acme" } },
    remove: {
      description: "Only one that has nothing any more.",
      params: { id: EXAMPLE.emptyTenant },
      errors: ["conflict"],
    },
  }),
};
