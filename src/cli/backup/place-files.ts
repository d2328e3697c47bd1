import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { writePrivateFile } from "../../resources/secret-box.ts";
import { makeDurableDirectory, syncDirectory, setRestoreMark } from "../../store/sqlite/data-dir.ts";
import { CommandFailure } from "../failure.ts";
import { formatBytes } from "../output.ts";
import { CONFIG_FOLDER, DATABASE, ELSEWHERE_FOLDER, type Manifest, MASTER_KEY, type Part } from "./manifest.ts";

const STAGE = ".restoring-";
const KEPT = "data.bak-";
/** Entries that are not the gateway's data: leftovers of earlier restores, the lock, and files of the file system. */
const NOT_DATA = /^(\.restoring-.*|data\.bak-.*|posthorn\.lock(-journal)?|restore\.unfinished|lost\+found)$/;

export function listOldData(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => !NOT_DATA.test(name)) : [];
}

/** Inside the data directory, which may be a mount point: files can only be renamed within one file system. */
export function openStage(dataDir: string, stamp: string): { path: string; remove(): void } {
  const path = join(dataDir, STAGE + stamp);
  mkdirSync(path, { mode: 0o700 });
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function rejectLackOfRoom(folder: string, bytes: number): void {
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
export function exchangeData(dataDir: string, stage: string, stamp: string, masterKey?: string): string[] {
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
