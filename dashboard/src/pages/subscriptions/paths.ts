/** Of one subscription in the API. */
export function pathOf(id: string, act = ""): string {
  return `/api/v1/subscriptions/${encodeURIComponent(id)}${act}`;
}

/** The keys of what shows something of one. */
export const CHANGED = ["subscription", "subscriptions", "deliveries", "targets", "health"] as const;
