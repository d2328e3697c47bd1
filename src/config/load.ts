import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { PosthornError, type DeclaredFault } from "../model/errors.ts";
import { checkDeclared, checkDeclaredEventTypes, readEventTypesDir } from "./check-declared.ts";
import { checkSettings } from "./check-settings.ts";
import type { Environment } from "./environment.ts";
import type { JsonSchema } from "./setting-schema.ts";
import {
  findPlace,
  formatProblem,
  type Located,
  type LocatedMap,
  type Problem,
  type Report,
  parseYaml,
} from "./parse-yaml.ts";
import { findUnknownVariables, readVariables, readValue } from "./read-value.ts";
import { Settings } from "./schema.ts";
import { toCamelCase } from "../model/names.ts";
import { camelize, findAt, freezeDeep, setAt, SETTINGS, type Config, type Setting } from "./settings-tree.ts";
import { isLoopbackHost } from "../model/addresses.ts";

export const DEFAULT_FILE = "posthorn.yaml";

/** Top-level settings by their camelCase names, from the command line. */
export type Flags = {
  readonly [
    Name in Exclude<
      keyof Config,
      | ("alerts" | "connections" | "eventTypes" | "limits" | "sms" | "smtp")
      | ("sources" | "subscriptions" | "targets" | "tenants")
    >
  ]?: string | number | boolean | undefined;
};

export interface LoadInput {
  /** From `--config`; by default `posthorn.yaml` in the working directory, if it exists. */
  file?: string | undefined;
  env: Environment;
  flags?: Flags | undefined;
  cwd: string;
}

export interface Origin {
  from: "default" | "file" | "env" | "flag";
  /** `posthorn.yaml:3:7`, `POSTHORN_PORT`, `--port`. */
  place: string | undefined;
}

/** Keyed by the path of a setting in the yaml. */
export type Origins = ReadonlyMap<string, Origin>;

export interface LoadedConfig {
  config: Config;
  warnings: string[];
  origins: Origins;
  /** Where the file declares an item; undefined when it does not. */
  placeOf: (list: string, name: string, field: string) => Pick<Problem, "place" | "path"> | undefined;
}

/** Defaults < file < environment < flags. Throws one error that lists all problems. */
export function loadConfig(input: LoadInput): LoadedConfig {
  const { problems, report, origins, file, tree } = readFileAndDefaults(input);
  for (const { setting, given } of readVariables(input.env, input.cwd, report)) {
    applyGiven(tree, setting, given, "env", origins, report);
  }
  for (const setting of SETTINGS) {
    const value = (input.flags as Record<string, unknown> | undefined)?.[toCamelCase(setting.path)];
    if (value === undefined) continue;
    const place = `--${setting.path.replaceAll("_", "-")}`;
    const given: Located = { kind: "scalar", place, value: String(value), isText: true };
    applyGiven(tree, setting, given, "flag", origins, report);
  }

  const complain = complainTo(origins, report);
  applyDevMode(tree, (path) => origins.get(path)?.from === "default", complain);
  checkSettings(tree, input.cwd, complain);
  const placeOf: LoadedConfig["placeOf"] = (list, name, field) => {
    const declared = file?.entries.find(({ key }) => key === list)?.value;
    const things = tree[list] as readonly { name?: string; id?: string }[];
    const index = things.findIndex((thing) => (thing.name ?? thing.id) === name);
    if (declared?.kind !== "list" || declared.items[index] === undefined) return undefined;
    const place = findPlace(file, [list, index, ...keysOf(field)]) ?? declared.place;
    return { place, path: `${list}[${index}]${field === "" ? "" : `.${field}`}` };
  };
  resolveManifestPaths(tree["sources"], dirname(resolve(input.cwd, input.file ?? DEFAULT_FILE)));
  checkLists(tree, file, findEventTypesDir(tree, input, origins), report);

  if (problems.length > 0) throw createConfigError(problems);
  const config = freezeDeep(camelize(tree as Settings));
  return { config, warnings: [...findUnknownVariables(input.env), ...findWeaknesses(config)], origins, placeOf };
}

function readFileAndDefaults(input: Pick<LoadInput, "file" | "env" | "cwd">) {
  const problems: Problem[] = [];
  const report: Report = (problem) => problems.push(problem);
  const origins = new Map<string, Origin>();
  const file = readConfigFile(input, report);
  const tree = applyDefaults(origins);
  if (file !== undefined) applyFile(tree, file, origins, report);
  return { problems, report, origins, file, tree };
}

/** Reports what is wrong with the setting at a path, with the place that its value came from. */
export function complainTo(origins: Origins, report: Report) {
  return (path: string, message: string): undefined => {
    const { from, place } = getOrigin(origins, path);
    report({ place: place ?? path, path: from === "file" ? path : "", message });
  };
}

export function getOrigin(origins: Origins, path: string): Origin {
  return origins.get(path) ?? { from: "default", place: undefined };
}

/** Splits `destination.headers[0].name`. */
function keysOf(field: string): string[] {
  return field.split(/[.[\]]+/).filter((key) => key !== "");
}

/** The declared lists of one file, and the names of its other settings. */
export interface DeclaredFile {
  lists: Readonly<Partial<Record<DeclaredList, readonly Readonly<Record<string, unknown>>[]>>>;
  others: readonly string[];
}

const DECLARED_LISTS = ["tenants", "event_types", "targets", "subscriptions", "sources"] as const;
export type DeclaredList = (typeof DECLARED_LISTS)[number];

/** Loads only the declared lists of a file, for another gateway. Throws as `loadConfig` does. */
export function loadDeclared(input: { file: string; env: Environment; cwd: string }): DeclaredFile {
  const { problems, report, origins, file, tree } = readFileAndDefaults(input);
  checkLists(tree, file, findEventTypesDir(tree, input, origins), report);
  if (problems.length > 0) throw createConfigError(problems);
  const names = file?.entries.map(({ key }) => key) ?? [];
  const isGiven = (list: DeclaredList) =>
    names.includes(list) || (list === "event_types" && names.includes("event_types_dir"));
  return {
    lists: Object.fromEntries(DECLARED_LISTS.filter(isGiven).map((list) => [list, tree[list]])),
    others: names.filter((name) => name !== "event_types_dir" && !DECLARED_LISTS.some((list) => list === name)),
  };
}

/** Checks the declared lists; event types of a folder are added to those of the file. */
function checkLists(
  tree: Record<string, unknown>,
  file: LocatedMap | undefined,
  eventTypesDir: string | undefined,
  report: Report,
): void {
  const complainOf = (list: string) => (index: number, field: string, message: string) => {
    const place = findPlace(file, [...list.split("."), index, ...keysOf(field)]);
    report({ place: place ?? list, path: `${list}[${index}].${field}`, message });
  };
  checkDeclared(tree, complainOf);
  const inFiles = readEventTypesDir(eventTypesDir, report);
  checkDeclaredEventTypes(tree["event_types"] as unknown[], inFiles, complainOf("event_types"), report);
  tree["event_types"] = [...(tree["event_types"] as unknown[]), ...inFiles.map(({ item }) => item)];
}

/** A relative path in a configuration file starts at that file, wherever the gateway is started from. */
function findEventTypesDir(
  tree: Record<string, unknown>,
  { file, cwd }: Pick<LoadInput, "file" | "cwd">,
  origins: Origins,
) {
  const path = tree["event_types_dir"];
  if (typeof path !== "string") return undefined;
  const isInFile = origins.get("event_types_dir")?.from === "file";
  const folder = resolve(isInFile ? dirname(resolve(cwd, file ?? DEFAULT_FILE)) : cwd, path);
  tree["event_types_dir"] = folder;
  return folder;
}

function readConfigFile(
  { file, env, cwd }: Pick<LoadInput, "file" | "env" | "cwd">,
  report: Report,
): LocatedMap | undefined {
  const name = file ?? DEFAULT_FILE;
  let text: string;
  try {
    text = readFileSync(resolve(cwd, name), "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    if (file === undefined && code === "ENOENT") return undefined;
    report({ place: name, path: "", message: `cannot be read (${code}); check the path and its permissions` });
    return undefined;
  }
  return parseYaml({ name, text }, env, report);
}

const LISTS = [
  "connections",
  "event_types",
  "sources",
  "subscriptions",
  "targets",
  "tenants",
  "alerts.rules",
  "alerts.channels",
];

function applyDefaults(origins: Map<string, Origin>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const { path, keys, schema } of SETTINGS) {
    if (schema.default !== undefined) setAt(tree, keys, structuredClone(schema.default));
    origins.set(path, { from: "default", place: undefined });
  }
  for (const list of LISTS) {
    setAt(tree, list.split("."), []);
    origins.set(list, { from: "default", place: undefined });
  }
  return tree;
}

function applyFile(
  tree: Record<string, unknown>,
  file: LocatedMap,
  origins: Map<string, Origin>,
  report: Report,
): void {
  const given = readValue(Settings as unknown as JsonSchema, file, "", report);
  for (const path of origins.keys()) {
    const keys = path.split(".");
    const value = findAt(given, keys);
    if (value === undefined) continue;
    setAt(tree, keys, value);
    origins.set(path, { from: "file", place: findPlace(file, keys) });
  }
}

function applyGiven(
  tree: Record<string, unknown>,
  { path, keys, schema }: Setting,
  given: Located,
  from: "env" | "flag",
  origins: Map<string, Origin>,
  report: Report,
): void {
  const value = readValue(schema, given, path, (problem) => report({ ...problem, path: "" }));
  if (value === undefined) return;
  setAt(tree, keys, value);
  origins.set(path, { from, place: given.place });
}

export function createConfigError(problems: readonly Problem[]): PosthornError {
  const lines = problems.map(formatProblem);
  const [only] = lines;
  const message =
    lines.length === 1 && only !== undefined
      ? `The configuration is not valid: ${only}`
      : `The configuration has ${lines.length} errors:\n${lines.map((line) => `  ${line}`).join("\n")}`;
  return new PosthornError("config_invalid", message, { details: { problems: lines } });
}

const WEAK_KEY_LENGTH = 32;

function findWeaknesses(config: Config): string[] {
  const warnings: string[] = [];
  if (config.adminKey !== undefined && config.adminKey.length < WEAK_KEY_LENGTH) {
    warnings.push(`admin_key: shorter than ${WEAK_KEY_LENGTH} characters; use a long random one`);
  }
  if (config.allowPrivateDestinations === true) {
    warnings.push("allow_private_destinations: true lets deliveries reach every private network; for development only");
  }
  return warnings;
}

/** Adds the file and line of the declaration to an error of the gateway about a declared item. */
export function locateDeclared(error: unknown, { placeOf }: Pick<LoadedConfig, "placeOf">): unknown {
  const fault = error instanceof PosthornError ? (error.details?.["declared"] as DeclaredFault | undefined) : undefined;
  if (fault === undefined) return error;
  const { noun, name, field = "", message } = fault;
  const found = placeOf(`${noun.replaceAll(" ", "_")}s`, name, field);
  if (found === undefined) return error;
  const { place, path } = found;
  return createConfigError([{ place, path: `${path} (${name})`, message: withoutField(message, field) }]);
}

/** Some messages begin with the field's name. */
function withoutField(message: string, field: string): string {
  return message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
}

type Tree = Record<string, unknown>;

/** When a receiver was not running, its failed events arrive soon after it is started. */
const DEV_RETRY_DELAYS_S = [1, 1, 2, 2, 3, 3, ...Array.from({ length: 60 }, () => 5)];

/** The settings that `dev` changes, unless they are set. */
const DEV_SETTINGS: Tree = {
  allow_http_destinations: true,
  allow_private_destinations: ["127.0.0.0/8", "::1/128"],
  default_retry_policy: DEV_RETRY_DELAYS_S,
  max_probe_s: 2,
};

/** Dev mode loosens rules that protect others, so nobody else may reach the gateway. */
function applyDevMode(
  tree: Tree,
  isDefault: (path: string) => boolean,
  complain: (path: string, message: string) => void,
): void {
  if (tree["dev"] !== true) return;
  for (const [path, value] of Object.entries(DEV_SETTINGS)) if (isDefault(path)) tree[path] = value;
  const { public_url: publicUrl, trusted_proxies: proxies, host } = tree;
  const reason = "is for your own machine only, and cannot be used together with";
  if (publicUrl !== undefined) complain("dev", `${reason} public_url`);
  if (Array.isArray(proxies) && proxies.length > 0) complain("dev", `${reason} trusted_proxies`);
  if (typeof host === "string" && !isLoopbackHost(host))
    complain("dev", `${reason} the host ${host}; listen on 127.0.0.1`);
}

/** A relative path of a declared source starts at the configuration file, wherever the gateway is started from. */
function resolveManifestPaths(sources: unknown, folder: string): void {
  if (!Array.isArray(sources)) return;
  for (const source of sources as Partial<Record<string, unknown>>[]) {
    if (typeof source?.["manifest"] === "string") source["manifest"] = resolve(folder, source["manifest"]);
  }
}
