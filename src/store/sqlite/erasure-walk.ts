/** The maximum number of rows that one step examines, including those of other tenants. */
const MAX_SCANNED = 1000;

/** Rows read at once; few, because a step is often full after a few. */
export const PAGE_ROWS = 50;

/** The maximum number of bytes that one step overwrites; each of them goes through the write-ahead log. */
export const MAX_BYTES = 1024 * 1024;

export interface Scanned {
  afterSeq: number;
  isEnd: boolean;
}

export interface Walked extends Scanned {
  removed: number;
}

export interface WalkedRow {
  seq: number;
  /** Whether the row belongs to the tenant. */
  isOwn: number;
  size: number;
}

/** Where a step continues in a table, and how many rows it may change. */
export interface WalkPlace {
  afterSeq: number;
  maxRows: number;
}

/** Goes through the rows of a table in pages, until `take` rejects a row; the next step begins with that row. */
export function scan<Row extends { seq: number }>(
  select: (afterSeq: number) => readonly Row[],
  afterSeq: number,
  take: (row: Row) => boolean,
): Scanned {
  let reached = afterSeq;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE_ROWS) {
    const page = select(reached);
    for (const row of page) {
      if (!take(row)) return { afterSeq: reached, isEnd: false };
      reached = row.seq;
    }
    if (page.length < PAGE_ROWS) return { afterSeq: reached, isEnd: true };
  }
  return { afterSeq: reached, isEnd: false };
}

/** Removes the tenant's rows among those it passes. */
export function walkOn<Row extends WalkedRow>(
  select: (afterSeq: number) => readonly Row[],
  { afterSeq, maxRows }: WalkPlace,
  remove: (row: Row) => void,
): Walked {
  let [removed, bytes] = [0, 0];
  const scanned = scan(select, afterSeq, (row) => {
    if (row.isOwn !== 1) return true;
    if (removed > 0 && (removed >= maxRows || bytes + row.size > MAX_BYTES)) return false;
    remove(row);
    removed++;
    bytes += row.size;
    return true;
  });
  return { ...scanned, removed };
}
