import { isGatewayEventType, matchesPattern, parsePattern, type Pattern } from "../domain/pattern.ts";
import type { Subscription } from "../domain/subscription.ts";
import { applyFilters } from "./apply-filters.ts";
import type { FilteredEvent } from "./filter-facts.ts";

/**
 * Whether one subscription asks for events of this type. Whoever forwards `webhook.*` means what comes in, not what the
 * gateway tells of itself.
 */
export function asksFor(
  { events, mode }: Pick<Subscription, "events" | "mode">,
  eventType: string,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  const mustBeNamed = mode === "forward" && isGatewayEventType(eventType);
  return events.some((text) => (mustBeNamed ? text === eventType : matchesPattern(patternOf(text), eventType)));
}

/** Whether its filter lets the event through. */
export function letsThrough(subscription: Subscription, event: FilteredEvent): boolean {
  return applyFilters([subscription], event).wanting.length > 0;
}
