/** Of one subscription in the API. */
export function pathOf(id: string, action = ""): string {
  return `/api/v1/subscriptions/${encodeURIComponent(id)}${action}`;
}

/** The pages of the list, and of a new one, of one tenant where one is chosen. */
export function hrefOfList(tenantId: string | undefined, page = ""): string {
  return `/subscriptions${page}${tenantId === undefined ? "" : `?tenant_id=${encodeURIComponent(tenantId)}`}`;
}

/** The keys of what shows something of one. */
export const CHANGED = ["subscription", "subscriptions", "deliveries", "targets", "health"] as const;
