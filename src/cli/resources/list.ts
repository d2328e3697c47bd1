import { readAnswer, type ApiClient } from "../api-client.ts";
import { note, print } from "../output.ts";
import { showSearchedUntil } from "../progress.ts";
import { toTable, type Field, type Row } from "./fields.ts";
import { flag } from "./flags.ts";
import type { Call } from "./resource.ts";

export const PAGE = [
  flag("--limit <number>", "how many at most, up to 500", { default: "50" }),
  flag("--cursor <cursor>", "go on where the page before ended"),
];

interface PageAnswer {
  data: Row[];
  next_cursor: string | null;
  searched_until?: string | null;
}

/** As a table, or one page as the gateway gave it. */
export async function printList(
  client: ApiClient,
  path: string,
  { query, flags }: Pick<Call, "query" | "flags">,
  columns: readonly Field[],
): Promise<void> {
  const answer = await client.get(path, query);
  if (flags.json === true) return print(answer.text);
  const first = readAnswer(client, answer) as PageAnswer;
  const { data, next_cursor: next } = await readOn(client, path, query, first);
  if (data.length === 0) return note("nothing found");
  print(toTable(columns, data));
  if (next !== null) note(`there are more: add --cursor ${next}`);
}

/** A search ends a page when its time is over: what is missing to a full one lies in those that follow. */
async function readOn(client: ApiClient, path: string, query: Call["query"], first: PageAnswer): Promise<PageAnswer> {
  const limit = Number(query["limit"]);
  let page = first;
  const data = [...first.data];
  while (page.next_cursor !== null && data.length < limit) {
    showSearchedUntil(page.searched_until ?? null);
    const more = { ...query, limit: limit - data.length, cursor: page.next_cursor };
    page = readAnswer(client, await client.get(path, more)) as PageAnswer;
    data.push(...page.data);
  }
  if (page !== first) showSearchedUntil(null);
  return { data, next_cursor: page.next_cursor };
}
