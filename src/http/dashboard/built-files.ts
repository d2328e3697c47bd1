import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, posix, sep } from "node:path";

/** A file of the dashboard, with the forms that were packed when it was built. */
export interface BuiltFile {
  type: string;
  etag: string;
  plain: Buffer;
  gzip: Buffer | undefined;
  br: Buffer | undefined;
}

/** What the build of the dashboard left, in memory. */
export interface BuiltFiles {
  /** By its path below the folder; undefined where there is none, or where nothing is built yet. */
  find(path: string): Promise<BuiltFile | undefined>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export const INDEX = "index.html";

/** The index is looked at each time, so that a build which ends while the gateway runs is seen. */
export function createBuiltFiles(folder: string): BuiltFiles {
  let builtAt: number | undefined;
  let current = new Map<string, BuiltFile>();
  /** Pages that are open still ask for the files of the build before. */
  let former = new Map<string, BuiltFile>();
  let loading: Promise<void> = Promise.resolve();

  async function refresh(): Promise<void> {
    const index = await stat(join(folder, INDEX)).catch(() => undefined);
    if (index === undefined || index.mtimeMs === builtAt) return;
    const loaded = await load(folder).catch(() => undefined);
    // It was exchanged meanwhile: the next one who asks gets it.
    if (loaded === undefined) return;
    [former, current] = [current, loaded];
    builtAt = index.mtimeMs;
  }

  return {
    async find(path) {
      const known = current.get(path);
      if (known !== undefined && path !== INDEX) return known;
      loading = loading.then(refresh);
      await loading;
      return current.get(path) ?? former.get(path);
    },
  };
}

async function load(folder: string): Promise<Map<string, BuiltFile>> {
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, BuiltFile>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const plain = await readFile(path);
    const packed = (suffix: string) => readFile(path + suffix).catch(() => undefined);
    files.set(name.split(sep).join(posix.sep), {
      type,
      etag: `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
      plain,
      gzip: await packed(".gz"),
      br: await packed(".br"),
    });
  }
  return files;
}
