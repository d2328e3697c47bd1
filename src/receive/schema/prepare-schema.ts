import { MAX_JSON_DEPTH } from "../../domain/event-type.ts";
import { isDeeperThan } from "../../domain/json-depth.ts";

/**
 * Reads a JSON Schema that a user wrote, before it is compiled: it must be small, shallow and refer to nothing but
 * itself. Every subschema gets the weight of one visit, so that the cost of a check can be counted while it runs.
 */
export type Draft = "2020-12" | "07";

export interface PreparedSchema {
  draft: Draft;
  /** A copy with weights, without `$id` and `$schema`. */
  schema: object;
  /** How many subschemas there are: what compiling costs. */
  size: number;
}

/** Why a schema cannot be used. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

export const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_SUBSCHEMAS = 2000;

/** Holds the weight; nobody's own keyword, and overwritten where somebody has it. */
export const WEIGHT = "x-posthorn-weight";

const DRAFTS: ReadonlyMap<unknown, Draft> = new Map<unknown, Draft>([
  [undefined, "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema#", "2020-12"],
  ["http://json-schema.org/draft-07/schema", "07"],
  ["http://json-schema.org/draft-07/schema#", "07"],
]);

const ONE = "additionalProperties additionalItems contains contentSchema else if items not propertyNames then";
const UNEVALUATED = "unevaluatedItems unevaluatedProperties";
const SINGLE = new Set(`${ONE} ${UNEVALUATED}`.split(" "));
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const MAPS = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]);
const LEFT_OUT = new Set(["$id", "$schema", WEIGHT]);
const REFERENCES = ["$ref", "$dynamicRef"] as const;

type Json = Record<string, unknown>;

/** By its text, as it is kept: what the text cannot say, such as a cycle, cannot be in it. */
export function prepareSchema(text: string): PreparedSchema {
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) {
    throw new SchemaFault(`is larger than ${MAX_SCHEMA_BYTES / 1024} KB`);
  }
  const root = JSON.parse(text) as unknown;
  if (!isObject(root)) throw new SchemaFault("must be an object");
  const draft = DRAFTS.get(root["$schema"]);
  if (draft === undefined) {
    throw new SchemaFault(
      `says $schema ${JSON.stringify(root["$schema"])}; draft 2020-12 (https://json-schema.org/draft/2020-12/schema) ` +
        "and draft 07 (http://json-schema.org/draft-07/schema#) can be used",
    );
  }
  if (isDeeperThan(root, MAX_JSON_DEPTH)) throw new SchemaFault(`is nested more than ${MAX_JSON_DEPTH} levels deep`);

  const places = new Set<string>();
  const references: { at: string; to: string }[] = [];

  function visit(node: unknown, place: string): unknown {
    places.add(place);
    if (places.size > MAX_SUBSCHEMAS) throw new SchemaFault(`has more than ${MAX_SUBSCHEMAS} subschemas`);
    // Anything else that is no schema is for the meta-schema to say.
    if (!isObject(node)) return node;
    if (place !== "" && node["$id"] !== undefined) throw new SchemaFault(`must not hold $id inside, as at ${place}`);
    if (node["$async"] !== undefined) throw new SchemaFault("must not hold $async");
    for (const anchor of ["$anchor", "$dynamicAnchor"]) {
      if (typeof node[anchor] === "string") places.add(node[anchor]);
    }
    for (const keyword of REFERENCES) {
      const to = node[keyword];
      if (typeof to === "string") references.push({ at: `${place}/${keyword}`, to });
    }
    const copy: Json = {};
    let weight = 1;
    for (const [keyword, value] of Object.entries(node)) {
      if (LEFT_OUT.has(keyword)) continue;
      const at = `${place}/${escape(keyword)}`;
      if (LISTS.has(keyword) && Array.isArray(value)) {
        weight += value.length;
        copy[keyword] = value.map((inner, index) => visit(inner, `${at}/${index}`));
      } else if (SINGLE.has(keyword)) {
        weight += 1;
        copy[keyword] = visit(value, at);
      } else if (MAPS.has(keyword) && isObject(value)) {
        const entries = Object.entries(value);
        weight += entries.length;
        copy[keyword] = Object.fromEntries(
          entries.map(([name, inner]) => [name, visit(inner, `${at}/${escape(name)}`)]),
        );
      } else {
        weight += 1 + (JSON.stringify(value).length >> 4);
        copy[keyword] = value;
      }
    }
    copy[WEIGHT] = weight;
    return copy;
  }

  const schema = visit(root, "") as object;
  for (const { at, to } of references) {
    if (!to.startsWith("#")) {
      throw new SchemaFault(`refers to ${JSON.stringify(to)} at ${at}; only places of the schema itself can be meant`);
    }
    if (!places.has(decode(to.slice(1)))) {
      throw new SchemaFault(`refers to ${JSON.stringify(to)} at ${at}, where no schema is`);
    }
  }
  return { draft, schema, size: places.size };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function escape(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
