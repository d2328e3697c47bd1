import { isAbsolute, relative } from "node:path";

/** Whether a path lies inside of a folder, as far as their names tell. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}
