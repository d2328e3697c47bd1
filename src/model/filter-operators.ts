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

/** Tests a value of the event; undefined when the event has no such value. */
export type ValueTest = (found: unknown, steps: FilterSteps) => boolean;

interface Operator {
  /** A description of the allowed operand. */
  operand: string;
  accepts: (operand: unknown) => boolean;
  compile: (operand: unknown) => ValueTest;
}

/** Operators that look at one value. A missing value passes only `$exist: false`, `$neq` and `$nin`. */
export const VALUE_OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["$eq", { operand: "any value", accepts: () => true, compile: (operand) => equals(operand) }],
  ["$neq", { operand: "any value", accepts: () => true, compile: (operand) => not(equals(operand)) }],
  ["$gt", comparison((order) => order > 0)],
  ["$gte", comparison((order) => order >= 0)],
  ["$lt", comparison((order) => order < 0)],
  ["$lte", comparison((order) => order <= 0)],
  ["$in", { operand: "a list", accepts: Array.isArray, compile: (operand) => isOneOf(operand as unknown[]) }],
  ["$nin", { operand: "a list", accepts: Array.isArray, compile: (operand) => not(isOneOf(operand as unknown[])) }],
  ["$startsWith", onText((operand) => (found) => found.startsWith(operand))],
  ["$endsWith", onText((operand) => (found) => found.endsWith(operand))],
  ["$contains", { operand: "any value", accepts: () => true, compile: contains }],
  [
    "$exist",
    {
      operand: "true or false",
      accepts: (operand) => typeof operand === "boolean",
      compile: (operand) => (found) => (found !== undefined) === operand,
    },
  ],
]);

export function equals(expected: unknown): ValueTest {
  if (typeof expected !== "object" || expected === null) return (found) => found === expected;
  return (found, steps) => isEqual(expected, found, steps);
}

/**
 * Compares JSON values: arrays item by item, objects by their own members in any order. Never goes deeper than the
 * expected value.
 */
function isEqual(expected: unknown, found: unknown, steps: FilterSteps): boolean {
  steps.spend(1);
  if (expected === found) return true;
  if (typeof expected !== "object" || typeof found !== "object" || expected === null || found === null) return false;
  if (Array.isArray(expected) || Array.isArray(found)) {
    if (!Array.isArray(expected) || !Array.isArray(found) || expected.length !== found.length) return false;
    return expected.every((item, i) => isEqual(item, found[i], steps));
  }
  const members = Object.entries(expected);
  for (const [name, value] of members) {
    if (!Object.hasOwn(found, name) || !isEqual(value, (found as Record<string, unknown>)[name], steps)) return false;
  }
  return steps.countKeys(found) === members.length;
}

function not(test: ValueTest): ValueTest {
  return (found, steps) => !test(found, steps);
}

/** Compares numbers with numbers and texts with texts (by UTF-16 units). Values of different types have no order. */
function comparison(holds: (order: number) => boolean): Operator {
  return {
    operand: "a number or a text",
    accepts: (operand) => typeof operand === "number" || typeof operand === "string",
    compile: (operand) => (found) => {
      if (typeof found === "number" && typeof operand === "number") return holds(found - operand);
      if (typeof found !== "string" || typeof operand !== "string") return false;
      return holds(found < operand ? -1 : found > operand ? 1 : 0);
    },
  };
}

function isOneOf(list: readonly unknown[]): ValueTest {
  const isPlain = (value: unknown) => typeof value !== "object" || value === null;
  const plain = new Set(list.filter(isPlain));
  const others = list.filter((value) => !isPlain(value)).map(equals);
  return (found, steps) => plain.has(found) || others.some((test) => test(found, steps));
}

function onText(compile: (operand: string) => (found: string) => boolean): Operator {
  return {
    operand: "a text",
    accepts: (operand) => typeof operand === "string",
    compile(operand) {
      const test = compile(operand as string);
      return (found) => typeof found === "string" && test(found);
    },
  };
}

function contains(operand: unknown): ValueTest {
  const isItem = equals(operand);
  const isPart = typeof operand === "string" ? createTextSearch(operand) : () => false;
  return (found, steps) => {
    if (typeof found === "string") return isPart(found, steps);
    if (!Array.isArray(found)) return false;
    steps.spend(found.length);
    return found.some((item) => isItem(item, steps));
  };
}

/** Below this many comparisons even the worst case takes less than 0.1 ms. */
const MAX_NAIVE_COMPARISONS = 65_536;
const CHARACTERS_PER_STEP = 8;

/**
 * The engine's own search is fast for nearly all texts, but takes seconds for a long word of one letter in a long text
 * of the same letter. For such sizes the Knuth-Morris-Pratt algorithm is used: its time grows only with the text.
 */
function createTextSearch(word: string): (text: string, steps: FilterSteps) => boolean {
  let borders: Uint16Array | undefined;
  return (text, steps) => {
    if (word.length > text.length) return false;
    steps.spend(Math.ceil(text.length / CHARACTERS_PER_STEP));
    if (word.length * text.length <= MAX_NAIVE_COMPARISONS) return text.includes(word);
    return findLinear(word, (borders ??= findBorders(word)), text);
  };
}

/** For each prefix of the word: the length of its longest proper prefix that is also its suffix. */
function findBorders(word: string): Uint16Array {
  const borders = new Uint16Array(word.length + 1);
  let border = 0;
  for (let at = 1; at < word.length; at++) {
    while (border > 0 && word.charCodeAt(at) !== word.charCodeAt(border)) border = borders[border] as number;
    if (word.charCodeAt(at) === word.charCodeAt(border)) border++;
    borders[at + 1] = border;
  }
  return borders;
}

function findLinear(word: string, borders: Uint16Array, text: string): boolean {
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && unit !== word.charCodeAt(matched)) matched = borders[matched] as number;
    if (unit === word.charCodeAt(matched)) matched++;
    if (matched === word.length) return true;
  }
  return false;
}
