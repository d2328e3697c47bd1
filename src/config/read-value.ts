import { Value } from "typebox/value";
import {
  describeExpected,
  findVariant,
  type JsonSchema,
  describeValue,
  isSecretPath,
  type SettingSchema,
} from "./setting-schema.ts";
import type { Located, LocatedList, LocatedMap, LocatedScalar, Report } from "./parse-yaml.ts";
import { suggestName } from "../model/nearest-name.ts";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Environment } from "./environment.ts";
import { ClientSettings } from "./schema.ts";
import { SETTINGS, type Setting } from "./settings-tree.ts";

/**
 * Reads a given value by its schema. Reports every problem with its place, and returns
 * the valid parts.
 */
export function readValue(schema: JsonSchema, node: Located, path: string, report: Report): unknown {
  if (node.kind === "scalar" && node.isFaulty === true) return undefined;
  if (isAnything(schema) || (node.kind === "map" && isAnyMap(schema))) return toPlain(node);
  if (node.kind === "scalar") return readScalar(schema, node, path, report);
  const variant = findVariant(schema, node.kind === "map" ? "object" : "array");
  if (variant === undefined) {
    const given = node.kind === "map" ? "it is a mapping" : "it is a list";
    report({ place: node.place, path, message: `expected ${describeExpected(schema)}, but ${given}` });
    return undefined;
  }
  return node.kind === "map" ? readMap(variant, node, path, report) : readList(variant, node, path, report);
}

function isAnything(schema: JsonSchema): boolean {
  return schema.type === undefined && schema.anyOf === undefined && schema.const === undefined;
}

function isAnyMap({ type, properties = {}, patternProperties }: JsonSchema): boolean {
  return type === "object" && patternProperties === undefined && Object.keys(properties).length === 0;
}

function toPlain(node: Located): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(toPlain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, toPlain(value)]));
}

function readScalar(schema: JsonSchema, node: LocatedScalar, path: string, report: Report): unknown {
  const value = node.isText ? convertText(schema, String(node.value)) : node.value;
  if (Value.Check(schema, value)) return value;
  // A section whose lines are all commented out is an empty section.
  if (value === null && (schema.type === "object" || schema.type === "array")) return undefined;

  const isSecret = schema.secret === true || isSecretPath(path);
  const given = value === null ? "empty" : isSecret ? "another (not shown: secret)" : describeValue(value);
  const hint = schema.hint === undefined ? "" : `; ${schema.hint}`;
  report({ place: node.place, path, message: `expected ${describeExpected(schema)}, but it is ${given}${hint}` });
  return undefined;
}

function readMap(schema: JsonSchema, node: LocatedMap, path: string, report: Report): unknown {
  const pathOf = (key: string): string => (path === "" ? key : `${path}.${key}`);
  const free = Object.values(schema.patternProperties ?? {})[0];
  const known = schema.properties ?? {};
  const read: [string, unknown][] = [];
  for (const { key, keyPlace, value } of node.entries) {
    const inner = free ?? (Object.hasOwn(known, key) ? known[key] : undefined);
    if (inner === undefined) {
      const message = `unknown key${suggestName(key, Object.keys(known))}`;
      report({ place: keyPlace, path: pathOf(key), message });
      continue;
    }
    const result = readValue(inner, value, pathOf(key), report);
    if (result !== undefined) read.push([key, result]);
  }
  if (path !== "") {
    for (const key of requiredOf(schema, Object.fromEntries(read))) {
      if (known[key]?.default === undefined && !node.entries.some((entry) => entry.key === key)) {
        report({ place: node.place, path: pathOf(key), message: "is missing" });
      }
    }
  }
  if (schema.maxProperties !== undefined && node.entries.length > schema.maxProperties) {
    report({ place: node.place, path, message: `has more than ${schema.maxProperties} entries` });
  }
  return Object.fromEntries(read);
}

function requiredOf({ required = [], if: condition, else: more }: JsonSchema, value: unknown): readonly string[] {
  if (condition === undefined || Value.Check(condition, value)) return required;
  return [...required, ...(more?.required ?? [])];
}

function readList(schema: JsonSchema, node: LocatedList, path: string, report: Report): unknown {
  const { items, minItems = 0, maxItems = Infinity } = schema;
  if (node.items.length < minItems || node.items.length > maxItems) {
    const message = `expected ${describeExpected(schema)}, but it has ${node.items.length}`;
    report({ place: node.place, path, message });
  }
  if (items === undefined) return [];
  return node.items.map((item, index) => readValue(items, item, `${path}[${index}]`, report));
}

/** Converts text from the environment, a flag or a variable to the type that the schema asks for, if possible. */
function convertText(schema: JsonSchema, text: string): unknown {
  if (schema.anyOf !== undefined) {
    for (const variant of schema.anyOf) {
      const value = convertText(variant, text);
      if (Value.Check(variant, value)) return value;
    }
    return text;
  }
  const word = text.trim().toLowerCase();
  switch (schema.type) {
    case "integer":
    case "number":
      return /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : text;
    case "boolean":
      if (word === "true" || word === "1") return true;
      return word === "false" || word === "0" ? false : text;
    case "null":
      return word === "null" ? null : text;
    case "array": {
      const parts = text.split(",").map((part) => part.trim());
      const { items } = schema;
      return parts.filter((part) => part !== "").map((part) => (items === undefined ? part : convertText(items, part)));
    }
    default:
      return text;
  }
}

const MAX_SECRET_FILE_BYTES = 65_536;

/** The settings from the environment. An empty variable counts as not set. */
export function readVariables(env: Environment, cwd: string, report: Report) {
  const variables: { setting: Setting; given: LocatedScalar }[] = [];
  for (const setting of SETTINGS) {
    const { env: name, secret } = setting.schema;
    if (name === undefined) continue;
    const value = env[name] === "" ? undefined : env[name];
    const file = secret === true && env[`${name}_FILE`] !== "" ? env[`${name}_FILE`] : undefined;
    if (value !== undefined && file !== undefined) {
      report({ place: name, path: "", message: `given together with ${name}_FILE; give only one of them` });
    } else if (value !== undefined) {
      variables.push({ setting, given: { kind: "scalar", place: name, value, isText: true } });
    } else if (file !== undefined) {
      const place = `${name}_FILE`;
      const content = readSecretFile(resolve(cwd, file), place, report);
      if (content !== undefined) {
        variables.push({ setting, given: { kind: "scalar", place, value: content, isText: true } });
      }
    }
  }
  return variables;
}

function readSecretFile(path: string, place: string, report: Report): string | undefined {
  const complain = (message: string): undefined => {
    report({ place, path: "", message });
  };
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    return complain(`cannot read ${path} (${code}); make it readable or name another file`);
  }
  if (content.length > MAX_SECRET_FILE_BYTES) return complain(`${path} is too large for a secret`);
  const text = content.toString("utf8").replace(/\r?\n$/, "");
  return text === "" ? complain(`${path} is empty; write the secret into it`) : text;
}

/** Variables with our prefix that are unknown: only a warning, because other programs may share the prefix. */
export function findUnknownVariables(env: Environment): string[] {
  const schemas = [...SETTINGS.map(({ schema }) => schema), ...Object.values<SettingSchema>(ClientSettings.properties)];
  const known = schemas.flatMap(({ env: name, secret }) => {
    if (name === undefined) return [];
    return secret === true ? [name, `${name}_FILE`] : [name];
  });
  return Object.keys(env)
    .filter((name) => name.startsWith("POSTHORN_") && !known.includes(name))
    .sort()
    .map((name) => `${name}: unknown variable, ignored${suggestName(name, known)}`);
}
