import type { Target } from "../../api/types.ts";

/** What the API finds it by: a shared one by its name, a subscription's own by the subscription, whose names may repeat. */
export function keyOf({ shared, name, subscriptions }: Pick<Target, "shared" | "name" | "subscriptions">): string {
  return shared ? name : (subscriptions[0] ?? name);
}

export function hrefOf(target: Target): string {
  const query =
    target.shared && target.tenant_id !== "default" ? `?tenant_id=${encodeURIComponent(target.tenant_id)}` : "";
  return `/targets/${encodeURIComponent(keyOf(target))}${query}`;
}
