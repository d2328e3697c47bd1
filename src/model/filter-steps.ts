/**
 * Filters run on the event loop, on data from strangers, so their work is counted. Each filter has a few steps of its
 * own, more than enough for any filter on ordinary data; the rest is shared by all filters of one event. So a costly
 * filter never uses up the steps of a cheap one.
 */
const OWN_STEPS = 1000;
const SHARED_STEPS = 1_000_000;

/** The shared step budget of all filters of one event. */
export interface FilterBudget {
  shared: number;
  /** How many filters exceeded their budget. */
  exceeded: number;
  keyCounts: Map<object, number> | undefined;
}

export function createFilterBudget(shared = SHARED_STEPS): FilterBudget {
  return { shared, exceeded: 0, keyCounts: undefined };
}

/** Thrown when a filter exceeds its budget. The filter then does not match, even inside a `$not`. */
export class FilterTooCostly extends Error {
  override readonly name = "FilterTooCostly";
}

/** One error object without a stack trace: a flood of costly events must not cost more by failing. */
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

  /** Cached, because listing the keys of an object with 100,000 of them takes milliseconds. */
  countKeys(object: object): number {
    const known = this.#budget.keyCounts?.get(object);
    if (known !== undefined) return known;
    const count = Object.keys(object).length;
    (this.#budget.keyCounts ??= new Map()).set(object, count);
    this.spend(count);
    return count;
  }

  /** Takes the steps beyond the filter's own from the shared budget. */
  settle(): void {
    const used = this.#from - Math.max(0, this.#left);
    if (used > OWN_STEPS) this.#budget.shared -= used - OWN_STEPS;
  }
}
