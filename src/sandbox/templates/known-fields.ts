import { analyzeSync, ForTag, type Template as Part, Variable } from "liquidjs";
import { suggestName } from "../../model/nearest-name.ts";
import { childrenOf, parseTemplate } from "./compile.ts";
import { findUnknownField, type Step } from "./schema-fields.ts";
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
