import { constants, copyFileSync, lstatSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { makeDurableDirectory, syncDirectory } from "../../store/sqlite/durable-directory.ts";
import { CONFIG_FOLDER, ELSEWHERE_FOLDER, type Manifest, type Part } from "./manifest.ts";

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

/** Existing files that differ from those of the backup. */
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
