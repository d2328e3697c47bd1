import { PosthornError } from "../../model/errors.ts";
import { explainFilter, matchFilter, parseFilter, type Filter, type FilterFacts } from "../../model/filter.ts";
import { createFilterBudget } from "../../model/filter-operators.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import type { Mismatch } from "../schema/payload-schema.ts";
import { SchemaFault, TOO_LONG } from "../schema/schema-fault.ts";

/** Conditions that a schema cannot express, in the language of filters: if `when` holds, `require` must hold, too. */
export interface Rule {
  readonly when: Filter | undefined;
  readonly require: Filter;
  readonly message: string;
}

/** A request is not an event yet: it has no type, no tenant and no priority. */
const FIELDS = ["data", "headers", "query", "source"] as const;
const LOGICAL = new Set(["$and", "$or", "$not"]);
const MAX_MESSAGE_LENGTH = 500;
const CONTROL = /\p{Cc}/u;

/** `at` is what the errors call the list. Throws `SchemaFault`. */
export function parseRules(value: unknown, at: string): readonly Rule[] {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaFault(`has ${at} that are not a list of rules`);
  const { maxRules } = VALIDATION_LIMITS;
  if (value.length > maxRules) throw new SchemaFault(`has more than ${maxRules} rules`);
  return value.map((rule: unknown, index) => parseRule(rule, `${at}[${index}]`));
}

function parseRule(value: unknown, at: string): Rule {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SchemaFault(`has ${at}, which is not an object with require and message`);
  }
  const { when, require, message, ...others } = value as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new SchemaFault(
      `has ${at}.${unknown.slice(0, 60)}, which is not known; a rule has when, require and message`,
    );
  }
  if (typeof message !== "string" || message.trim() === "" || message.length > MAX_MESSAGE_LENGTH) {
    throw new SchemaFault(`has ${at}.message, which is not a text of 1 to ${MAX_MESSAGE_LENGTH} characters`);
  }
  if (CONTROL.test(message)) throw new SchemaFault(`has ${at}.message with a control character`);
  return {
    when: when === undefined ? undefined : parseCondition(when, `${at}.when`),
    require: parseCondition(require, `${at}.require`),
    message,
  };
}

function parseCondition(value: unknown, at: string): Filter {
  try {
    const filter = parseFilter(value, at);
    refuseFields(typeof value === "string" ? JSON.parse(value) : value, at);
    return filter;
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    throw new SchemaFault(`has ${error.field ?? at}, which ${error.message}`);
  }
}

function refuseFields(source: object, at: string): void {
  for (const [name, value] of Object.entries(source)) {
    if (LOGICAL.has(name)) {
      for (const inner of [value].flat()) refuseFields(inner as object, `${at}.${name}`);
    } else if (!FIELDS.some((field) => field === name)) {
      throw new SchemaFault(`has ${at}.${name}, which requests do not have; use ${FIELDS.join(", ")}`);
    }
  }
}

/** The rules that a request breaks, each with the first place. A rule that cannot be evaluated counts as broken. */
export function checkRules(rules: readonly Rule[], facts: FilterFacts): Mismatch[] {
  const budget = createFilterBudget();
  const mismatches: Mismatch[] = [];
  for (const { when, require, message } of rules) {
    const applies = when === undefined || matchFilter(when, facts, budget);
    if (budget.exceeded > 0) return [...mismatches, { path: "", message: TOO_LONG }];
    if (!applies || matchFilter(require, facts, budget)) continue;
    if (budget.exceeded > 0) return [...mismatches, { path: "", message: TOO_LONG }];
    mismatches.push({ path: toPointer(explainFilter(require, facts)?.path ?? ""), message });
  }
  return mismatches;
}

/** `data.order.total` becomes a place in the body; other names stay unchanged. */
function toPointer(path: string): string {
  const [field = "", ...steps] = path.split(".");
  if (field === "data") return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return path;
}
