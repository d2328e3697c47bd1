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

/** The files that a gateway reads its configuration from, as they are: `${NAME}` stays unexpanded. */
export interface ConfigurationFiles {
  parts: PartSource[];
  /** Names of variables that took part. */
  variables: string[];
  /** Those without which the file cannot be read. */
  neededVariables: string[];
  /** Those that it can do without. */
  defaultedVariables: string[];
  /** Secret settings whose values stand in the file itself. */
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
    // A restore puts it where `posthorn start` looks, whatever it was called.
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

/** Files with the ids that a source knows; a manifest may stand in the configuration itself, too. */
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
 * Beside the configuration file it keeps its place; from anywhere else, and from where a restore would not write, it goes
 * into a folder that names its setting.
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
