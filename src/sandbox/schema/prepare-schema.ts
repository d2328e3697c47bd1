import { MAX_JSON_DEPTH } from "../../model/event-type.ts";
import { isDeeperThan } from "../../model/json.ts";
import { findDraft, isBefore2019, type Draft } from "./drafts.ts";
import {
  DEFINITIONS,
  IN_PLACE,
  keywordsOf,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  SCHEMA_SINGLES,
  WEIGHT,
  type Json,
} from "./keywords.ts";
import { avoidCompilerGaps } from "./compiler-gaps.ts";
import { SchemaFault } from "./schema-fault.ts";
import { escapeStep, findPlaces, REFERENCES, type Place, type Resource } from "./schema-places.ts";

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
  /** Whether `format` is checked. */
  assertsFormats: boolean;
}

export const MAX_SCHEMA_BYTES = 64 * 1024;

export interface SchemaLimits {
  readonly maxBytes: number;
  /** The depth of containers below the root. */
  readonly maxDepth: number;
  readonly maxSubschemas: number;
}

const EVENT_TYPE_LIMITS: SchemaLimits = {
  maxBytes: MAX_SCHEMA_BYTES,
  maxDepth: MAX_JSON_DEPTH,
  maxSubschemas: 2000,
};

/** The schema can choose. */
const FORMAT_CHOICE = "x-format";
const FORMAT_CHOICES = ["assertion", "annotation"];
const NUMBERED = "$defs";

/** The first resource with a dynamic anchor of each name. */
type Scope = ReadonlyMap<string, Resource>;

interface Numbered {
  readonly number: number;
  readonly place: Place;
  readonly scope: Scope;
  /** The schemas that it applies to the same value. */
  readonly inPlace: Set<Numbered>;
}

/** From the stored text: text cannot contain cycles, for example. */
export function prepareSchema(text: string, limits = EVENT_TYPE_LIMITS): PreparedSchema {
  const { maxBytes, maxDepth, maxSubschemas } = limits;
  if (Buffer.byteLength(text) > maxBytes) throw new SchemaFault(`is larger than ${maxBytes / 1024} KB`);
  const source = JSON.parse(text) as unknown;
  if (isDeeperThan(source, maxDepth)) throw new SchemaFault(`is nested more than ${maxDepth} levels deep`);
  const head = readHead(source);
  const schema = numberReferences(source, head.draft, maxSubschemas);
  return { ...head, source, schema };
}

function readHead(source: unknown): Pick<PreparedSchema, "draft" | "assertsFormats"> {
  if (typeof source === "boolean") return { draft: findDraft(undefined) as Draft, assertsFormats: true };
  if (!isObject(source)) throw new SchemaFault("must be an object, true or false");
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

function numberReferences(source: unknown, draft: Draft, maxSubschemas: number): Json {
  const places = findPlaces(source, draft, maxSubschemas);
  const numbered = new Map<string, Numbered>();
  const waiting: Numbered[] = [];
  let copies = 0;

  function count(): void {
    // A referenced schema is counted twice, and more often if its references have several meanings.
    if (++copies > 2 * maxSubschemas) throw new SchemaFault(`has more than ${maxSubschemas} subschemas`);
  }

  function refer(place: Place, scope: Scope): Numbered {
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
  function copy(place: Place, outer: Scope, holder: Numbered | undefined): unknown {
    if (!place.document.referenced.has(place)) return copyWhole(place, outer, holder);
    count();
    const to = refer(place, outer);
    holder?.inPlace.add(to);
    return { $ref: referenceTo(to), [WEIGHT]: 1 };
  }

  function copyWhole(place: Place, outer: Scope, holder: Numbered | undefined): unknown {
    count();
    const { node, document, resource } = place;
    // Other invalid values are reported by the meta-schema.
    if (!isObject(node)) return node;
    const scope = enter(outer, resource);
    const keywords = keywordsOf(document.draft);
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
      } else if (SCHEMA_MAPS.has(keyword) && isObject(value)) {
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
  refuseEndless([...numbered.values()]);
  const schema = isObject(root) ? root : { allOf: [root], [WEIGHT]: 1 };
  return numbered.size === 0 ? schema : { ...schema, [NUMBERED]: all };
}

function referenceTo({ number: index }: Numbered): string {
  return `#/${NUMBERED}/${index}`;
}

function findMeant({ to, dynamicName }: { to: Place; dynamicName: string | undefined }, scope: Scope): Place {
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

function childOf({ document, pointer }: Place, ...steps: readonly string[]): Place {
  const at = steps.map((step) => `/${escapeStep(step)}`).join("");
  const child = document.places.get(pointer + at);
  if (child === undefined) throw new Error(`no schema was found at ${pointer}${at}`);
  return child;
}

function isReference(keyword: string): boolean {
  return REFERENCES.some((one) => one === keyword);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A schema that applies itself to the same value, directly or through others, never ends. */
function refuseEndless(all: readonly Numbered[]): void {
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
