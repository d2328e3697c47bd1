import { matchesPattern, parsePattern } from "../domain/pattern.ts";
import type { Subscription } from "../domain/subscription.ts";
import { applyFilters } from "./apply-filters.ts";
import type { FilteredEvent } from "./filter-facts.ts";

/** Whether one subscription asks for events of this type. */
export function asksFor({ events }: Subscription, eventType: string): boolean {
  return events.some((text) => matchesPattern(parsePattern(text), eventType));
}

/** Whether its filter lets the event through. */
export function letsThrough(subscription: Subscription, event: FilteredEvent): boolean {
  return applyFilters([subscription], event).wanting.length > 0;
}
