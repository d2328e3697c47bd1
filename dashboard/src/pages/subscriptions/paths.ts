import type { QueryKey } from "@tanstack/react-query";

/** Of one subscription in the API. */
export function pathOf(id: string, act = ""): string {
  return `/api/v1/subscriptions/${encodeURIComponent(id)}${act}`;
}

/** What shows something of it. */
export function keysOf(id: string): QueryKey[] {
  return [["subscription", id], ["subscriptions"], ["deliveries"], ["targets"]];
}
