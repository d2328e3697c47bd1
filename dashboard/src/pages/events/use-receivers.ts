import { useQuery } from "@tanstack/react-query";
import { subscriptionsQuery } from "../../api/queries.ts";
import type { Event, Subscription } from "../../api/types.ts";

/** Those that an event can be sent to by who is signed in: of its tenant, and the operator's that are for its tenant. */
export function useReceivers(event: Pick<Event, "tenant_id">) {
  const { data, error } = useQuery(subscriptionsQuery);
  return { receivers: data?.data.filter((one) => one.can.use && isFor(one, event.tenant_id)), error };
}

function isFor({ tenant_id: owner, tenants }: Subscription, tenantId: string): boolean {
  return tenants === null ? owner === tenantId : tenants === "*" || tenants.includes(tenantId);
}
