import { isDeepStrictEqual } from "node:util";
import { findAt, SETTINGS, toCamelCase, type Config } from "./settings-tree.ts";

/** Settings that are different, by their names in the yaml. What is declared in lists is not among them. */
export function listChangedSettings(before: Config, after: Config): string[] {
  return SETTINGS.filter(({ keys }) => {
    const path = keys.map(toCamelCase);
    return !isDeepStrictEqual(findAt(before, path), findAt(after, path));
  }).map(({ path }) => path);
}
