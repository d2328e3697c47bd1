import { isDeepStrictEqual } from "node:util";
import { findAt, SETTINGS, toCamelCase, type Config } from "./settings-tree.ts";

/** Settings that differ, by their names in the yaml. Declared lists are not included. */
export function listChangedSettings(before: Config, after: Config): string[] {
  return SETTINGS.filter(({ keys }) => {
    const path = keys.map(toCamelCase);
    return !isDeepStrictEqual(findAt(before, path), findAt(after, path));
  }).map(({ path }) => path);
}
