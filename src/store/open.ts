import { PosthornError } from "../domain/errors.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite/open.ts";
import type { Store } from "./store.ts";

export type StoreOptions = Omit<SqliteStoreOptions, "file">;

/** By the scheme of the URL. */
const DRIVERS: Readonly<Record<string, (place: string, options: StoreOptions) => Promise<Store>>> = {
  "sqlite:": (file, options) => openSqliteStore({ ...options, file }),
};

/** Opens the store that a URL names: `sqlite:PATH`. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const schemeEnd = url.indexOf(":") + 1;
  const open = DRIVERS[url.slice(0, schemeEnd)];
  if (open === undefined) {
    const known = Object.keys(DRIVERS).join(", ");
    throw new PosthornError("config_invalid", `No store opens "${url}". The URL must begin with one of: ${known}.`);
  }
  return open(url.slice(schemeEnd), options);
}
