import { PosthornError } from "../model/errors.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite/open.ts";
import type { Store } from "./store.ts";

export type StoreOptions = Omit<SqliteStoreOptions, "file">;

const SCHEME = "sqlite:";

/** Opens the store that a URL names: `sqlite:PATH`. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  if (url.startsWith(SCHEME)) return openSqliteStore({ ...options, file: url.slice(SCHEME.length) });
  throw new PosthornError("config_invalid", `The store URL "${url}" is not supported. It must begin with ${SCHEME}.`);
}
