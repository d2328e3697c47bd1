import { DatabaseSync } from "@photostructure/sqlite";
import { listMigrations, openEmptyDatabase, type Database } from "./connection.ts";

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
    faults.push(...findStrangeObjects(db, version));
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

interface SchemaObject {
  type: string;
  name: string;
  sql: string;
}

/**
 * The tables that SQLite itself makes, with their exact text: whoever writes into its list of objects can give any object
 * a name that begins with sqlite_. Its automatic indexes have no text.
 */
const OF_SQLITE = [
  "CREATE TABLE sqlite_sequence(name,seq)",
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

const SELECT_OBJECTS = `
  select type, name, sql from sqlite_master
  where sql is not null and sql not in (${OF_SQLITE.map((sql) => `'${sql}'`).join(", ")})`;

/** A trigger or a view would run inside the gateway, whoever wrote it. */
function findStrangeObjects(db: Database, version: number): string[] {
  const own = new Map<string, string>();
  const empty = openEmptyDatabase(version);
  try {
    for (const object of listObjects(empty)) own.set(nameOf(object), plain(object.sql));
  } finally {
    empty.close();
  }
  const faults: string[] = [];
  for (const object of listObjects(db)) {
    const name = nameOf(object);
    const sql = own.get(name);
    if (sql === undefined) faults.push(`it has the ${name}, which Posthorn does not create`);
    else if (sql !== plain(object.sql)) faults.push(`its ${name} is not as Posthorn creates it`);
    own.delete(name);
  }
  return [...faults, ...[...own.keys()].map((name) => `it lacks the ${name}`)];
}

function listObjects(db: Database): SchemaObject[] {
  return db.prepare(SELECT_OBJECTS).all() as SchemaObject[];
}

function nameOf({ type, name }: SchemaObject): string {
  return `${type} ${JSON.stringify(name)}`;
}

/** A quoted text or name, in which two dashes begin no comment; a comment; or blanks. */
const PARTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--.*|\s+/g;
const PLAIN_NAME = /^"[A-Za-z_]\w*"$/;

/** Releases differ in comments, and those of SQLite in blanks and in quotes of names when they write a table anew. */
function plain(sql: string): string {
  const gaps: string[] = [];
  const toPart = (part: string) => {
    if (part.startsWith("--") || part.trim() === "") return " ";
    return PLAIN_NAME.test(part) ? ` ${part.slice(1, -1)} ` : `\u0000${gaps.push(part) - 1}\u0000`;
  };
  const bare = sql.replaceAll(PARTS, toPart).replaceAll(/ +/g, " ").trim();
  return JSON.stringify([bare, gaps]);
}

/** The newest schema that this release supports. */
export function getKnownSchemaVersion(): number {
  return Number(listMigrations().at(-1)?.slice(0, 4));
}
