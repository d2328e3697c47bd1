/** Rows of a table that are looked at in one step: those of other tenants stand between them. */
const MAX_SCANNED = 1000;

/** Read at once: few, since a step is often full after a few. */
export const PAGE_ROWS = 50;

/** Of what one step overwrites, each byte of which goes through the write-ahead log. */
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
  /** Whether it is the tenant's. */
  isOwn: number;
  size: number;
}

/** Where in a table a step goes on, and how many rows it may change. */
export interface WalkPlace {
  afterSeq: number;
  maxRows: number;
}

/** Goes over the rows of a table, `PAGE_ROWS` after a number at a time, until one is not taken: it is the next step's. */
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

/** Removes the tenant's rows among those that it goes over. */
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
