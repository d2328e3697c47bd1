import { PosthornError } from "../../model/errors.ts";
import type { Page, PageOf } from "../port/reads.ts";
import type { Database, Statement } from "./connection.ts";

/** To whom the delivery `d` belongs. With a condition on a joined table SQLite would begin there, and sort. */
export const OWNER = "(select tenant_id from records where seq = d.subscription_seq)";

/** Reads everything from one moment, whatever is written meanwhile. */
export function readAtOnce<T>(db: Database, read: () => T): T {
  db.exec("begin");
  try {
    return read();
  } finally {
    db.exec("commit");
  }
}

/** Methods of a port as a thread of this driver runs them. */
export type AtOnce<Port, Name extends keyof Port> = {
  [N in Name]: Port[N] extends (...args: infer Args) => Promise<infer Result> ? (...args: Args) => Result : never;
};

export type Prepare = (sql: string) => Statement;
export type Value = string | number | bigint | null;

/** Statements are cached: the driver frees them only by garbage collection, which a busy reader never has time for. */
export function createPrepare(db: Database): Prepare {
  const statements = new Map<string, Statement>();
  return (sql) => {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}

/** Null in SQL becomes undefined. */
export function toRow<Row extends object>(row: Row): Row {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(row)) out[key] = value ?? undefined;
  return out as Row;
}

/** A list of columns by the names of their fields: `tenant_id as tenantId`. */
export function asFields(columns: string): string {
  const toField = (column: string) => column.replaceAll(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
  return columns.replaceAll(/\w+_\w+/g, (column) => `${column} as ${toField(column)}`);
}

type Condition = readonly [string, ...(Value | undefined)[]];

/**
 * Those of the conditions that have a value, as one. `always` is inserted as it is: there stands the condition of a
 * partial index, which SQLite uses only when that is spelt out.
 */
export function allOf(list: readonly Condition[], always = "true") {
  const given = list.filter(([, value]) => value !== undefined);
  return {
    sql: [always, ...given.map(([sql]) => sql)].join(" and "),
    values: given.flatMap(([, ...values]) => values) as Value[],
  };
}

/** Reads one row more than the page holds, to know whether there is a next page. */
export function readPage<Row extends object, Shown>(
  statement: Statement,
  values: readonly Value[],
  { limit }: Pick<Page, "limit">,
  cursorOf: (row: Row) => string,
  toShown: (row: Row) => Shown,
): PageOf<Shown> {
  const rows: Row[] = statement.all(...values, limit + 1);
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { rows: shown.map(toShown), nextCursor: last && cursorOf(last) };
}

export const cursorOfSeq = ({ seq }: { seq: number }) => String(seq);

/** The numbers of a cursor; none on the first page. */
export function parseCursor(cursor: string | undefined, parts: number): number[] {
  if (cursor === undefined) return [];
  const numbers = cursor.split(".").map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN));
  if (numbers.length !== parts || !numbers.every(Number.isSafeInteger)) {
    throw new PosthornError(
      "invalid_field",
      `"${cursor}" is not a cursor of this list. Use the next_cursor of an earlier answer.`,
      { field: "cursor" },
    );
  }
  return numbers;
}
