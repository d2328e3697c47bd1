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

/** Whether it wants events of this source, and does not lead back to where the event was pulled from. */
export function takesFrom(
  { sources, queuePlace }: Pick<Subscription, "sources" | "queuePlace">,
  event: Pick<FilteredEvent, "source" | "details">,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  if (sources !== undefined && !sources.some((text) => matchesPattern(patternOf(text), event.source))) return false;
  return queuePlace === undefined || !placesOf(event.details).includes(queuePlace);
}

/** Whether its sources and its filter let the event through. */
export function letsThrough(subscription: Subscription, event: FilteredEvent): boolean {
  return takesFrom(subscription, event) && applyFilters([subscription], event).wanting.length > 0;
}

/** The exchange and the queue that a pulled event came from. */
function placesOf(details: string | undefined): readonly string[] {
  if (details?.includes(PULLED_FROM) !== true) return [];
  const { pulled_from: places } = JSON.parse(details) as { pulled_from?: unknown };
  return Array.isArray(places) ? (places as string[]) : [];
}

const PULLED_FROM = '"pulled_from":';

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
