import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, posix, sep } from "node:path";

/** A file of the dashboard, with the versions that were compressed at build time. */
export interface BuiltFile {
  type: string;
  etag: string;
  plain: Buffer;
  gzip: Buffer | undefined;
  br: Buffer | undefined;
}

/** The built files of the dashboard, in memory. */
export interface BuiltFiles {
  /** Finds a file by its path in the folder; undefined when it does not exist or nothing is built yet. */
  find(path: string): Promise<BuiltFile | undefined>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export const INDEX = "index.html";

/** The index is checked each time, so that a new build is noticed while the gateway runs. */
export function createBuiltFiles(folder: string): BuiltFiles {
  let builtAt: number | undefined;
  let current = new Map<string, BuiltFile>();
  /** Open pages still ask for files of the previous build. */
  let former = new Map<string, BuiltFile>();
  let loading: Promise<void> = Promise.resolve();

  async function refresh(): Promise<void> {
    const index = await stat(join(folder, INDEX)).catch(() => undefined);
    if (index === undefined || index.mtimeMs === builtAt) return;
    const loaded = await load(folder).catch(() => undefined);
    // The file was replaced meanwhile: the next request gets the new one.
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
