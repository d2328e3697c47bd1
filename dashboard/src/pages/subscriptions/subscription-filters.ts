import type { Subscription } from "../../api/types.ts";
import { placeOf } from "./place.ts";

/** What the list can be narrowed by; the query of the page has the same names. */
export interface SubscriptionFilters {
  text: string | undefined;
  status: string | undefined;
  kind: string | undefined;
}

export function fits(subscription: Subscription, { text, status, kind }: SubscriptionFilters): boolean {
  if (status === "failing" ? !isFailing(subscription) : status !== undefined && subscription.status !== status) {
    return false;
  }
  if (kind !== undefined && subscription.kind !== kind) return false;
  if (text === undefined) return true;
  const { id, name, events, tenant_id: tenant } = subscription;
  const words = [id, name, tenant, ...events, placeOf(subscription)].join("\n").toLowerCase();
  return words.includes(text.toLowerCase());
}

function isFailing({ stats, status }: Subscription): boolean {
  return status === "suspended" || (stats.success_rate_1h ?? 1) < 1 || stats.dead_count > 0;
}
