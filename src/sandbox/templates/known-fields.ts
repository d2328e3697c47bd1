import { analyzeSync, ForTag, type Template as Part, Variable } from "liquidjs";
import { suggestName } from "../../model/nearest-name.ts";
import { childrenOf, parseTemplate } from "./compile.ts";
import { FACT_FIELDS } from "./template-scope.ts";
import type { EventTypeSchema, Template } from "./templates.ts";

/** The first field of a template that can never have a value; undefined when there is none. */
export function findUnknown(
  parts: Part[],
  schemas: readonly EventTypeSchema[],
  own: Template["own"] = {},
): string | undefined {
  const known = { ...FACT_FIELDS, ...own };
  for (const path of listPaths(parts)) {
    const problem = findProblem(path, schemas, known);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findProblem(
  [root, ...rest]: readonly Step[],
  schemas: readonly EventTypeSchema[],
  known: typeof FACT_FIELDS,
): string | undefined {
  const name = String(root);
  if (!Object.hasOwn(known, name)) {
    const names = Object.keys(known);
    return `${name} is not known here${suggestName(name, names) || `; templates know ${names.join(", ")}`}`;
  }
  if (name === "data") return findUnknownField(rest, schemas);
  const fields = known[name];
  const [field] = rest;
  if (fields === undefined || field === undefined || fields.includes(String(field))) return undefined;
  const meant = suggestName(
    `${name}.${field}`,
    fields.map((one) => `${name}.${one}`),
  );
  return `${name}.${field} is not known here${meant || `; ${name} has ${fields.join(", ")}`}`;
}

/** Paths from the facts; an element of a loop continues the path of its list. */
function listPaths(parts: Part[]): (readonly Step[])[] {
  const paths = Object.values(analyzeSync(parts, { partials: false }).globals).flatMap((list) => list.map(toSteps));
  return [...paths, ...listLoopPaths(parts, new Map())];
}

type Loops = ReadonlyMap<string, readonly Step[] | undefined>;

function listLoopPaths(parts: readonly Part[], outer: Loops): (readonly Step[])[] {
  return parts.flatMap((part) => {
    const children = childrenOf(part);
    if (!(part instanceof ForTag)) return listLoopPaths(children, outer);
    const loops = new Map(outer).set(part.variable, findElement(part, outer));
    const inside = Object.values(analyzeSync(part.templates, { partials: false }).globals).flat();
    const paths = inside.map(toSteps).flatMap((path) => resolve(path, loops) ?? []);
    return [...paths, ...listLoopPaths(children, loops)];
  });
}

/** The path of a loop's elements; undefined when it cannot be known. */
function findElement({ collection }: ForTag, outer: Loops): readonly Step[] | undefined {
  const asked = Object.values(analyzeSync(parseTemplate(`{{ ${collection.getText()} }}`)).globals).flat();
  const [only] = asked;
  if (only === undefined || asked.length > 1 || collection.getText().startsWith("(")) return undefined;
  const path = toSteps(only);
  if (Object.hasOwn(FACT_FIELDS, String(path[0])) && !outer.has(String(path[0]))) return [...path, 0];
  const [resolved] = resolve(path, outer) ?? [];
  return resolved && [...resolved, 0];
}

function resolve([root, ...rest]: readonly Step[], loops: Loops): (readonly Step[])[] | undefined {
  const element = loops.get(String(root));
  return element && [[...element, ...rest]];
}

/** Up to the first step that is itself a variable. */
function toSteps({ segments }: Variable): readonly Step[] {
  const dynamic = segments.findIndex((segment) => segment instanceof Variable);
  return (dynamic === -1 ? segments : segments.slice(0, dynamic)) as Step[];
}

/** Whether a schema allows a path in a payload. A schema without restrictions allows every path. */

/** A step of a path: the name of a member, or any element of a list. */
type Step = string | number;

/** Undefined when one of the schemas allows the path; otherwise the reason, according to the first schema. */
function findUnknownField(path: readonly Step[], schemas: readonly EventTypeSchema[]): string | undefined {
  let first: string | undefined;
  for (const { eventType, schema } of schemas) {
    const found = walk(path, schema);
    if (found === undefined) return undefined;
    first ??= `${found.name} is not in the schema of ${eventType}${suggestName(found.name, found.known)}`;
  }
  return first;
}

function walk(path: readonly Step[], root: object): { name: string; known: string[] } | undefined {
  let places: unknown[] = [root];
  let name = "data";
  for (const step of path) {
    const parent = name;
    name = typeof step === "number" ? name : `${name}.${step}`;
    const seen = spread(places, root);
    if (seen.some(isOpen)) return undefined;
    const hasNames = seen.some((schema) => schema !== true && "properties" in schema);
    const next = seen.flatMap((schema) => enter(schema, step, hasNames));
    if (next.length === 0 && isOwnField(step)) return undefined;
    if (next.length === 0) return { name, known: seen.flatMap((one) => listNames(one, parent)) };
    places = next;
  }
  return undefined;
}

type Schema = Readonly<Record<string, unknown>>;

/** The schemas and all their subschemas at the same place. */
function spread(places: readonly unknown[], root: object): (Schema | true)[] {
  const seen = new Set<Schema | true>();
  const left = [...places];
  while (left.length > 0) {
    const place = left.pop();
    if ((place !== true && !isObject(place)) || seen.has(place)) continue;
    seen.add(place);
    if (place !== true) left.push(...listParts(place, root));
  }
  return [...seen];
}

function listParts(schema: Schema, root: object): unknown[] {
  const refs = ["$ref", "$dynamicRef"].map((word) => schema[word]);
  const lists = ["allOf", "anyOf", "oneOf"].flatMap((word) => schema[word] ?? []);
  const branches = ["if", "then", "else"].flatMap((word) => schema[word] ?? []);
  return [...refs.flatMap((to) => (typeof to === "string" ? [findRef(to, root)] : [])), ...lists, ...branches];
}

/** The target of an external reference may allow anything. */
function findRef(to: string, root: object): unknown {
  if (to === "#") return root;
  if (!to.startsWith("#/")) return true;
  let at: unknown = root;
  for (const token of to.slice(2).split("/")) {
    const name = decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return true;
    at = (at as Schema)[name];
  }
  return at;
}

/** Whether it has no restriction on its content. */
function isOpen(schema: Schema | true): boolean {
  return schema === true || !CLOSING.some((word) => word in schema);
}

const CLOSING =
  "properties patternProperties items prefixItems additionalItems type const enum $ref $dynamicRef allOf anyOf oneOf if".split(
    " ",
  );

function enter(schema: Schema | true, step: Step, hasNames: boolean): unknown[] {
  if (schema === true) return [true];
  return typeof step === "number" ? enterList(schema) : enterObject(schema, step, hasNames);
}

function enterList(schema: Schema): unknown[] {
  const items = ["items", "prefixItems", "additionalItems"].flatMap((word) => {
    const given = schema[word];
    return Array.isArray(given) ? (given as unknown[]) : given === undefined || given === false ? [] : [given];
  });
  // A list without a schema for its elements.
  return items.length === 0 && allows(schema, "array") ? [true] : items;
}

/** `hasNames`: some part of the schema lists members, so the other parts do not allow all names. */
function enterObject(schema: Schema, name: string, hasNames: boolean): unknown[] {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties, required } = schema;
  if (isObject(properties) && Object.hasOwn(properties, name)) return [properties[name]];
  // The pattern is not tested: it may match this name.
  if (isObject(patternProperties)) return [true];
  const more = additionalProperties ?? unevaluatedProperties;
  if (more !== undefined && more !== false) return [more];
  if (Array.isArray(required) && required.includes(name)) return [true];
  return !hasNames && more === undefined && allows(schema, "object") ? [true] : [];
}

function allows({ type }: Schema, wanted: string): boolean {
  return type === wanted || (Array.isArray(type) && type.includes(wanted));
}

/** Members of Liquid that every list and text has. A loop over an object yields names and values. */
function isOwnField(step: Step): boolean {
  return typeof step === "number" || step === "size" || step === "first" || step === "last";
}

function listNames(schema: Schema | true, parent: string): string[] {
  const properties = schema === true ? undefined : schema["properties"];
  return isObject(properties) ? Object.keys(properties).map((name) => `${parent}.${name}`) : [];
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
