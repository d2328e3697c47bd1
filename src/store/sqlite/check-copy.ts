import { DatabaseSync } from "@photostructure/sqlite";
import { listMigrations } from "./connection.ts";

const MAX_DAMAGES = 5;

/** Problems of a copied or moved database; empty when a gateway can start on it. */
export function findFaultsOfCopy(
  file: string,
  expected: { schemaVersion: number; tables: Readonly<Record<string, number>> },
): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const damages = db
      .prepare(`pragma integrity_check(${MAX_DAMAGES})`)
      .all()
      .map((row) => String(Object.values(row as Record<string, unknown>)[0]))
      .filter((line) => line !== "ok");
    if (damages.length > 0) return damages;
    const { version } = db.prepare("select max(version) as version from migrations").get() as { version: number };
    const faults =
      version === expected.schemaVersion ? [] : [`it has schema ${version}, not ${expected.schemaVersion}`];
    for (const [table, rows] of Object.entries(expected.tables)) {
      const { found } = db.prepare(`select count(*) as found from "${table.replaceAll('"', '""')}"`).get() as {
        found: number;
      };
      if (found !== rows) faults.push(`${table} has ${found} rows, not ${rows}`);
    }
    return faults;
  } catch (error) {
    return [(error as Error).message];
  } finally {
    db.close();
  }
}

/** The newest schema that this release supports. */
export function getKnownSchemaVersion(): number {
  return Number(listMigrations().at(-1)?.slice(0, 4));
}
