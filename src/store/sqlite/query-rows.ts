import { PosthornError } from "../../model/errors.ts";
import type { Page } from "../port/reads.ts";
import type { Database, Statement } from "./connection.ts";

/**
 * The owner of the subscription of delivery `d`, to whom the delivery belongs. As a subquery: a condition on a joined table
 * would let SQLite begin with that, and sort.
 */
export const OWNER = "(select tenant_id from records where seq = d.subscription_seq)";

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
export function toRow(row: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(row)) if (value !== null) out[key] = value;
  return out;
}

/** `always` is inserted as it is: SQLite uses a partial index only when its condition is spelt out. */
export function conditions(list: readonly (readonly [string, ...(Value | undefined)[]])[], always = "true") {
  const given = list.filter(([, value]) => value !== undefined);
  return {
    sql: `where ${[always, ...given.map(([sql]) => sql)].join(" and ")}`,
    values: given.flatMap(([, ...values]) => values) as Value[],
  };
}

/** Reads one row more than the page holds, which tells whether there is a next page. */
export function readPage<Row extends object>(
  statement: Statement,
  values: readonly Value[],
  { limit }: Page,
  cursorOf: (row: Row) => string,
) {
  const rows = statement.all(...values, limit + 1).map(toRow) as Row[];
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

export function parseCursor(cursor: string, parts: number): number[] {
  const numbers = cursor.split(".").map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN));
  if (numbers.length !== parts || !numbers.every(Number.isSafeInteger)) {
    throw new PosthornError(
      "invalid_field",
      `"${cursor}" is not a cursor of this list. Use the next_cursor of an earlier answer.`,
      {
        field: "cursor",
      },
    );
  }
  return numbers;
}
