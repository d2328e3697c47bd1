import type { Json } from "./keywords.ts";

const PROTO = "__proto__";
/** As patterns that the compiler does not recognize as the name itself. */
const PROTO_FIELD = "^(?:__proto__)$";
const PROTO_PATTERN = "(?:__proto__)";

/** Rewrites keywords that ajv does not implement as the drafts define them. */
export function avoidCompilerGaps(schema: Json, tracksFields: boolean): Json {
  const result = { ...schema };
  const more: unknown[] = [];
  separateProto(result, more);
  // Ajv rejects an empty enum, which matches nothing.
  if (Array.isArray(result["enum"]) && result["enum"].length === 0) {
    delete result["enum"];
    more.push(false);
  }
  // Ajv counts the fields of `if` as evaluated even if it does not hold, and never without `then` or `else`.
  if (tracksFields && result["if"] !== undefined) {
    const { if: condition, then: consequence = true } = result;
    const both = [
      ["if", { not: { not: condition } }],
      ["then", { allOf: [condition, consequence] }],
    ] as const;
    Object.assign(result, Object.fromEntries(both));
  }
  if (more.length > 0) result["allOf"] = [...((result["allOf"] as unknown[] | undefined) ?? []), ...more];
  return result;
}

/** Ajv skips all fields of this name, to protect its own objects. */
function separateProto(schema: Json, more: unknown[]): void {
  const field = take(schema, "properties");
  const pattern = take(schema, "patternProperties");
  if (field !== undefined || pattern !== undefined) {
    schema["patternProperties"] = {
      ...(schema["patternProperties"] as Json | undefined),
      ...(field !== undefined && { [PROTO_FIELD]: field.value }),
      ...(pattern !== undefined && { [PROTO_PATTERN]: pattern.value }),
    };
  }
  for (const keyword of ["dependencies", "dependentSchemas", "dependentRequired"]) {
    const dependency = take(schema, keyword);
    if (dependency === undefined) continue;
    const then = Array.isArray(dependency.value) ? { required: dependency.value as unknown } : dependency.value;
    more.push({ anyOf: [{ not: { required: [PROTO] } }, then] });
  }
}

function take(schema: Json, keyword: string): { value: unknown } | undefined {
  const map = schema[keyword];
  if (typeof map !== "object" || map === null || !Object.hasOwn(map, PROTO)) return undefined;
  const entries: [string, unknown][] = Object.entries(map);
  schema[keyword] = Object.fromEntries(entries.filter(([name]) => name !== PROTO));
  return { value: entries.find(([name]) => name === PROTO)?.[1] };
}
