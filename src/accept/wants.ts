import { createFilterBudget } from "../model/filter-operators.ts";
import { matchFilter } from "../model/filter.ts";
import { isGatewayEventType, matchesPattern, parsePattern, type Pattern } from "../model/pattern.ts";
import type { Subscription } from "../model/subscription.ts";
import { createFilterFacts, type FilteredEvent } from "./filter-facts.ts";

/**
 * Whether a subscription asks for events of this type. `webhook.*` means webhooks that come in, not the gateway's own
 * events.
 */
export function asksFor(
  { events, mode }: Pick<Subscription, "events" | "mode">,
  eventType: string,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  const mustBeNamed = mode === "forward" && isGatewayEventType(eventType);
  return events.some((text) => (mustBeNamed ? text === eventType : matchesPattern(patternOf(text), eventType)));
}

/** Whether the subscription wants events of this source and does not send back to the queue that the event came from. */
export function takesFrom(
  { sources, queuePlace }: Pick<Subscription, "sources" | "queuePlace">,
  event: Pick<FilteredEvent, "source" | "details">,
  patternOf: (text: string) => Pattern = parsePattern,
): boolean {
  if (sources !== undefined && !sources.some((text) => matchesPattern(patternOf(text), event.source))) return false;
  return queuePlace === undefined || !placesOf(event.details).includes(queuePlace);
}

/** Whether the subscription's sources and filter match the event. */
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

/** The subscriptions without a filter or with one that matches, and how many filters exceeded their budget. */
export function applyFilters(
  subscriptions: readonly Subscription[],
  event: FilteredEvent,
): { wanting: readonly Subscription[]; tooCostly: number } {
  const facts = createFilterFacts(event);
  const budget = createFilterBudget();
  const wanting = subscriptions.filter(({ filter }) => filter === undefined || matchFilter(filter, facts, budget));
  return { wanting, tooCostly: budget.exceeded };
}
