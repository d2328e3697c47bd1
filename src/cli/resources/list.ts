import { suggestName } from "../../model/nearest-name.ts";
import type { ApiClient } from "../api-client.ts";
import { usageFailure } from "../failure.ts";
import { note, print, showSearchedUntil } from "../output.ts";
import { byName, printRows, type Field, type Row } from "./fields.ts";
import { flag, ownFlag } from "./flags.ts";
import type { Call } from "./resource.ts";

export const PAGE = [
  flag("--limit <number>", "at most this many, up to 500", { default: "50" }),
  flag("--cursor <cursor>", "continue where the page before ended"),
  ownFlag("--wide", "show all columns in full, whatever the width of the terminal"),
  ownFlag("--columns <names>", "show only these columns, separated by commas: headings, or members of the JSON answer"),
  ownFlag("--times <form>", "how times are shown", { choices: ["relative", "absolute"], default: "relative" }),
];

interface PageAnswer {
  data: Row[];
  next_cursor: string | null;
  searched_until?: string | null;
}

interface ListChoices {
  noun?: string;
  expendable?: readonly string[] | undefined;
  /** Adds members that the gateway's answer does not have. */
  complete?: (rows: readonly Row[]) => Promise<readonly Row[]>;
}

/** `/api/v1/dead-letters` lists dead letters. */
function nounOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replaceAll("-", " ");
}

/** Prints a table, or with `--json` one page as the gateway sent it. */
export async function printList(
  client: ApiClient,
  path: string,
  { query, flags }: Pick<Call, "query" | "flags">,
  columns: readonly Field[],
  { noun = nounOf(path), expendable, complete }: ListChoices = {},
): Promise<void> {
  const answer = await client.get(path, query);
  if (flags.json === true) return print(answer.text);
  const first = answer.read() as PageAnswer;
  const { data: found, next_cursor: next } = await readOn(client, path, query, first);
  if (found.length === 0) return note(`no ${noun} found`);
  const data = (await complete?.(found)) ?? found;
  printRows(chooseColumns(flags["columns"], columns, data), data, {
    isWide: flags["wide"] === true,
    isAbsolute: flags["times"] === "absolute",
    expendable,
  });
  if (next !== null) note(`there are more: to continue, add --cursor ${next}`);
}

/** A search returns a short page when its time is up: read on until the page is full. */
async function readOn(client: ApiClient, path: string, query: Call["query"], first: PageAnswer): Promise<PageAnswer> {
  const limit = Number(query["limit"]);
  let page = first;
  const data = [...first.data];
  while (page.next_cursor !== null && data.length < limit) {
    showSearchedUntil(page.searched_until ?? null);
    const more = { ...query, limit: limit - data.length, cursor: page.next_cursor };
    page = (await client.get(path, more)).read() as PageAnswer;
    data.push(...page.data);
  }
  if (page !== first) showSearchedUntil(null);
  return { data, next_cursor: page.next_cursor };
}

/** `--columns name,status,created_at`: a name that is not a heading is a member of the answer. */
function chooseColumns(given: unknown, columns: readonly Field[], rows: readonly Row[]): readonly Field[] {
  if (typeof given !== "string") return columns;
  const members = Object.keys(rows[0] ?? {});
  return given.split(",").map((text): Field => {
    const name = text.trim();
    const known = columns.find(([heading]) => heading.toLowerCase() === name.toLowerCase());
    if (known !== undefined) return known;
    if (!members.includes(name)) {
      const headings = columns.map(([heading]) => heading.toLowerCase());
      const all = [...new Set([...headings, ...members])];
      throw usageFailure(
        `--columns: "${name}" is unknown${suggestName(name, all) || "."} Choose from ${all.join(", ")}.`,
      );
    }
    const [heading, ...rest] = byName(name);
    return [heading.toUpperCase(), ...rest];
  });
}
