import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { DEFAULT_FILE, type LoadedConfig } from "../../config/load.ts";
import { findAt, SETTINGS, toCamelCase } from "../../config/settings-tree.ts";
import {
  CONFIG_FOLDER,
  ELSEWHERE_FOLDER,
  FOLDER_SETTINGS,
  isConfigFileName,
  isPartName,
  MANIFEST_SETTING,
} from "./manifest.ts";
import type { PartSource } from "./write-archive.ts";

/** The configuration files of a gateway, unchanged: `${NAME}` stays unexpanded. */
export interface ConfigurationFiles {
  parts: PartSource[];
  /** Names of the variables that gave a setting or were expanded. */
  variables: string[];
  /** Variables without which the file cannot be read. */
  neededVariables: string[];
  /** Variables that have a default in the file. */
  defaultedVariables: string[];
  /** Secret settings whose values are written in the file itself. */
  secretsInClear: string[];
}

const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-)?/g;

export function readConfigurationFiles(
  { config, origins }: LoadedConfig,
  file: string | undefined,
  cwd: string,
): ConfigurationFiles {
  const main = resolve(cwd, file ?? DEFAULT_FILE);
  const home = dirname(main);
  const parts: PartSource[] = [];
  let text = "";
  if (existsSync(main)) {
    const content = readFileSync(main);
    text = content.toString("utf8");
    // A restore writes it under the name that `posthorn start` looks for, whatever its name was.
    parts.push({ name: CONFIG_FOLDER + DEFAULT_FILE, content });
  }
  for (const setting of FOLDER_SETTINGS) {
    const folder = findAt(config, [toCamelCase(setting)]);
    if (typeof folder !== "string" || !existsSync(folder)) continue;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!isConfigFileName(entry.name) || entry.isDirectory()) continue;
      const path = join(folder, entry.name);
      parts.push({ name: nameOf(path, home, setting), content: readFileSync(path) });
    }
  }
  for (const path of listManifests(config, home, cwd)) {
    parts.push({ name: nameOf(path, home, MANIFEST_SETTING), content: readFileSync(path) });
  }
  const given = [...origins.values()].filter(({ from }) => from === "env").map(({ place }) => place ?? "");
  const used = [...text.matchAll(VARIABLE)].flatMap(([, name, mark]) =>
    name === undefined ? [] : [{ name, isNeeded: mark === undefined }],
  );
  const needed = used.filter(({ isNeeded }) => isNeeded).map(({ name }) => name);
  const defaulted = used.map(({ name }) => name).filter((name) => !needed.includes(name));
  return {
    parts,
    variables: toList([...needed, ...defaulted, ...given]),
    neededVariables: toList(needed),
    defaultedVariables: toList(defaulted),
    secretsInClear: findSecretsInClear(text, config),
  };
}

function toList(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

/** Files with the ids that a source knows. A manifest written in the configuration itself has no file. */
function listManifests(config: LoadedConfig["config"], home: string, cwd: string): Set<string> {
  const found = new Set<string>();
  for (const source of config.sources) {
    const manifest = findAt(source, ["manifest"]);
    if (typeof manifest !== "string") continue;
    const path = [resolve(home, manifest), resolve(cwd, manifest)].find((candidate) => existsSync(candidate));
    if (path !== undefined) found.add(path);
  }
  return found;
}

/**
 * A file beside or below the configuration file keeps its relative path. A file from elsewhere, or from a path that a
 * restore would not write, goes into a folder named after its setting.
 */
function nameOf(path: string, home: string, setting: string): string {
  const inside = CONFIG_FOLDER + relative(home, path).split(sep).join("/");
  if (!isAbsolute(relative(home, path)) && isPartName(inside)) return inside;
  return `${ELSEWHERE_FOLDER}${setting}/${basename(path).replace(/^\.+/, "")}`;
}

function findSecretsInClear(text: string, config: LoadedConfig["config"]): string[] {
  const found: string[] = [];
  for (const { path, keys, schema } of SETTINGS) {
    const value = findAt(config, keys.map(toCamelCase));
    if (schema.secret === true && typeof value === "string" && text.includes(value)) found.push(path);
  }
  for (const [index, { secret }] of config.subscriptions.entries()) {
    if (secret !== undefined && text.includes(secret)) found.push(`subscriptions[${index}].secret`);
  }
  return found;
}
