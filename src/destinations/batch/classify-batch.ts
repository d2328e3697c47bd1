import { failed, refused, type Outcome, tooLarge } from "../../model/outcome.ts";
import { classify, type RetryOn } from "../classify-answer.ts";
import { viewOf } from "../json.ts";
import type { HttpResponse, HttpResult } from "../wire/http.ts";
import type { Verdict } from "./split.ts";
import type { PostedTo } from "./settings.ts";

/** What an answer means for the rows that were posted. */
export type BatchResult = Verdict & {
  outcome: Outcome;
  /** The reason that the destination gives. Kept apart from the error, because not everybody may see answers. */
  said?: string | undefined;
};

/** These concern the request and no row: with the right password, or once the table exists, rows are accepted. */
const ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 406, 407, 411, 421, 426, 431, 451]);
const TOO_LARGE = 413;
const MAX_QUOTED = 300;

interface BatchFacts {
  retryOn: RetryOn;
  isClickHouse: boolean;
  rowCount: number;
  wall: () => number;
}

export function classifyBatch(result: HttpResult, { retryOn, isClickHouse, rowCount, wall }: BatchFacts): BatchResult {
  const outcome = classify(result, retryOn, wall);
  if (result.kind !== "response") return { verdict: "stopped", outcome };
  const fault = isClickHouse ? findInsertFault(result) : undefined;
  if (outcome.kind === "delivered" && fault === undefined) return { verdict: "taken", outcome };
  const error = outcome.error ?? `answered ${result.status} with an exception`;
  const said = quote(result);
  if (fault?.isAboutRow === true) {
    return { verdict: "refused", badRow: fault.row, outcome: refused(error), said };
  }
  if (outcome.kind === "delivered") return { verdict: "stopped", outcome: failed(error), said };
  if (outcome.kind !== "refused" || result.status < 400 || result.status >= 500) {
    return { verdict: "stopped", outcome, said };
  }
  if (ABOUT_THE_REQUEST.has(result.status)) return { verdict: "stopped", outcome: failed(error), said };
  if (result.status === TOO_LARGE && rowCount === 1) return { verdict: "refused", outcome: tooLarge(error), said };
  return { verdict: "refused", outcome, said };
}

function quote({ body }: HttpResponse): string | undefined {
  const text = viewOf(body).toString("utf8", 0, 4 * MAX_QUOTED);
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\ufffd\s]+/gu, " ").trim();
  return line === "" ? undefined : line.slice(0, MAX_QUOTED);
}

/** An INSERT through ClickHouse's HTTP interface: the query is in the URL, the rows are in the body. */

/** Rows may have more members than the table has columns, and contain times in ISO 8601. */
const USUAL_SETTINGS = { input_format_skip_unknown_fields: "1", date_time_input_format: "best_effort" };

/** `batchId`: lets ClickHouse recognise a batch that it has already accepted. */
export function buildInsertUrl(url: string, insert: NonNullable<PostedTo["insert"]>, batchId: string): string {
  const target = new URL(url);
  const table = insert.table
    .split(".")
    .map((name) => `\`${name}\``)
    .join(".");
  const settings: Record<string, string> = { ...USUAL_SETTINGS, ...insert.settings };
  // Without this, accepted rows could be lost before they are written.
  if (Number(settings["async_insert"] ?? 0) !== 0) settings["wait_for_async_insert"] = "1";
  for (const [name, value] of Object.entries(settings)) target.searchParams.set(name, value);
  target.searchParams.set("insert_deduplication_token", batchId);
  target.searchParams.set("query", `INSERT INTO ${table} FORMAT JSONEachRow`);
  return target.href;
}

/** Exception codes that concern a row, whatever the status of the answer: most come with 400, some with 500. */
const ABOUT_A_ROW: ReadonlySet<number> = new Set([
  6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 169, 321, 349, 376, 407, 441, 467, 469, 675, 676, 691,
]);

/**
 * Undefined when the answer contains no exception. An exception may even follow a status of 200. `isAboutRow`: it concerns
 * a row, and not the table, the user or the server; `row` is the number of the row, from 0.
 */
function findInsertFault({ headers, body }: HttpResponse) {
  const text = viewOf(body).toString("utf8");
  const code = Number(headers["x-clickhouse-exception-code"] ?? /\bCode: (\d{1,5})\. DB::Exception/.exec(text)?.[1]);
  if (!Number.isInteger(code) || code === 0) return undefined;
  const row = Number(/\(at row (\d{1,9})\)/.exec(text)?.[1]);
  return { isAboutRow: ABOUT_A_ROW.has(code), row: Number.isInteger(row) && row > 0 ? row - 1 : undefined };
}
