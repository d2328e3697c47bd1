import { matchFilter } from "../domain/filter.ts";
import { createFilterBudget } from "../domain/filter-steps.ts";
import type { Subscription } from "../domain/subscription.ts";
import { createFilterFacts, type FilteredEvent } from "./filter-facts.ts";

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
