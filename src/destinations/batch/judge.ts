import { failed, refused, type Outcome, tooLarge } from "../../model/outcome.ts";
import { classify, type RetryOn } from "../classify-answer.ts";
import type { HttpResponse, HttpResult } from "../wire/http-client.ts";
import { findInsertFault } from "./clickhouse.ts";
import type { Verdict } from "./split.ts";

/** What an answer means for the rows that were posted. */
export type Judgement = Verdict & {
  outcome: Outcome;
  /** The reason that the destination gives. Kept apart from the error, because not everybody may see answers. */
  said?: string | undefined;
};

/**
 * These statuses concern the request and no row: with the right password, or once the table exists, the rows are
 * accepted.
 */
const ABOUT_THE_REQUEST: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 406, 407, 411, 421, 426, 431, 451]);
const TOO_LARGE = 413;
const MAX_QUOTED = 300;

export interface JudgeOptions {
  retryOn: RetryOn;
  isClickHouse: boolean;
  rowCount: number;
  wall: () => number;
}

export function judge(result: HttpResult, { retryOn, isClickHouse, rowCount, wall }: JudgeOptions): Judgement {
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
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, 4 * MAX_QUOTED)).toString("utf8");
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\ufffd\s]+/gu, " ").trim();
  return line === "" ? undefined : line.slice(0, MAX_QUOTED);
}
