import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { DEFAULT_FILE, type LoadedConfig } from "../config/load.ts";
import { findAt, SETTINGS } from "../config/settings-tree.ts";
import { toCamelCase } from "../model/names.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { VERSION } from "../config/version.ts";
import { createSecretBox, findMasterKey } from "../resources/secret-box.ts";
import { copyDatabase } from "../store/sqlite/copy-database.ts";
import { syncDirectory } from "../store/sqlite/data-dir.ts";
import {
  CONFIG_FOLDER,
  createManifest,
  DATABASE,
  ELSEWHERE_FOLDER,
  FOLDER_SETTINGS,
  isConfigFileName,
  isPartName,
  type Manifest,
  MANIFEST_SETTING,
  MASTER_KEY,
} from "./backup/manifest.ts";
import { describePart, type PartSource, writeArchive } from "./backup/archive.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { countOf, formatBytes, note, printFacts, printJson, withProgress } from "./output.ts";
import { getSurroundings, resolvePath, runInterruptible } from "./surroundings.ts";

export interface BackupFlags extends LocalFlags {
  withEvents?: boolean;
  withMasterKey?: boolean;
  force?: boolean;
}

export async function runBackup(file: string | undefined, flags: BackupFlags): Promise<void> {
  const { withEvents = false, withMasterKey = false } = flags;
  const loaded = loadLocal(flags);
  const wallMs = Date.now();
  const target = resolvePath(file ?? `posthorn-backup-${formatStamp(wallMs)}.tar.gz`);
  const database = getDatabasePath(loaded.config);
  if (!existsSync(database)) {
    throw new CommandFailure(`There is no database ${database}. Name the gateway's --data-dir or --config.`);
  }
  if (!existsSync(dirname(target))) throw usageFailure(`There is no folder ${dirname(target)}.`);
  if (existsSync(target) && flags.force !== true) {
    throw new CommandFailure(`${target} exists. Name another file, or replace it with --force.`);
  }
  const { secretsInClear, ...files } = readConfigurationFiles(loaded, flags.config, getSurroundings().cwd);
  const masterKey = loaded.config.masterKey ?? findMasterKey(loaded.config.dataDir);
  if (withMasterKey) {
    if (masterKey === undefined) throw new CommandFailure("There is no master key yet.");
    files.parts.push({ name: MASTER_KEY, content: Buffer.from(`${masterKey}\n`) });
  } else if (secretsInClear.includes("master_key")) {
    throw new CommandFailure(
      "The configuration file contains the master key, so the backup would too. Add --with-master-key to allow that, " +
        "or write ${NAME} there and set the key in the environment.",
    );
  }

  const temporary = `${target}.${process.pid}.partial`;
  const copy = `${temporary}.db`;
  try {
    const { manifest, damages } = await runInterruptible(async (signal) => {
      const copied = await withProgress((onProgress) =>
        copyDatabase({ from: database, to: copy, withLog: withEvents, onProgress, signal }),
      );
      const parts: PartSource[] = [{ name: DATABASE, content: { file: copy } }, ...files.parts];
      const made = createManifest({
        ...files,
        created_at: new Date(wallMs).toISOString(),
        posthorn_version: VERSION,
        schema_version: copied.schemaVersion,
        with_events: withEvents,
        with_master_key: withMasterKey,
        master_key_fingerprint: masterKey === undefined ? null : createSecretBox(masterKey).fingerprint,
        store_url: loaded.config.storeUrl,
        tables: copied.tables,
        records: copied.records,
        parts: await Promise.all(parts.map(describePart)),
      });
      await withProgress((onProgress) =>
        writeArchive({ file: temporary, manifest: made, parts, wallMs, onProgress, signal }),
      );
      return { manifest: made, damages: copied.damages };
    });
    renameSync(temporary, target);
    syncDirectory(dirname(target));
    printBackup(target, manifest, { secretsInClear, damages }, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EACCES") throw error;
    throw new CommandFailure(`${target} cannot be written (${code}).`);
  } finally {
    for (const left of [temporary, copy]) rmSync(left, { force: true });
  }
}

function printBackup(
  target: string,
  manifest: Manifest,
  { secretsInClear, damages }: { secretsInClear: readonly string[]; damages: readonly string[] },
  flags: BackupFlags,
): void {
  const bytes = statSync(target).size;
  for (const damage of damages)
    note(`${damage}. It is in the backup as it is, and would be neither delivered nor replayed`);
  if (secretsInClear.length > 0) {
    note(
      `the configuration file contains secrets in plain text, and so does the backup: ${secretsInClear.join(", ")}. ` +
        "Write ${NAME} there instead, and set them in the environment.",
    );
  }
  if (!manifest.with_master_key && manifest.master_key_fingerprint !== null) {
    note(
      "the master key is not in the backup, and nobody can read the secrets without it. Keep a copy of it elsewhere.",
    );
  }
  if (flags.json === true) return printJson({ file: target, bytes, damages, ...manifest });
  const { tables, records } = manifest;
  printFacts([
    ["backup", `${target} (${formatBytes(bytes)})`],
    ["subscriptions", records["subscription"] ?? 0],
    ["sources", records["source"] ?? 0],
    ["tenants", records["tenant"] ?? 0],
    ["keys", records["key"] ?? 0],
    ["event types", records["event_type"] ?? 0],
    ["events", manifest.with_events ? tables["events"] : "left out (--with-events)"],
    ["files", countOf(manifest.parts.length - 1, "file")],
  ]);
}

export function formatStamp(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
}

const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-)?/g;

/** The configuration files of a gateway, unchanged: `${NAME}` stays unexpanded. */
export function readConfigurationFiles({ config, origins }: LoadedConfig, file: string | undefined, cwd: string) {
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
    /** Names of the variables that gave a setting or were expanded. */
    variables: toList([...needed, ...defaulted, ...given]),
    /** Without these the file cannot be read. */
    needed_variables: toList(needed),
    /** These have a default in the file. */
    defaulted_variables: toList(defaulted),
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
