import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LoadedConfig } from "../config/load.ts";
import { getDatabasePath } from "../config/store-url.ts";
import { VERSION } from "../config/version.ts";
import { createSecretBox } from "../resources/secret-box.ts";
import { copyDatabase, type CopiedDatabase } from "../store/sqlite/copy-database.ts";
import { syncDirectory } from "../store/sqlite/durable-directory.ts";
import { readConfigurationFiles, type ConfigurationFiles } from "./backup/configuration-files.ts";
import { createManifest, DATABASE, MASTER_KEY, type Manifest } from "./backup/manifest.ts";
import { describePart, writeArchive, type PartSource } from "./backup/write-archive.ts";
import { CommandFailure, usageFailure } from "./failure.ts";
import { runInterruptible } from "./interruption.ts";
import { loadLocal, type LocalFlags } from "./local.ts";
import { countOf, formatBytes, note, printFacts, printJson } from "./output.ts";
import { openProgress } from "./progress.ts";
import { getSurroundings, resolvePath } from "./surroundings.ts";

export interface BackupFlags extends LocalFlags {
  withEvents?: boolean;
  withMasterKey?: boolean;
  force?: boolean;
}

const PERCENT = 100;

/** Reads the files of a gateway that may be running. The gateway is not involved. */
export async function runBackup(file: string | undefined, flags: BackupFlags): Promise<void> {
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
  const secrets = readSecretsToKeep(loaded, flags);

  const temporary = `${target}.${process.pid}.partial`;
  const copy = `${temporary}.db`;
  try {
    const { manifest, damages } = await runInterruptible(async (signal) => {
      const copied = await copyWithProgress(database, copy, flags.withEvents === true, signal);
      const parts: PartSource[] = [{ name: DATABASE, content: { file: copy } }, ...secrets.parts];
      const made = await describeAll(loaded, copied, secrets, parts, flags, wallMs);
      await writeWithProgress(temporary, made, parts, wallMs, signal);
      return { manifest: made, damages: copied.damages };
    });
    renameSync(temporary, target);
    syncDirectory(dirname(target));
    tell(target, manifest, { ...secrets, damages }, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EACCES") throw error;
    throw new CommandFailure(`${target} cannot be written (${code}).`);
  } finally {
    for (const left of [temporary, copy]) rmSync(left, { force: true });
  }
}

interface SecretsToKeep extends ConfigurationFiles {
  fingerprint: string | null;
}

function readSecretsToKeep(loaded: LoadedConfig, flags: BackupFlags): SecretsToKeep {
  const files = readConfigurationFiles(loaded, flags.config, getSurroundings().cwd);
  const { parts, secretsInClear } = files;
  const masterKey = loaded.config.masterKey ?? readKeyFile(join(loaded.config.dataDir, MASTER_KEY));
  const fingerprint = masterKey === undefined ? null : createSecretBox(masterKey).fingerprint;
  if (flags.withMasterKey === true) {
    if (masterKey === undefined) throw new CommandFailure("There is no master key yet.");
    parts.push({ name: MASTER_KEY, content: Buffer.from(`${masterKey}\n`) });
  } else if (secretsInClear.includes("master_key")) {
    throw new CommandFailure(
      "The configuration file contains the master key, so the backup would too. Add --with-master-key to allow that, " +
        "or write ${NAME} there and set the key in the environment.",
    );
  }
  return { ...files, fingerprint };
}

function readKeyFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

async function copyWithProgress(from: string, to: string, withLog: boolean, signal: AbortSignal) {
  const progress = openProgress(PERCENT);
  const onProgress = (share: number) => progress.show(Math.floor(share * PERCENT));
  try {
    return await copyDatabase({ from, to, withLog, onProgress, signal });
  } finally {
    progress.close();
  }
}

async function writeWithProgress(
  file: string,
  manifest: Manifest,
  parts: readonly PartSource[],
  wallMs: number,
  signal: AbortSignal,
): Promise<void> {
  const progress = openProgress(PERCENT);
  const total = manifest.parts.reduce((sum, { bytes }) => sum + bytes, 1);
  const onProgress = (bytes: number) => progress.show(Math.min(PERCENT, Math.floor((bytes * PERCENT) / total)));
  try {
    await writeArchive({ file, manifest, parts, wallMs, onProgress, signal });
  } finally {
    progress.close();
  }
}

async function describeAll(
  { config }: LoadedConfig,
  copied: CopiedDatabase,
  { variables, neededVariables, defaultedVariables, fingerprint }: SecretsToKeep,
  parts: readonly PartSource[],
  flags: BackupFlags,
  wallMs: number,
): Promise<Manifest> {
  return createManifest({
    created_at: new Date(wallMs).toISOString(),
    posthorn_version: VERSION,
    schema_version: copied.schemaVersion,
    with_events: flags.withEvents === true,
    with_master_key: flags.withMasterKey === true,
    master_key_fingerprint: fingerprint,
    store_url: config.storeUrl,
    variables,
    needed_variables: neededVariables,
    defaulted_variables: defaultedVariables,
    tables: copied.tables,
    records: copied.records,
    parts: await Promise.all(parts.map(describePart)),
  });
}

interface Remarks extends Pick<SecretsToKeep, "secretsInClear"> {
  damages: readonly string[];
}

function tell(target: string, manifest: Manifest, { secretsInClear, damages }: Remarks, flags: BackupFlags): void {
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
