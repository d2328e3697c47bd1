import type { Subscription } from "../../api/types.ts";
import { placeOf } from "./place.ts";

/** What the list can be narrowed by; the query of the page has the same names. */
export interface SubscriptionFilters {
  text: string | undefined;
  condition: string | undefined;
  kind: string | undefined;
}

export function fits(subscription: Subscription, { text, condition, kind }: SubscriptionFilters): boolean {
  if (condition !== undefined && subscription.condition !== condition) return false;
  if (kind !== undefined && subscription.kind !== kind) return false;
  if (text === undefined) return true;
  const { id, name, events, tenant_id: tenant } = subscription;
  const words = [id, name, tenant, ...events, placeOf(subscription)].join("\n").toLowerCase();
  return words.includes(text.toLowerCase());
}
