import { isAbsolute, relative } from "node:path";

/** Whether a path is inside a folder, judged by the names only: links are not followed. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}
