import { MAX_JSON_DEPTH } from "../../model/event-type.ts";
import { isDeeperThan } from "../../model/json.ts";
import { VALIDATION_LIMITS } from "../../model/validation.ts";
import {
  DEFINITIONS,
  findDraft,
  IN_PLACE,
  isBefore2019,
  KEYWORDS,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  SCHEMA_SINGLES,
  WEIGHT,
  type Draft,
  type Json,
} from "./drafts.ts";
import { SchemaFault } from "./faults.ts";
import { escapeStep, findPlaces, isJson, REFERENCES, type SchemaPlace, type Resource } from "./schema-places.ts";

/**
 * Checks a user's JSON Schema before it is compiled: it must be small, shallow and refer to nothing but
 * itself and the meta-schemas. Referenced schemas are put into one numbered list of the copy, so the compiler never
 * sees an id, a name or a URI. Every subschema gets the weight of one visit, so that the cost of a check can be counted
 * while it runs.
 */
export interface PreparedSchema {
  draft: Draft;
  /** The schema as the user wrote it. */
  source: unknown;
  /** The schema with weights and numbered references. */
  schema: Json;
  assertsFormats: boolean;
}

/** Limits of the schemas of event types, and of those of validations; `maxDepth`: of containers below the root. */
export const LIMITS = {
  schema: { maxBytes: 64 * 1024, maxDepth: MAX_JSON_DEPTH, maxErrors: 20 },
  json: {
    maxBytes: VALIDATION_LIMITS.maxBytes,
    maxDepth: VALIDATION_LIMITS.maxDepth - 1,
    maxErrors: VALIDATION_LIMITS.maxErrors,
  },
};
const MAX_SUBSCHEMAS = VALIDATION_LIMITS.maxSubschemas;

/** The schema can choose. */
const FORMAT_CHOICE = "x-format";
const FORMAT_CHOICES = ["assertion", "annotation"];
const NUMBERED = "$defs";

/** The first resource with a dynamic anchor of each name. */
type Scope = ReadonlyMap<string, Resource>;

interface Numbered {
  readonly number: number;
  readonly place: SchemaPlace;
  readonly scope: Scope;
  /** The schemas that it applies to the same value. */
  readonly inPlace: Set<Numbered>;
}

/** From the stored text: text cannot contain cycles, for example. */
export function prepareSchema(text: string, format: keyof typeof LIMITS): PreparedSchema {
  const { maxBytes, maxDepth } = LIMITS[format];
  if (Buffer.byteLength(text) > maxBytes) throw new SchemaFault(`is larger than ${maxBytes / 1024} KB`);
  const source = JSON.parse(text) as unknown;
  if (isDeeperThan(source, maxDepth)) throw new SchemaFault(`is nested more than ${maxDepth} levels deep`);
  const head = readHead(source);
  const schema = numberReferences(source, head.draft);
  return { ...head, source, schema };
}

function readHead(source: unknown): Pick<PreparedSchema, "draft" | "assertsFormats"> {
  if (typeof source === "boolean") return { draft: findDraft(undefined) as Draft, assertsFormats: true };
  if (!isJson(source)) throw new SchemaFault("must be an object, true or false");
  const { $schema, [FORMAT_CHOICE]: choice = "assertion" } = source;
  const draft = findDraft($schema);
  if (draft === undefined) {
    throw new SchemaFault(
      `says $schema ${JSON.stringify($schema)}; drafts 2020-12 and 2019-09 ` +
        "(https://json-schema.org/draft/2020-12/schema), 07, 06 and 04 (http://json-schema.org/draft-07/schema#) can " +
        "be used",
    );
  }
  if (typeof choice !== "string" || !FORMAT_CHOICES.includes(choice)) {
    throw new SchemaFault(`has ${FORMAT_CHOICE} ${JSON.stringify(choice)}; it is ${FORMAT_CHOICES.join(" or ")}`);
  }
  return { draft, assertsFormats: choice === "assertion" };
}

function numberReferences(source: unknown, draft: Draft): Json {
  const places = findPlaces(source, draft, MAX_SUBSCHEMAS);
  const numbered = new Map<string, Numbered>();
  const waiting: Numbered[] = [];
  let copies = 0;

  function count(): void {
    // A referenced schema is counted twice, and more often if its references have several meanings.
    if (++copies > 2 * MAX_SUBSCHEMAS) throw new SchemaFault(`has more than ${MAX_SUBSCHEMAS} subschemas`);
  }

  function refer(place: SchemaPlace, scope: Scope): Numbered {
    const inner = enter(scope, place.resource);
    const key = `${place.resource.uri} ${place.pointer} ${scopeKey(inner)}`;
    const known = numbered.get(key);
    if (known !== undefined) return known;
    const added: Numbered = { number: numbered.size, place, scope: inner, inPlace: new Set() };
    numbered.set(key, added);
    waiting.push(added);
    return added;
  }

  /** `holder` is undefined when the schema applies to another value than the numbered schema around it. */
  function copy(place: SchemaPlace, outer: Scope, holder: Numbered | undefined): unknown {
    if (!place.document.referenced.has(place)) return copyWhole(place, outer, holder);
    count();
    const to = refer(place, outer);
    holder?.inPlace.add(to);
    return { $ref: referenceTo(to), [WEIGHT]: 1 };
  }

  function copyWhole(place: SchemaPlace, outer: Scope, holder: Numbered | undefined): unknown {
    count();
    const { node, document, resource } = place;
    // Other invalid values are reported by the meta-schema.
    if (!isJson(node)) return node;
    const scope = enter(outer, resource);
    const keywords = KEYWORDS[document.draft];
    const isAlone = isBefore2019(document.draft) && typeof node["$ref"] === "string";
    const result: Json = {};
    let weight = 1;
    for (const [keyword, value] of isAlone ? [] : Object.entries(node)) {
      if (!keywords.has(keyword) || DEFINITIONS.has(keyword) || isReference(keyword)) continue;
      const inner = IN_PLACE.has(keyword) ? holder : undefined;
      const copyAt = (...steps: string[]) => copy(childOf(place, keyword, ...steps), scope, inner);
      if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) {
        weight += value.length;
        result[keyword] = value.map((_, index) => copyAt(String(index)));
      } else if (SCHEMA_SINGLES.has(keyword)) {
        weight += 1;
        result[keyword] = copyAt();
      } else if (SCHEMA_MAPS.has(keyword) && isJson(value)) {
        const names = Object.keys(value);
        weight += names.length;
        result[keyword] = Object.fromEntries(names.map((name) => [name, copyAt(name)]));
      } else {
        weight += 1 + (JSON.stringify(value).length >> 4);
        result[keyword] = value;
      }
    }
    const references = REFERENCES.flatMap((keyword) => {
      const found = places.resolve(place, keyword);
      if (found === undefined) return [];
      const to = refer(findMeant(found, scope), scope);
      holder?.inPlace.add(to);
      return { $ref: referenceTo(to) };
    });
    weight += references.length;
    // The compiler supports one kind of reference, and one per schema.
    const [first, ...others] = references;
    if (others.length > 0) result["allOf"] = [...((result["allOf"] as unknown[] | undefined) ?? []), ...others];
    return avoidCompilerGaps({ ...result, ...first, [WEIGHT]: weight }, document.tracksFields);
  }

  const root = copy(places.root, new Map(), undefined);
  const all: Json = {};
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    all[String(next.number)] = copyWhole(next.place, next.scope, next);
  }
  rejectEndless([...numbered.values()]);
  const schema = isJson(root) ? root : { allOf: [root], [WEIGHT]: 1 };
  return numbered.size === 0 ? schema : { ...schema, [NUMBERED]: all };
}

function referenceTo({ number: index }: Numbered): string {
  return `#/${NUMBERED}/${index}`;
}

function findMeant(
  { to, dynamicName }: { to: SchemaPlace; dynamicName: string | undefined },
  scope: Scope,
): SchemaPlace {
  if (dynamicName === undefined) return to;
  return scope.get(dynamicName)?.anchors.get(dynamicName) ?? to;
}

/** The first one wins: the outermost resource decides. */
function enter(scope: Scope, resource: Resource): Scope {
  const names = [...resource.dynamicAnchors].filter((name) => !scope.has(name));
  return names.length === 0 ? scope : new Map([...scope, ...names.map((name) => [name, resource] as const)]);
}

function scopeKey(scope: Scope): string {
  return [...scope]
    .map(([name, { uri }]) => `${name}=${uri}`)
    .sort()
    .join(" ");
}

function childOf({ document, pointer }: SchemaPlace, ...steps: readonly string[]): SchemaPlace {
  const at = steps.map((step) => `/${escapeStep(step)}`).join("");
  const child = document.places.get(pointer + at);
  if (child === undefined) throw new Error(`no schema was found at ${pointer}${at}`);
  return child;
}

function isReference(keyword: string): boolean {
  return REFERENCES.some((one) => one === keyword);
}

/** A schema that applies itself to the same value, directly or through others, never ends. */
function rejectEndless(all: readonly Numbered[]): void {
  const done = new Set<Numbered>();
  const onTheWay = new Set<Numbered>();
  function walk(one: Numbered): void {
    if (done.has(one)) return;
    if (onTheWay.has(one)) {
      const at = one.place.pointer === "" ? "its root" : one.place.pointer;
      throw new SchemaFault(`refers to itself without end at ${at}: it applies itself to the same value again`);
    }
    onTheWay.add(one);
    for (const next of one.inPlace) walk(next);
    onTheWay.delete(one);
    done.add(one);
  }
  for (const one of all) walk(one);
}

const PROTO = "__proto__";
/** As patterns that the compiler does not recognize as the name itself. */
const PROTO_FIELD = "^(?:__proto__)$";
const PROTO_PATTERN = "(?:__proto__)";

/** Rewrites keywords that ajv does not implement as the drafts define them. */
function avoidCompilerGaps(schema: Json, tracksFields: boolean): Json {
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
