import type { EventType } from "../../model/event-type.ts";
import { matchesPattern, parsePattern, type Pattern } from "../../model/pattern.ts";
import type { EventTypeSchema } from "../../sandbox/templates/templates.ts";

/**
 * The schemas of the event types that the patterns name. Empty when a pattern also matches types with unknown payloads:
 * a type without a schema, or any type at all.
 */
export function listNamedSchemas(patterns: readonly string[], types: readonly EventType[]): EventTypeSchema[] {
  const named = patterns.map((text) => listNamed(parsePattern(text), types));
  if (named.some((list) => list.length === 0 || list.some(({ versions }) => versions.length === 0))) return [];
  return [...new Set(named.flat())].flatMap(({ name, versions }) =>
    versions.map(({ schema }) => ({ eventType: name, schema })),
  );
}

function listNamed(pattern: Pattern, types: readonly EventType[]): EventType[] {
  const [first] = pattern.words;
  if (first === "*" || first === "#") return [];
  return types.filter(({ name }) => matchesPattern(pattern, name));
}
