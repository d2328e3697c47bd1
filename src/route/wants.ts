import { createFilterBudget } from "../domain/filter-steps.ts";
import { matchFilter } from "../domain/filter.ts";
import { isGatewayEventType, matchesPattern, parsePattern, type Pattern } from "../domain/pattern.ts";
import type { Subscription } from "../domain/subscription.ts";
import { createFilterFacts, type FilteredEvent } from "./filter-facts.ts";

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

/** Those subscriptions whose filter lets the event through, or who have none; and how many filters cost too much. */
export function applyFilters(
  subscriptions: readonly Subscription[],
  event: FilteredEvent,
): { wanting: readonly Subscription[]; tooCostly: number } {
  const facts = createFilterFacts(event);
  const budget = createFilterBudget();
  const wanting = subscriptions.filter(({ filter }) => filter === undefined || matchFilter(filter, facts, budget));
  return { wanting, tooCostly: budget.exceeded };
}
