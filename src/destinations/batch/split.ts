import type { Outcome } from "../../model/outcome.ts";

/** A part of a batch: from `start` to `end`, without `end`. */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/**
 * The result of sending a part. `refused`: rejected because of its rows; `badRow` is the number of the bad row in the
 * part, from 0, if the destination names it. `stopped`: the reason holds for all rows, also for those not sent yet.
 */
export type Verdict =
  | { readonly verdict: "taken" | "stopped" }
  | { readonly verdict: "refused"; readonly badRow?: number | undefined };

export interface RowResult<Fact> {
  readonly outcome: Outcome;
  readonly fact: Fact;
}

export interface SplitOptions<Fact> {
  rowCount: number;
  /** The number of rows in the first parts. */
  pieceRows: number;
  /** The result for the rows behind a rejected row, when they must not be sent before it. */
  heldBehind?: RowResult<Fact> | undefined;
  /** Sends a part and reports its result. Parts are sent one at a time. */
  send(part: Part, done: (result: Verdict & RowResult<Fact>) => void): void;
  /** Called with a result for each row, and with the size of the part that was next when sending stopped. */
  done(results: readonly RowResult<Fact>[], stoppedAt: number | undefined): void;
}

/**
 * Sends a batch in order. A rejected part is sent again in smaller parts until each bad row is alone. A part is sent
 * after all parts before it have ended, so rows arrive in the order given.
 */
export function sendInParts<Fact>(options: SplitOptions<Fact>): void {
  const { rowCount, pieceRows, heldBehind, send, done } = options;
  const results: (RowResult<Fact> | undefined)[] = Array.from({ length: rowCount }, () => undefined);
  /** A stack: the next part is the last. */
  const waiting: Part[] = [];
  for (let end = rowCount; end > 0;) {
    const start = Math.floor((end - 1) / pieceRows) * pieceRows;
    waiting.push({ start, end });
    end = start;
  }

  const settle = ({ start, end }: Part, { outcome, fact }: RowResult<Fact>) => {
    for (let row = start; row < end; row++) results[row] = { outcome, fact };
  };

  function next(): void {
    const part = waiting.pop();
    if (part === undefined) return done(results as RowResult<Fact>[], undefined);
    send(part, (result) => {
      if (result.verdict === "stopped") {
        settle({ start: part.start, end: rowCount }, result);
        return done(results as RowResult<Fact>[], part.end - part.start);
      }
      if (result.verdict === "refused" && part.end - part.start > 1) waiting.push(...cut(part, result.badRow));
      else {
        settle(part, result);
        if (result.verdict === "refused" && heldBehind !== undefined) {
          settle({ start: part.end, end: rowCount }, heldBehind);
          return done(results as RowResult<Fact>[], undefined);
        }
      }
      next();
    });
  }
  next();
}

/** Splits around the bad row, or in the middle when it is not known. The parts are in reverse order. */
function cut({ start, end }: Part, badRow: number | undefined): Part[] {
  const bad = badRow === undefined ? undefined : start + badRow;
  if (bad === undefined || bad < start || bad >= end) {
    const middle = Math.ceil((start + end) / 2);
    return [
      { start: middle, end },
      { start, end: middle },
    ];
  }
  const parts = [
    { start: bad + 1, end },
    { start: bad, end: bad + 1 },
    { start, end: bad },
  ];
  return parts.filter((part) => part.start < part.end);
}
