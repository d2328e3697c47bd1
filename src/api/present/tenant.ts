import { presentRetention } from "../../model/retention.ts";
import { toContact, type Tenant } from "../../model/tenant.ts";
import { quotasOf } from "../../resources/tenants.ts";
import type { TenantUsage } from "../../store/port/reads.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { Tenant as Described } from "../routes/tenants.docs.ts";
import { isoTime } from "./time.ts";

/** The one mapping of a tenant to the wire. */
export function presentTenant(tenant: Tenant, usage: TenantUsage | undefined): AnswerOf<typeof Described> {
  return {
    id: tenant.id,
    name: tenant.name,
    contact_email: tenant.contactEmail ?? null,
    contacts: tenant.contacts.map((contact) => {
      const { way, address, about = [] } = toContact(contact) ?? {};
      return { ...(way !== undefined && { [way]: address }), about };
    }),
    quotas: quotasOf(tenant),
    retention: presentRetention(tenant.retention),
    usage: {
      subscriptions: usage?.subscriptions ?? 0,
      open_deliveries: usage?.openDeliveries ?? 0,
      stored_bytes: usage?.storedBytes ?? 0,
    },
    status: tenant.status,
    managed_by: tenant.managedBy,
    created_at: isoTime(tenant.createdAt),
    updated_at: isoTime(tenant.updatedAt),
  };
}
