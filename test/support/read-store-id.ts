import { DatabaseSync } from "@photostructure/sqlite";

/** A gateway says its id only in what it sends: it is read from its store. */
export function readStoreId(dataDir: string): string {
  const db = new DatabaseSync(`${dataDir}/posthorn.db`, { readOnly: true });
  try {
    const row = db.prepare("select value from meta where key = 'store_id'").get() as { value: unknown };
    return String(row.value);
  } finally {
    db.close();
  }
}
