import { Value } from "typebox/value";
import { DEFAULT_TENANT } from "../domain/event.ts";
import { SourceInput } from "../domain/source.ts";
import { checkSourceInput } from "../domain/source-rules.ts";
import { SubscriptionInput } from "../domain/subscription.ts";
import { checkSubscriptionInput } from "../domain/subscription-rules.ts";
import { TenantInput } from "../domain/tenant.ts";

/** Says what is wrong with a field (or, without one, the whole) of a declared thing. */
type Complain = (index: number, field: string, message: string) => void;

/** Items that do not fit their schema have been reported already and are passed over here. */
export function checkDeclaredSources(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(SourceInput, item)) continue;
    const first = seen.get(item.name);
    if (first !== undefined) complain(index, "name", `sources[${first}] has the same name; names are unique`);
    seen.set(item.name, first ?? index);

    for (const { field, message } of checkSourceInput(item)) complain(index, field, message);
  }
}

export function checkDeclaredSubscriptions(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(SubscriptionInput, item)) continue;
    const key = JSON.stringify([item.tenant_id ?? DEFAULT_TENANT, item.name]);
    const first = seen.get(key);
    if (first !== undefined) {
      complain(index, "name", `subscriptions[${first}] has the same name; names are unique per tenant`);
    }
    seen.set(key, first ?? index);
    for (const { field, message } of checkSubscriptionInput(item)) complain(index, field, message);
  }
}

export function checkDeclaredTenants(items: readonly unknown[], complain: Complain): void {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (!Value.Check(TenantInput, item)) continue;
    const first = seen.get(item.id);
    if (first !== undefined) complain(index, "id", `tenants[${first}] has the same id; ids are unique`);
    seen.set(item.id, first ?? index);
  }
}
