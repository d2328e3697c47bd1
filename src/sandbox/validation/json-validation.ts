import type { FilterFacts } from "../../model/filter.ts";
import { isDeeperThan } from "../../model/json.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import { compilePayloadSchema, type Mismatch } from "../schema/payload-schema.ts";
import type { SchemaLimits } from "../schema/prepare-schema.ts";
import { SchemaFault } from "../schema/schema-fault.ts";
import { checkRules, parseRules, type Rule } from "./rules.ts";

/** A compiled JSON Schema, rules, or both. Its check ends after a limited number of steps. */
export interface JsonValidation {
  /** The errors of a request; undefined when it is valid. Throws `TooManySteps`. */
  check(facts: FilterFacts, maxSteps: number): readonly Mismatch[] | undefined;
  /** Only rules look at more than `data`. */
  readonly hasRules: boolean;
}

const { maxBytes, maxDepth, maxSubschemas, maxErrors } = VALIDATION_LIMITS;
const LIMITS: SchemaLimits = { maxBytes, maxDepth: maxDepth - 1, maxSubschemas };
/** The members that are allowed next to `rules` without a schema. */
const REMARKS = new Set(["rules", "title", "description", "$comment"]);

/** Throws `SchemaFault`. The text is JSON. */
export function compileJsonValidation(text: string, { trusted }: { trusted: boolean }): JsonValidation {
  const root = JSON.parse(text) as unknown;
  if (isDeeperThan(root, LIMITS.maxDepth)) throw new SchemaFault(`is nested more than ${maxDepth} levels deep`);
  if (typeof root === "boolean") return compileParts(text, [], trusted);
  if (typeof root !== "object" || root === null || Array.isArray(root)) {
    throw new SchemaFault("must be an object, true or false");
  }
  const { rules: alone, "x-rules": beside, ...schema } = root as Record<string, unknown>;
  if (alone !== undefined) refuseBoth(root);
  const rules =
    alone !== undefined ? parseRules(alone, "rules") : beside === undefined ? [] : parseRules(beside, "x-rules");
  return compileParts(alone === undefined ? JSON.stringify(schema) : undefined, rules, trusted);
}

function compileParts(schema: string | undefined, rules: readonly Rule[], trusted: boolean): JsonValidation {
  const options = { trusted, limits: LIMITS, maxMismatches: maxErrors };
  const compiled = schema === undefined ? undefined : compilePayloadSchema(schema, options);
  return {
    hasRules: rules.length > 0,
    check(facts, maxSteps) {
      const found = compiled?.check(facts.data, maxSteps);
      if (rules.length === 0) return found;
      const broken = checkRules(rules, facts);
      if (broken.length === 0) return found;
      return [...(found ?? []), ...broken].slice(0, maxErrors);
    },
  };
}

/** As an unknown keyword of a schema, `rules` would be ignored silently. */
function refuseBoth(root: object): void {
  const other = Object.keys(root).find((name) => !REMARKS.has(name));
  if (other === undefined) return;
  throw new SchemaFault(`has rules next to ${other.slice(0, 60)}; next to a schema, name them x-rules`);
}
