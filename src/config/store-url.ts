import { join, resolve } from "node:path";

/** The file of the database when `store_url` names none. */
const DATABASE_FILE = "posthorn.db";
const SQLITE = "sqlite:";

/** Makes the path of `sqlite:PATH` absolute; returns the problem for any other URL. */
export function parseStoreUrl(url: string, cwd: string): { url: string } | { problem: string } {
  if (!url.toLowerCase().startsWith(SQLITE)) {
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0];
    const given = scheme === undefined ? "this is not a URL" : `this build supports only sqlite, not ${scheme}`;
    return { problem: `${given}; write \`sqlite:\` or \`sqlite:PATH\`` };
  }
  const rest = url.slice(SQLITE.length);
  if (rest === "") return { url: SQLITE };
  const path = rest.startsWith("///") ? rest.slice(2) : rest;
  if (path.startsWith("//")) return { problem: "a SQLite file has no host; write `sqlite:PATH` or `sqlite:///PATH`" };
  if (path.startsWith(":memory:")) return { problem: "a database in memory would lose events; name a file" };
  if (/[?#\0]/.test(path)) return { problem: "the path must not contain `?`, `#` or NUL" };
  return { url: SQLITE + resolve(cwd, path) };
}

/** The database file of a loaded configuration. */
export function getDatabasePath(config: { storeUrl: string; dataDir: string }): string {
  const path = config.storeUrl.slice(SQLITE.length);
  return path === "" ? join(config.dataDir, DATABASE_FILE) : path;
}
