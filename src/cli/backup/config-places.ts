import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { makeDurableDirectory, syncDirectory } from "../../store/sqlite/durable-directory.ts";
import { CONFIG_FOLDER, ELSEWHERE_FOLDER, type Manifest, type Part } from "./manifest.ts";

/** Where the configuration files of a backup go: below a folder, as they lay below the one of posthorn.yaml. */
function listPlaces({ parts }: Manifest, configDir: string): { part: Part; path: string }[] {
  return parts.flatMap((part) => {
    if (part.name.startsWith(CONFIG_FOLDER)) {
      return [{ part, path: join(configDir, part.name.slice(CONFIG_FOLDER.length)) }];
    }
    return part.name.startsWith(ELSEWHERE_FOLDER) ? [{ part, path: join(configDir, part.name) }] : [];
  });
}

const isThere = ({ part, path }: { part: Part; path: string }) =>
  existsSync(path) && createHash("sha256").update(readFileSync(path)).digest("hex") === part.sha256;

/** Files that are there and would be replaced by others. */
export function findConfigConflicts(manifest: Manifest, configDir: string): string[] {
  return listPlaces(manifest, configDir)
    .filter((place) => existsSync(place.path) && !isThere(place))
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
    if (existsSync(path)) {
      const aside = `${path}.bak-${stamp}`;
      renameSync(path, aside);
      kept.push(aside);
    }
    copyFileSync(join(stage, part.name), path);
    syncDirectory(dirname(path));
    written.push(path);
  }
  return { written, kept };
}
