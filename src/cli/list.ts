import { readAnswer, type ApiClient, type Query } from "./api-client.ts";
import type { ClientFlags } from "./connect.ts";
import { usageFailure } from "./failure.ts";
import { formatTable, note, parseTime, print } from "./output.ts";

export interface ListFlags extends ClientFlags {
  tenant?: string;
  limit?: string;
  cursor?: string;
}

export interface Column<Row> {
  heading: string;
  show: (row: Row, wallMs: number) => string;
}

/** One page, as a table or as the gateway gave it. */
export async function printList<Row>(
  client: ApiClient,
  path: string,
  flags: ListFlags,
  { query, columns }: { query: Query; columns: readonly Column<Row>[] },
): Promise<void> {
  const { tenant: tenant_id, limit, cursor, json } = flags;
  const answer = await client.get(path, { ...query, tenant_id, limit, cursor });
  if (json === true) return print(answer.text);
  const { data, next_cursor: next } = readAnswer(client, answer) as { data: Row[]; next_cursor: string | null };
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

export function readTime(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text, Date.now());
  if (time === undefined) throw usageFailure(`${flag}: "${text}" is no time; write RFC 3339, or 15m, 2h, 7d.`);
  return time;
}
