import type { Page, PageOf } from "./port/reads.ts";

const ROWS_AT_ONCE = 1000;

/** Reads all rows of a list, page by page. */
export async function readAll<Row>(list: (page: Page) => Promise<PageOf<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit: ROWS_AT_ONCE, cursor });
    rows.push(...page.rows);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return rows;
}
