import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, type Document, type Pair } from "yaml";
import type { Environment } from "./environment.ts";

/** Given values, each with the place that it came from, so that an error can point at it. */
export type Located = LocatedScalar | LocatedList | LocatedMap;

export interface LocatedScalar {
  kind: "scalar";
  /** `posthorn.yaml:12:5`, `POSTHORN_PORT` or `--port`. */
  place: string;
  value: unknown;
  /** True when the value is text whose type only the schema knows: from the environment, a flag or `${NAME}`. */
  isText: boolean;
  /** Its problem was already reported. */
  isFaulty?: boolean;
}

export interface LocatedList {
  kind: "list";
  place: string;
  items: readonly Located[];
}

export interface LocatedMap {
  kind: "map";
  place: string;
  entries: readonly LocatedEntry[];
}

interface LocatedEntry {
  key: string;
  keyPlace: string;
  value: Located;
}

export interface Problem {
  place: string;
  /** Empty when the place is enough. */
  path: string;
  message: string;
}

export type Report = (problem: Problem) => void;

export function formatProblem({ place, path, message }: Problem): string {
  return `${path === "" ? place : `${place} ${path}`}: ${message}`;
}

/** The place of the value at `keys`, or of the innermost given value around it. */
export function findPlace(root: Located | undefined, keys: readonly (string | number)[]): string | undefined {
  let node = root;
  let place = root?.place;
  for (const key of keys) {
    if (node?.kind === "list") node = node.items[Number(key)];
    else if (node?.kind === "map") node = node.entries.find((entry) => entry.key === key)?.value;
    else return place;
    place = node?.place ?? place;
  }
  return place;
}

/** Aliases of aliases can grow without limit; a normal file stays far below this. */
const MAX_ALIASES = 1000;

/**
 * Parses a yaml file into values with places. Variables are expanded in the parsed strings, not in the text,
 * so that a value from the environment can never add keys or structure; without an environment they are plain text.
 */
export function parseYaml(
  file: {
    /** The file's name as the user gave it. */
    name: string;
    text: string;
  },
  env: Environment | undefined,
  report: Report,
): LocatedMap | undefined {
  const lines = new LineCounter();
  const document = parseDocument(file.text, {
    lineCounter: lines,
    merge: false,
    prettyErrors: false,
    stringKeys: true,
  });
  const placeAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file.name}:${line}:${col}`;
  };
  for (const error of document.errors) {
    report({ place: placeAt(error.pos[0]), path: "", message: error.message });
  }
  if (document.errors.length > 0) return undefined;

  const reader = createNodeReader(document, placeAt, env, report);
  const root = reader(document.contents, `${file.name}:1:1`, "");
  if (root.kind === "map") return root;
  if (root.kind === "list" || root.value !== null) {
    report({ place: root.place, path: "", message: "expected settings as `name: value` at the top of the file" });
  }
  return undefined;
}

function createNodeReader(
  document: Document.Parsed,
  placeAt: (offset: number) => string,
  env: Environment | undefined,
  report: Report,
): (node: unknown, outerPlace: string, path: string) => Located {
  let aliases = 0;

  function read(node: unknown, outerPlace: string, path: string): Located {
    const place = hasRange(node) ? placeAt(node.range[0]) : outerPlace;
    if (isAlias(node)) {
      aliases += 1;
      if (aliases === MAX_ALIASES) report({ place, path, message: "the aliases in this file expand too far" });
      return read(aliases < MAX_ALIASES ? node.resolve(document) : null, place, path);
    }
    if (isMap(node)) {
      return { kind: "map", place, entries: node.items.map((pair) => readEntry(pair, place, path)) };
    }
    if (isSeq(node)) {
      return { kind: "list", place, items: node.items.map((item, index) => read(item, place, `${path}[${index}]`)) };
    }
    const value = isScalar(node) ? node.value : null;
    if (typeof value !== "string" || env === undefined) return { kind: "scalar", place, value, isText: false };

    const { text, hasVariable, errors } = expandVariables(value, env);
    for (const message of errors) report({ place, path, message });
    return { kind: "scalar", place, value: text, isText: hasVariable, isFaulty: errors.length > 0 };
  }

  function readEntry(pair: Pair, mapPlace: string, mapPath: string): LocatedEntry {
    const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
    const keyPlace = hasRange(pair.key) ? placeAt(pair.key.range[0]) : mapPlace;
    return { key, keyPlace, value: read(pair.value, keyPlace, mapPath === "" ? key : `${mapPath}.${key}`) };
  }

  return read;
}

function hasRange(node: unknown): node is { range: [number, number, number] } {
  return typeof node === "object" && node !== null && Array.isArray((node as { range?: unknown }).range);
}

const VARIABLE = /\$\$|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\})?/g;

/** Expands `${NAME}` and `${NAME:-default}`; as in a shell, the default also replaces an empty value. */
function expandVariables(template: string, env: Environment) {
  const errors: string[] = [];
  let hasVariable = false;
  const text = template.replace(VARIABLE, (found: string, name?: string, withDefault?: string, fallback?: string) => {
    if (found === "$$") return "$";
    if (name === undefined) {
      errors.push("`${` does not start a variable; write ${NAME} or ${NAME:-default}, or $${ for a literal `${`");
      return found;
    }
    hasVariable = true;
    const value = env[name];
    if (withDefault !== undefined) return value === undefined || value === "" ? (fallback ?? "") : value;
    if (value !== undefined && value !== "") return value;
    const state = value === "" ? "is empty" : "is not set";
    errors.push(`variable ${name} ${state}; set it, or give a default with \${${name}:-default}`);
    return "";
  });
  return { text, hasVariable, errors };
}
