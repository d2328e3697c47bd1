import { invalidField, type PosthornError } from "./errors.ts";
import {
  equals,
  VALUE_OPERATORS,
  type ValueTest,
  createFilterBudget,
  FilterSteps,
  FilterTooCostly,
  type FilterBudget,
} from "./filter-operators.ts";

/**
 * Filters of subscriptions: JSON that describes an event. An object lists members that must all match; a plain value
 * means equality; names that begin with `$` are operators. docs/reference/filters.md explains them to users.
 */
export const FILTER_FIELDS = [
  "data",
  "headers",
  "query",
  "event_type",
  "source",
  "tenant_id",
  "priority",
  "metadata",
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

/**
 * The parts of an event that a filter can see; undefined for parts that the event lacks. May be computed when first
 * read.
 */
export type FilterFacts = { readonly [Field in FilterField]?: unknown };

export interface Filter {
  readonly condition: Condition;
  /** Whether the filter needs the body. */
  readonly readsData: boolean;
}

type Condition =
  | { kind: "test"; path: string; operator: string; operand: unknown; test: ValueTest }
  | { kind: "field"; field: FilterField; condition: Condition }
  | { kind: "member"; name: string; index: number | undefined; condition: Condition }
  | { kind: "all"; conditions: readonly Condition[] }
  | { kind: "any"; path: string; operand: unknown; conditions: readonly Condition[] }
  | { kind: "not"; path: string; operand: unknown; condition: Condition };

/** The first condition of a filter that an event does not meet. */
export interface FilterFailure {
  /** The place in the event, for example `data.order.total`; empty for the whole event. */
  path: string;
  operator: string;
  expected: unknown;
  /** Undefined when the event has no value there. */
  found: unknown;
}

export const FILTER_LIMITS = { maxLength: 8192, maxDepth: 12, maxConditions: 200 } as const;

const LOGICAL_OPERATORS = ["$and", "$or", "$not"];
const ALL_OPERATORS = [...VALUE_OPERATORS.keys(), ...LOGICAL_OPERATORS].join(", ");
const ARRAY_INDEX = /^(0|[1-9][0-9]{0,8})$/;

/** Accepts an object, or a string that holds one as JSON. `field` is the name used in errors. */
export function parseFilter(value: unknown, field = "event_filter"): Filter {
  const source = typeof value === "string" ? parseText(value, field) : value;
  if (!isObject(source)) throw invalidField(field, "must be an object, or a string that holds one as JSON");
  const compiler = createCompiler();
  const condition = compiler.compileEvent(source, field, 1);
  // Only after the depth check: a value that is nested too deeply cannot be serialised.
  if (JSON.stringify(source).length > FILTER_LIMITS.maxLength) throw tooLong(field);
  return { condition, readsData: compiler.readsData() };
}

function parseText(text: string, field: string): unknown {
  if (text.length > FILTER_LIMITS.maxLength) throw tooLong(field);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidField(field, `is a string that is not JSON (${(error as Error).message})`);
  }
}

function createCompiler() {
  let conditionCount = 0;
  let readsData = false;

  /** `at` is the place in the filter, `path` the place in the event. */
  interface Location {
    at: string;
    path: string;
    depth: number;
    /** Header names match in lower case, however the filter writes them. */
    isHeaders: boolean;
  }

  function enter(at: string, depth: number): void {
    if (depth > FILTER_LIMITS.maxDepth)
      throw invalidField(at, `is nested deeper than ${FILTER_LIMITS.maxDepth} levels`);
    if (++conditionCount > FILTER_LIMITS.maxConditions) {
      throw invalidField(at, `is one condition too many; a filter may have ${FILTER_LIMITS.maxConditions}`);
    }
  }

  function compileEvent(source: unknown, at: string, depth: number): Condition {
    enter(at, depth);
    if (!isObject(source)) throw invalidField(at, "must be an object whose members are fields of an event");
    const conditions = Object.entries(source).map(([name, value]): Condition => {
      const inner = join(at, name);
      if (name.startsWith("$")) {
        if (!LOGICAL_OPERATORS.includes(name)) throw unknownOperator(inner, name, LOGICAL_OPERATORS.join(", "));
        return compileLogical(name, value, inner, "", depth, (item, itemAt) => compileEvent(item, itemAt, depth + 1));
      }
      const field = FILTER_FIELDS.find((known) => known === name);
      if (field === undefined) {
        throw invalidField(inner, `is not a field that filters know; use ${FILTER_FIELDS.join(", ")}`);
      }
      readsData ||= field === "data";
      const location = { at: inner, path: field, depth: depth + 1, isHeaders: field === "headers" };
      return { kind: "field", field, condition: compileValue(value, location) };
    });
    return conditions.length === 1 && conditions[0] !== undefined ? conditions[0] : { kind: "all", conditions };
  }

  function compileValue(source: unknown, location: Location): Condition {
    const { at, path, depth } = location;
    enter(at, depth);
    if (!isObject(source)) {
      checkOperand(source, at, depth);
      return { kind: "test", path, operator: "$eq", operand: source, test: equals(source) };
    }
    const conditions = Object.entries(source).map(([name, value]) => compileMember(name, value, location));
    if (conditions.length === 0) {
      throw invalidField(
        at,
        `has no conditions; use {"$exist": true} for any value, or {"$eq": {}} for an empty object`,
      );
    }
    return conditions.length === 1 && conditions[0] !== undefined ? conditions[0] : { kind: "all", conditions };
  }

  function compileMember(name: string, value: unknown, location: Location): Condition {
    const { path, depth, isHeaders } = location;
    const at = join(location.at, name);
    if (!name.startsWith("$")) {
      const key = isHeaders ? name.toLowerCase() : name;
      const inner = { at, path: join(path, key), depth: depth + 1, isHeaders: false };
      const index = ARRAY_INDEX.test(key) ? Number(key) : undefined;
      return { kind: "member", name: key, index, condition: compileValue(value, inner) };
    }
    if (LOGICAL_OPERATORS.includes(name)) {
      return compileLogical(name, value, at, path, depth, (item, itemAt) =>
        compileValue(item, { at: itemAt, path, depth: depth + 1, isHeaders }),
      );
    }
    const operator = VALUE_OPERATORS.get(name);
    if (operator === undefined) throw unknownOperator(at, name, ALL_OPERATORS);
    enter(at, depth);
    if (!operator.accepts(value)) throw invalidField(at, `must be ${operator.operand}`);
    checkOperand(value, at, depth);
    return { kind: "test", path, operator: name, operand: value, test: operator.compile(value) };
  }

  function compileLogical(
    name: string,
    operand: unknown,
    at: string,
    path: string,
    depth: number,
    compile: (item: unknown, at: string) => Condition,
  ): Condition {
    enter(at, depth);
    if (name === "$not") return { kind: "not", path, operand, condition: compile(operand, at) };
    if (!Array.isArray(operand) || operand.length === 0) throw invalidField(at, "must be a list that is not empty");
    const conditions = operand.map((item, i) => compile(item, `${at}[${i}]`));
    return name === "$and" ? { kind: "all", conditions } : { kind: "any", path, operand, conditions };
  }

  return { compileEvent, readsData: () => readsData };
}

/**
 * Rejects whole numbers beyond 2^53, because they would also equal their neighbours. All comparisons are then correct:
 * an event's number that was rounded lies beyond every number that a filter can name.
 */
function checkOperand(value: unknown, at: string, depth: number): void {
  if (depth > FILTER_LIMITS.maxDepth) throw invalidField(at, `is nested deeper than ${FILTER_LIMITS.maxDepth} levels`);
  if (typeof value === "number") {
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!isExact) throw invalidField(at, "is a number beyond ±(2^53 - 1), which cannot be compared exactly");
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => checkOperand(item, `${at}[${i}]`, depth + 1));
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) checkOperand(item, join(at, name), depth + 1);
  } else if (value !== null && typeof value !== "string" && typeof value !== "boolean") {
    throw invalidField(at, "is not a JSON value");
  }
}

/** Whether an event meets a filter. A filter that exceeds its budget does not match. */
export function matchFilter(filter: Filter, facts: FilterFacts, budget: FilterBudget = createFilterBudget()): boolean {
  const steps = new FilterSteps(budget);
  try {
    return holds(filter.condition, facts, steps);
  } catch (error) {
    if (!(error instanceof FilterTooCostly)) throw error;
    budget.exceeded++;
    return false;
  } finally {
    steps.settle();
  }
}

/** The first condition that the event does not meet, in the order of the filter; undefined when the event matches. */
export function explainFilter(filter: Filter, facts: FilterFacts): FilterFailure | undefined {
  try {
    return findFailure(filter.condition, facts, new FilterSteps(createFilterBudget()));
  } catch (error) {
    if (!(error instanceof FilterTooCostly)) throw error;
    return {
      path: "",
      operator: "step budget",
      expected: "an event that can be checked within the budget",
      found: undefined,
    };
  }
}

function holds(condition: Condition, value: unknown, steps: FilterSteps): boolean {
  steps.spend(1);
  switch (condition.kind) {
    case "test":
      return condition.test(value, steps);
    case "field":
      return holds(condition.condition, (value as FilterFacts)[condition.field], steps);
    case "member":
      return holds(condition.condition, readMember(value, condition), steps);
    case "all":
      for (const one of condition.conditions) if (!holds(one, value, steps)) return false;
      return true;
    case "any":
      for (const one of condition.conditions) if (holds(one, value, steps)) return true;
      return false;
    case "not":
      return !holds(condition.condition, value, steps);
  }
}

function findFailure(condition: Condition, value: unknown, steps: FilterSteps): FilterFailure | undefined {
  switch (condition.kind) {
    case "field":
      return findFailure(condition.condition, (value as FilterFacts)[condition.field], steps);
    case "member":
      return findFailure(condition.condition, readMember(value, condition), steps);
    case "all":
      for (const one of condition.conditions) {
        const failure = findFailure(one, value, steps);
        if (failure !== undefined) return failure;
      }
      return undefined;
    default: {
      if (holds(condition, value, steps)) return undefined;
      const { path, operand } = condition;
      const operator = condition.kind === "test" ? condition.operator : condition.kind === "any" ? "$or" : "$not";
      return { path, operator, expected: operand, found: path === "" ? undefined : value };
    }
  }
}

/** Own members only: `constructor` or `__proto__` exists only when the sender sent it. */
function readMember(value: unknown, { name, index }: { name: string; index: number | undefined }): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return index === undefined ? undefined : (value[index] as unknown);
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MAX_SHOWN_NAME = 60;

function join(path: string, name: string): string {
  return `${path}.${name.slice(0, MAX_SHOWN_NAME)}`;
}

function tooLong(at: string): PosthornError {
  return invalidField(at, `is longer than ${FILTER_LIMITS.maxLength} characters`);
}

function unknownOperator(at: string, name: string, known: string): PosthornError {
  return invalidField(at, `${JSON.stringify(name.slice(0, MAX_SHOWN_NAME))} is not an operator here; use ${known}`);
}
