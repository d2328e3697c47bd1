import type { Draft } from "./drafts.ts";

/** The keywords of a schema. Other members are ignored. */
export type Json = Record<string, unknown>;

/** Our own keyword for the weight of a visit; removed if a user's schema has it. */
export const WEIGHT = "x-posthorn-weight";

/** Whose value is a schema, a list of schemas, or schemas by name. `items` and `dependencies` may be two of them. */
const APPLIED_ELSEWHERE = "additionalProperties additionalItems contains items propertyNames";
const UNEVALUATED = "unevaluatedItems unevaluatedProperties";
const CONDITIONS = "if then else";
export const SCHEMA_SINGLES = words(`${APPLIED_ELSEWHERE} ${UNEVALUATED} ${CONDITIONS} contentSchema not`);
export const SCHEMA_LISTS = words("allOf anyOf oneOf prefixItems items");
export const SCHEMA_MAPS = words("$defs definitions dependencies dependentSchemas patternProperties properties");
/** Schemas here apply only where something refers to them. */
export const DEFINITIONS = words("$defs definitions contentSchema");
/** Schemas here apply to the same value as the schema around them. */
export const IN_PLACE = words(`allOf anyOf oneOf not ${CONDITIONS} dependencies dependentSchemas`);

const ASSERTIONS = `type enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern
  maxItems minItems uniqueItems maxProperties minProperties required format nullable`;
const IN_04 = `$ref ${ASSERTIONS} additionalItems additionalProperties allOf anyOf definitions $defs dependencies items not
  oneOf patternProperties properties`;
const IN_06 = `${IN_04} const contains propertyNames`;
const IN_07 = `${IN_06} ${CONDITIONS}`;
const IN_2019 = `${IN_07} ${UNEVALUATED} dependentSchemas dependentRequired maxContains minContains $recursiveRef`;
const IN_2020 = `${IN_2019} prefixItems $dynamicRef`;

const KEYWORDS: Readonly<Record<Draft, ReadonlySet<string>>> = {
  "04": words(IN_04),
  "06": words(IN_06),
  "07": words(IN_07),
  "2019-09": words(IN_2019),
  "2020-12": words(IN_2020),
};

export function keywordsOf(draft: Draft): ReadonlySet<string> {
  return KEYWORDS[draft];
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}
