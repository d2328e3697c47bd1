import { MAX_JSON_DEPTH } from "../../domain/event-type.ts";
import { isDeeperThan } from "../../domain/json-depth.ts";

/**
 * Reads a JSON Schema that a user wrote, before it is compiled: it must be small, shallow and refer to nothing but
 * itself. Every subschema gets the weight of one visit, so that the cost of a check can be counted while it runs.
 */
export type Draft = "2020-12" | "2019-09" | "07" | "04";

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

export interface SchemaLimits {
  readonly maxBytes: number;
  /** Of containers inside of the root. */
  readonly maxDepth: number;
  readonly maxSubschemas: number;
}

const EVENT_TYPE_LIMITS: SchemaLimits = {
  maxBytes: MAX_SCHEMA_BYTES,
  maxDepth: MAX_JSON_DEPTH,
  maxSubschemas: 2000,
};

/** Holds the weight; nobody's own keyword, and overwritten where somebody has it. */
export const WEIGHT = "x-posthorn-weight";

const DRAFTS: ReadonlyMap<unknown, Draft> = new Map<unknown, Draft>([
  [undefined, "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema#", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["https://json-schema.org/draft/2019-09/schema#", "2019-09"],
  ["http://json-schema.org/draft-07/schema", "07"],
  ["http://json-schema.org/draft-07/schema#", "07"],
  ["http://json-schema.org/draft-04/schema", "04"],
  ["http://json-schema.org/draft-04/schema#", "04"],
]);

const ONE = "additionalProperties additionalItems contains contentSchema else if items not propertyNames then";
const UNEVALUATED = "unevaluatedItems unevaluatedProperties";
const SINGLE = new Set(`${ONE} ${UNEVALUATED}`.split(" "));
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const MAPS = new Set(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]);
const LEFT_OUT = new Set(["$schema", WEIGHT]);
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

type Json = Record<string, unknown>;

/** By its text, as it is kept: what the text cannot say, such as a cycle, cannot be in it. */
export function prepareSchema(text: string, limits = EVENT_TYPE_LIMITS): PreparedSchema {
  const { maxBytes, maxDepth, maxSubschemas } = limits;
  if (Buffer.byteLength(text) > maxBytes) throw new SchemaFault(`is larger than ${maxBytes / 1024} KB`);
  const root = JSON.parse(text) as unknown;
  if (!isObject(root)) throw new SchemaFault("must be an object");
  const draft = DRAFTS.get(root["$schema"]);
  if (draft === undefined) {
    throw new SchemaFault(
      `says $schema ${JSON.stringify(root["$schema"])}; drafts 2020-12 and 2019-09 ` +
        "(https://json-schema.org/draft/2020-12/schema), 07 and 04 (http://json-schema.org/draft-07/schema#) can be used",
    );
  }
  if (isDeeperThan(root, maxDepth)) throw new SchemaFault(`is nested more than ${maxDepth} levels deep`);
  const idKeyword = draft === "04" ? "id" : "$id";

  const places = new Set<string>();
  const references: { at: string; to: string }[] = [];

  function visit(node: unknown, place: string): unknown {
    places.add(place);
    if (places.size > maxSubschemas) throw new SchemaFault(`has more than ${maxSubschemas} subschemas`);
    // Anything else that is no schema is for the meta-schema to say.
    if (!isObject(node)) return node;
    if (place !== "" && node[idKeyword] !== undefined) {
      throw new SchemaFault(`must not hold ${idKeyword} inside, as at ${place}`);
    }
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
      if (LEFT_OUT.has(keyword) || keyword === idKeyword) continue;
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
