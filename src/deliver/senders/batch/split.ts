import type { Outcome } from "../../../domain/outcome.ts";

/** A part of a batch: from `start` up to and without `end`. */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/**
 * What became of a part. `refused`: something about its rows; `badRow` is which of them, from 0 in the part, where the
 * destination says so. `stopped`: something that holds for all rows, also for those that were not sent yet.
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
  /** Rows that the first parts have. */
  pieceRows: number;
  /** Sends a part and says what became of it. Never called for two at once. */
  send(part: Part, done: (result: Verdict & RowResult<Fact>) => void): void;
  /** With a result for each row, and the size of the part that was to be sent when it stopped. */
  done(results: readonly RowResult<Fact>[], stoppedAt: number | undefined): void;
}

/**
 * Sends a batch in order, and a part that is refused in smaller ones, until each bad row is alone. A part is sent when
 * all before it have ended, so rows arrive in the order given.
 */
export function sendInParts<Fact>({ rowCount, pieceRows, send, done }: SplitOptions<Fact>): void {
  const results: (RowResult<Fact> | undefined)[] = Array.from({ length: rowCount }, () => undefined);
  /** The next one last. */
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
      else settle(part, result);
      next();
    });
  }
  next();
}

/** Around the row that is said to be bad, or in the middle. The last comes first. */
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
