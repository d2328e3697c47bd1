import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { createSecretBox, findMasterKey, writePrivateFile } from "../resources/secret-box.ts";
import { findFaultsOfCopy, getKnownSchemaVersion } from "../store/sqlite/copy-database.ts";
import { lockDataDir, makeDurableDirectory, setRestoreMark, syncDirectory } from "../store/sqlite/data-dir.ts";
import { addAuditEntry } from "../store/sqlite/local-writes.ts";
import { formatStamp } from "./backup.ts";
import {
  CONFIG_FOLDER,
  DATABASE,
  ELSEWHERE_FOLDER,
  type Manifest,
  MASTER_KEY,
  type Part,
  sizeOf,
} from "./backup/manifest.ts";
import { readArchive } from "./backup/archive.ts";
import { CommandFailure } from "./failure.ts";
import { loadLocal } from "./local.ts";
import { openLocalAudit } from "./local-writes.ts";
import { countOf, formatBytes, note, printFacts, printJson, withProgress } from "./output.ts";
import { getSurroundings, resolvePath, runInterruptible } from "./surroundings.ts";

/** The table that exists since there is an audit log. */
const AUDIT_MARKS = "audit_marks";

export interface RestoreFlags {
  dataDir?: string;
  configDir: string;
  config: boolean;
  dryRun?: boolean;
  force?: boolean;
  json?: boolean;
}

type Restored = Awaited<ReturnType<typeof restore>>;

export async function runRestore(file: string, flags: RestoreFlags): Promise<void> {
  const archive = resolvePath(file);
  // Without --data-dir, the configuration here names the data dir; with it, that configuration may even be invalid.
  const dataDir = flags.dataDir === undefined ? loadLocal({}).config.dataDir : resolvePath(flags.dataDir);
  const run = flags.dryRun === true ? rehearse : restore;
  const restored = await runInterruptible((signal) => run(archive, dataDir, flags, signal));
  printRestored(archive, dataDir, restored, flags);
}

/** A dry run: all checks of a real restore, in a temporary folder. */
async function rehearse(archive: string, dataDir: string, flags: RestoreFlags, signal: AbortSignal): Promise<Restored> {
  const stage = mkdtempSync(join(tmpdir(), "posthorn-restore-"));
  try {
    const manifest = await unpack(archive, stage, flags, signal);
    return { manifest, masterKey: locateMasterKey(manifest, dataDir), kept: [], configFiles: [] };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

async function restore(archive: string, dataDir: string, flags: RestoreFlags, signal: AbortSignal) {
  const old = listOldData(dataDir);
  if (old.length > 0 && flags.force !== true) {
    throw new CommandFailure(
      `${dataDir} is not empty (${countOf(old.length, "entry", "entries")}, the first is ${old[0]}). Name another ` +
        "--data-dir, or move the old data aside with --force.",
    );
  }
  makeDurableDirectory(dataDir);
  // Held to the end: no gateway may start while old and new data are mixed.
  const lock = lockDataDir(dataDir);
  const stamp = formatStamp(Date.now());
  const stage = openStage(dataDir, stamp);
  try {
    const manifest = await unpack(archive, stage.path, flags, signal);
    const masterKey = locateMasterKey(manifest, dataDir);
    const keptData = exchangeData(dataDir, stage.path, stamp, masterKey.found);
    recordRestore(archive, dataDir, manifest);
    const configDir = resolvePath(flags.configDir);
    const files = flags.config ? placeConfigFiles(manifest, stage.path, configDir, stamp) : { written: [], kept: [] };
    return { manifest, masterKey, kept: [...keptData, ...files.kept], configFiles: files.written };
  } finally {
    stage.remove();
    lock.release();
  }
}

/** Writes into the audit log that it was restored. A log that was not in the backup begins at the next start. */
function recordRestore(archive: string, dataDir: string, manifest: Manifest): void {
  if (manifest.tables[AUDIT_MARKS] === undefined) return;
  const given = getSurroundings().env["POSTHORN_MASTER_KEY"];
  const keys = [given, findMasterKey(dataDir)].filter((key) => key !== undefined);
  const masterKey = keys.find((key) => createSecretBox(key).fingerprint === manifest.master_key_fingerprint);
  if (masterKey === undefined) return note("this restore is not in the audit log: its key is not here");
  const details = { archive: basename(archive), backup_created_at: manifest.created_at };
  const action = { act: "store.restore", kind: "store", id: "store", details };
  addAuditEntry({
    ...openLocalAudit({ masterKey, dataDir }, "restore", action),
    file: join(dataDir, DATABASE),
    at: Date.now(),
  });
}

function unpack(archive: string, folder: string, flags: RestoreFlags, signal: AbortSignal): Promise<Manifest> {
  const configDir = resolvePath(flags.configDir);
  return withProgress(async (onProgress) => {
    const manifest = await readArchive({
      file: archive,
      folder,
      signal,
      onManifest(found) {
        rejectNewer(found);
        rejectLackOfRoom(folder, sizeOf(found));
        if (flags.config) rejectLinks(found, configDir);
        if (flags.config && flags.force !== true) rejectConflicts(found, configDir);
      },
      onProgress,
    });
    const { schema_version: schemaVersion, tables } = manifest;
    const faults = findFaultsOfCopy(join(folder, DATABASE), { schemaVersion, tables });
    if (faults.length === 0) return manifest;
    throw new CommandFailure(`The database in the backup is damaged, or was changed: ${faults.join("; ")}.`);
  });
}

function rejectNewer({ schema_version, posthorn_version }: Manifest): void {
  const known = getKnownSchemaVersion();
  if (schema_version <= known) return;
  throw new CommandFailure(
    `The backup was written by Posthorn ${posthorn_version} with schema ${schema_version}; this release supports schema ${known}. ` +
      "Restore it with that release, or a later one.",
  );
}

function rejectLinks(manifest: Manifest, configDir: string): void {
  const linked = findLinkedFolder(manifest, configDir);
  if (linked === undefined) return;
  throw new CommandFailure(
    `${linked} is a link, and a restore writes only below ${configDir}. Name another --config-dir, or restore the data ` +
      "alone with --no-config.",
  );
}

function rejectConflicts(manifest: Manifest, configDir: string): void {
  const [first] = findConfigConflicts(manifest, configDir);
  if (first === undefined) return;
  throw new CommandFailure(
    `${first} exists and differs from the one in the backup. Move it aside with --force, name another --config-dir, ` +
      "or restore only the data with --no-config.",
  );
}

function printRestored(archive: string, dataDir: string, restored: Restored, flags: RestoreFlags): void {
  const { manifest, masterKey, kept, configFiles } = restored;
  const variables = findMissingVariables(manifest, getSurroundings().env, {
    hasConfig: flags.config,
    hasMasterKey: masterKey.missing === undefined,
  });
  if (masterKey.missing !== undefined) note(masterKey.missing);
  if (variables.needed.length > 0) {
    note(`the gateway cannot start until these variables are set: ${variables.needed.join(", ")}`);
  }
  if (variables.settings.length > 0) {
    note(
      `these settings have their defaults, because their variables are not set here: ${variables.settings.join(", ")}`,
    );
  }
  if (manifest.store_url !== "sqlite:") {
    note(`the configuration names another place for the database (${manifest.store_url}): move ${DATABASE} there`);
  }
  if (flags.json === true) {
    return printJson({
      restored: flags.dryRun !== true,
      data_dir: dataDir,
      kept,
      config_files: configFiles,
      master_key: masterKey.from,
      missing_variables: [...variables.needed, ...variables.settings],
      manifest,
    });
  }
  printFacts([
    [flags.dryRun === true ? "sound" : "restored", archive],
    ["written", `${manifest.created_at} by Posthorn ${manifest.posthorn_version}`],
    ["data", flags.dryRun === true ? undefined : dataDir],
    ["configuration", configFiles.length === 0 ? undefined : configFiles.join(", ")],
    ["kept aside", kept.length === 0 ? undefined : kept.join(", ")],
    ["subscriptions", manifest.records["subscription"]],
    ["events", manifest.with_events ? manifest.tables["events"] : "not in this backup"],
    ["master key", masterKey.from],
  ]);
}

/** Variables that describe the machine; another machine sets its own. */
const OF_THE_MACHINE = /^POSTHORN_(?:DATA_DIR|HOST|PORT|LOG_LEVEL|LOG_FILE|URL|API_KEY)(?:_FILE)?$/;
const OF_MASTER_KEY = /^POSTHORN_MASTER_KEY(?:_FILE)?$/;

export function findMissingVariables(
  { variables, needed_variables: needed, defaulted_variables: defaulted }: Manifest,
  env: Environment,
  restored: { hasConfig: boolean; hasMasterKey: boolean },
): { needed: string[]; settings: string[] } {
  const isMissed = (name: string) =>
    (env[name] ?? "") === "" && !OF_THE_MACHINE.test(name) && !(restored.hasMasterKey && OF_MASTER_KEY.test(name));
  return {
    // Without these the gateway does not start.
    needed: restored.hasConfig ? needed.filter(isMissed) : [],
    // These settings now have their defaults.
    settings: variables.filter((name) => !needed.includes(name) && !defaulted.includes(name)).filter(isMissed),
  };
}

/**
 * The master key that encrypted the secrets of a backup: where it comes `from`, in words; the key itself when it was
 * in the data directory that is replaced; what the operator must do before a gateway can read the secrets.
 */
function locateMasterKey(
  { master_key_fingerprint: fingerprint, with_master_key: isInside }: Manifest,
  dataDir: string,
): { from: string; found?: string; missing?: string } {
  if (isInside) return { from: "in the backup" };
  if (fingerprint === null) return { from: "none was created yet" };
  const present = findMasterKey(dataDir);
  if (present !== undefined && createSecretBox(present).fingerprint === fingerprint) {
    return { from: "the one that was already here", found: present };
  }
  const missing =
    `the secrets are encrypted with a master key that is not in the backup (fingerprint ${fingerprint}). Put it into ` +
    `${join(dataDir, MASTER_KEY)}, or set POSTHORN_MASTER_KEY, before the gateway starts`;
  return { from: "not in the backup", missing };
}

const STAGE = ".restoring-";
const KEPT = "data.bak-";
/** Entries that are not the gateway's data: leftovers of earlier restores, the lock, and files of the file system. */
const NOT_DATA = /^(\.restoring-.*|data\.bak-.*|posthorn\.lock(-journal)?|restore\.unfinished|lost\+found)$/;

function listOldData(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => !NOT_DATA.test(name)) : [];
}

/** Inside the data directory, which may be a mount point: files can only be renamed within one file system. */
function openStage(dataDir: string, stamp: string): { path: string; remove(): void } {
  const path = join(dataDir, STAGE + stamp);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function rejectLackOfRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bytes <= bavail * bsize) return;
  throw new CommandFailure(
    `The backup needs ${formatBytes(bytes)} in ${folder}, but only ${formatBytes(bavail * bsize)} are free.`,
  );
}

/**
 * Moves the old data aside and the new data into its place. Returns where old data is now. Deletes nothing.
 * `masterKey`: of this data, when it was found here and is not in the backup.
 */
function exchangeData(dataDir: string, stage: string, stamp: string, masterKey?: string): string[] {
  const old = listOldData(dataDir);
  const mark = setRestoreMark(dataDir);
  const kept = join(dataDir, KEPT + stamp);
  if (old.length > 0) {
    mkdirSync(kept, { mode: 0o700 });
    for (const name of old) renameSync(join(dataDir, name), join(kept, name));
    syncDirectory(kept);
  }
  if (existsSync(join(stage, MASTER_KEY))) renameSync(join(stage, MASTER_KEY), join(dataDir, MASTER_KEY));
  else if (masterKey !== undefined) writePrivateFile(join(dataDir, MASTER_KEY), `${masterKey}\n`);
  renameSync(join(stage, DATABASE), join(dataDir, DATABASE));
  mark.remove();
  return old.length > 0 ? [kept] : [];
}

/** Where the configuration files of a backup go; the paths stay relative to the folder of posthorn.yaml. */
function listPlaces({ parts }: Pick<Manifest, "parts">, configDir: string): { part: Part; path: string }[] {
  return parts.flatMap((part) => {
    if (part.name.startsWith(CONFIG_FOLDER)) {
      return [{ part, path: join(configDir, part.name.slice(CONFIG_FOLDER.length)) }];
    }
    return part.name.startsWith(ELSEWHERE_FOLDER) ? [{ part, path: join(configDir, part.name) }] : [];
  });
}

/** A symbolic link counts as a file, even when its target does not exist. */
const isTaken = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

const isThere = ({ part, path }: { part: Part; path: string }) =>
  isFile(path) && createHash("sha256").update(readFileSync(path)).digest("hex") === part.sha256;

/** Finds a folder that is a symbolic link: files written below it would land outside of `configDir`. */
export function findLinkedFolder({ parts }: Pick<Manifest, "parts">, configDir: string): string | undefined {
  for (const { path } of listPlaces({ parts }, configDir)) {
    for (let folder = dirname(path); folder.length > configDir.length; folder = dirname(folder)) {
      if (isLink(folder)) return folder;
    }
  }
  return undefined;
}

export function findConfigConflicts(manifest: Manifest, configDir: string): string[] {
  return listPlaces(manifest, configDir)
    .filter((place) => isTaken(place.path) && !isThere(place))
    .map(({ path }) => path);
}

export function placeConfigFiles(
  manifest: Manifest,
  stage: string,
  configDir: string,
  stamp: string,
): { written: string[]; kept: string[] } {
  const written: string[] = [];
  const kept: string[] = [];
  for (const place of listPlaces(manifest, configDir)) {
    const { part, path } = place;
    if (isThere(place)) continue;
    makeDurableDirectory(configDir);
    mkdirSync(dirname(path), { recursive: true });
    if (isTaken(path)) {
      const aside = `${path}.bak-${stamp}`;
      renameSync(path, aside);
      kept.push(aside);
    }
    copyFileSync(join(stage, part.name), path, constants.COPYFILE_EXCL);
    syncDirectory(dirname(path));
    written.push(path);
  }
  return { written, kept };
}
