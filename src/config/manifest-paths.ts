import { resolve } from "node:path";

/** A relative path of a declared source starts at the configuration file, wherever the gateway is started from. */
export function resolveManifestPaths(sources: unknown, folder: string): void {
  if (!Array.isArray(sources)) return;
  for (const source of sources as Partial<Record<string, unknown>>[]) {
    if (typeof source?.["manifest"] === "string") source["manifest"] = resolve(folder, source["manifest"]);
  }
}
