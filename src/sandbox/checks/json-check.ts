import { PosthornError } from "../../model/errors.ts";
import { explainFilter, matchFilter, parseFilter, type Filter, type FilterFacts } from "../../model/filter.ts";
import { createFilterBudget } from "../../model/filter-operators.ts";
import { isDeeperThan } from "../../model/json.ts";
import { parseQuery } from "../../model/addresses.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import { SchemaFault, TOO_LONG, type Mismatch } from "../schema/faults.ts";
import { compilePayloadSchema } from "../schema/payload-schema.ts";
import { escapeStep } from "../schema/schema-places.ts";
import { decodeJson } from "../text/json-text.ts";
import type { CheckedRequest, Mismatches } from "./checker.ts";

/** A compiled JSON Schema, rules, or both. Its check ends after a limited number of steps. */
export interface JsonCheck {
  /** The errors of a request whose body is JSON. Throws `TooManySteps`. */
  check(request: CheckedRequest, maxSteps: number): Mismatches;
}

const { maxDepth, maxErrors } = VALIDATION_LIMITS;
/** The members that are allowed next to `rules` without a schema. */
const REMARKS = new Set(["rules", "title", "description", "$comment"]);

/** The schema of an event type, or a validation, which may have rules, too. Throws `SchemaFault`. The text is JSON. */
export function compileJsonCheck(
  format: "schema" | "json",
  text: string,
  { trusted }: { trusted: boolean },
): JsonCheck {
  if (format === "json") return compileValidation(text, trusted);
  const schema = compilePayloadSchema(text, { trusted, limits: "schema" });
  return { check: ({ body }, maxSteps) => schema.check(JSON.parse(decodeJson(body)), maxSteps) };
}

function compileValidation(text: string, trusted: boolean): JsonCheck {
  const root = JSON.parse(text) as unknown;
  if (isDeeperThan(root, maxDepth - 1)) throw new SchemaFault(`is nested more than ${maxDepth} levels deep`);
  if (typeof root === "boolean") return compileParts(text, [], trusted);
  if (typeof root !== "object" || root === null || Array.isArray(root)) {
    throw new SchemaFault("must be an object, true or false");
  }
  const { rules: alone, "x-rules": beside, ...schema } = root as Record<string, unknown>;
  if (alone !== undefined) rejectBoth(root);
  const rules =
    alone !== undefined ? parseRules(alone, "rules") : beside === undefined ? [] : parseRules(beside, "x-rules");
  return compileParts(alone === undefined ? JSON.stringify(schema) : undefined, rules, trusted);
}

function compileParts(text: string | undefined, rules: readonly Rule[], trusted: boolean): JsonCheck {
  const schema = text === undefined ? undefined : compilePayloadSchema(text, { trusted, limits: "json" });
  return {
    check({ body, headers, query, endpoint }, maxSteps) {
      const data = JSON.parse(decodeJson(body)) as unknown;
      const found = schema?.check(data, maxSteps);
      if (rules.length === 0) return found;
      const broken = checkRules(rules, { data, headers, query: parseQuery(query), source: endpoint });
      if (broken.length === 0) return found;
      return [...(found ?? []), ...broken].slice(0, maxErrors);
    },
  };
}

/** As an unknown keyword of a schema, `rules` would be ignored silently. */
function rejectBoth(root: object): void {
  const other = Object.keys(root).find((name) => !REMARKS.has(name));
  if (other === undefined) return;
  throw new SchemaFault(`has rules next to ${other.slice(0, 60)}; next to a schema, name them x-rules`);
}

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
    rejectFields(typeof value === "string" ? JSON.parse(value) : value, at);
    return filter;
  } catch (error) {
    if (!(error instanceof PosthornError)) throw error;
    throw new SchemaFault(`has ${error.field ?? at}, which ${error.message}`);
  }
}

function rejectFields(source: object, at: string): void {
  for (const [name, value] of Object.entries(source)) {
    if (LOGICAL.has(name)) {
      for (const inner of [value].flat()) rejectFields(inner as object, `${at}.${name}`);
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
  return field === "data" ? steps.map((step) => `/${escapeStep(step)}`).join("") : path;
}
