/**
 * A filter runs on the event loop, on data that strangers send. So its work is counted: each filter has a few steps of
 * its own, more than enough for any filter on ordinary data, and all filters of one event share the rest. So a costly
 * one never takes the steps of a cheap one.
 */
const OWN_STEPS = 1000;
const SHARED_STEPS = 1_000_000;

/** What the filters of one event may cost together. */
export interface FilterBudget {
  shared: number;
  /** Filters that needed more. */
  exceeded: number;
  keyCounts: Map<object, number> | undefined;
}

export function createFilterBudget(shared = SHARED_STEPS): FilterBudget {
  return { shared, exceeded: 0, keyCounts: undefined };
}

/** What a filter would have to look at is too much. It is then no match, whatever `$not` stands around it. */
export class FilterTooCostly extends Error {
  override readonly name = "FilterTooCostly";
}

/** Without a trace: a flood of costly events must not cost more by failing. */
const TOO_COSTLY = new FilterTooCostly("The filter takes too many steps.");

export class FilterSteps {
  readonly #budget: FilterBudget;
  readonly #from: number;
  #left: number;

  constructor(budget: FilterBudget) {
    this.#budget = budget;
    this.#from = OWN_STEPS + budget.shared;
    this.#left = this.#from;
  }

  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw TOO_COSTLY;
  }

  /** Listing the keys of an object with 100,000 of them takes milliseconds: once per event is enough. */
  countKeys(object: object): number {
    const known = this.#budget.keyCounts?.get(object);
    if (known !== undefined) return known;
    const count = Object.keys(object).length;
    (this.#budget.keyCounts ??= new Map()).set(object, count);
    this.spend(count);
    return count;
  }

  /** Takes what went beyond its own steps from the others. */
  settle(): void {
    const used = this.#from - Math.max(0, this.#left);
    if (used > OWN_STEPS) this.#budget.shared -= used - OWN_STEPS;
  }
}
