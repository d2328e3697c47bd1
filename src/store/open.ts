import { PosthornError } from "../model/errors.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite/open.ts";
import type { Store } from "./store.ts";

export type StoreOptions = Omit<SqliteStoreOptions, "file">;

/** The drivers by URL scheme. */
const DRIVERS: Readonly<Record<string, (place: string, options: StoreOptions) => Promise<Store>>> = {
  "sqlite:": (file, options) => openSqliteStore({ ...options, file }),
};

/** Opens the store that a URL names: `sqlite:PATH`. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const schemeEnd = url.indexOf(":") + 1;
  const open = DRIVERS[url.slice(0, schemeEnd)];
  if (open === undefined) {
    const known = Object.keys(DRIVERS).join(", ");
    throw new PosthornError(
      "config_invalid",
      `The store URL "${url}" is not supported. It must begin with one of: ${known}.`,
    );
  }
  return open(url.slice(schemeEnd), options);
}
