import { readAnswer, type ApiClient, type Query } from "./api-client.ts";
import type { ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import { formatTable, note, parseTime, print } from "./output.ts";
import { showSearchedUntil } from "./progress.ts";

export interface ListFlags extends ClientFlags {
  tenant?: string;
  limit?: string;
  cursor?: string;
}

export interface Column<Row> {
  heading: string;
  show: (row: Row, wallMs: number) => string;
}

interface PageAnswer<Row> {
  data: Row[];
  next_cursor: string | null;
  searched_until?: string | null;
}

/** As a table, or one page as the gateway gave it. */
export async function printList<Row>(
  client: ApiClient,
  path: string,
  flags: ListFlags,
  { query, columns }: { query: Query; columns: readonly Column<Row>[] },
): Promise<void> {
  const { tenant: tenant_id, limit, cursor, json } = flags;
  const given = { ...query, tenant_id };
  const answer = await client.get(path, { ...given, limit, cursor });
  if (json === true) return print(answer.text);
  const first = readAnswer(client, answer) as PageAnswer<Row>;
  const { data, next_cursor: next } = await readOn(client, path, given, first, Number(limit));
  if (data.length === 0) return note("nothing found");
  const wallMs = Date.now();
  const headings = columns.map(({ heading }) => heading);
  print(
    formatTable(
      headings,
      data.map((row) => columns.map(({ show }) => show(row, wallMs))),
    ),
  );
  if (next !== null) note(`there are more: add --cursor ${next}`);
}

/** A search ends a page when its time is over: what is missing to a full one lies in those that follow. */
async function readOn<Row>(
  client: ApiClient,
  path: string,
  query: Query,
  first: PageAnswer<Row>,
  limit: number,
): Promise<PageAnswer<Row>> {
  let page = first;
  const data = [...first.data];
  while (page.next_cursor !== null && data.length < limit) {
    showSearchedUntil(page.searched_until ?? null);
    const answer = await client.get(path, { ...query, limit: limit - data.length, cursor: page.next_cursor });
    page = readAnswer(client, answer) as PageAnswer<Row>;
    data.push(...page.data);
  }
  if (page !== first) showSearchedUntil(null);
  return { data, next_cursor: page.next_cursor };
}

export function readTime(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text, Date.now());
  if (time === undefined) throw usageFailure(`${flag}: "${text}" is no time; write RFC 3339, or 15m, 2h, 7d.`);
  return time;
}
