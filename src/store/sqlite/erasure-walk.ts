/** Rows of a table that are looked at in one step: those of other tenants stand between them. */
export const MAX_SCANNED = 1000;

/** Of what one step overwrites, each byte of which goes through the write-ahead log. */
export const MAX_BYTES = 1024 * 1024;

export interface Walked {
  removed: number;
  afterSeq: number;
  isEnd: boolean;
}

export interface WalkedRow {
  seq: number;
  /** Whether it is the tenant's. */
  isOwn: number;
  size: number;
}

/** Removes the tenant's rows among the next ones of a table, of which there are fewer than asked for at its end. */
export function walkOn<Row extends WalkedRow>(
  next: readonly Row[],
  { afterSeq, maxRows }: { afterSeq: number; maxRows: number },
  remove: (row: Row) => void,
): Walked {
  let [removed, bytes, reached] = [0, 0, afterSeq];
  for (const row of next) {
    if (row.isOwn === 1) {
      const isFull = removed >= maxRows || bytes + row.size > MAX_BYTES;
      if (removed > 0 && isFull) return { removed, afterSeq: reached, isEnd: false };
      remove(row);
      removed++;
      bytes += row.size;
    }
    reached = row.seq;
  }
  return { removed, afterSeq: reached, isEnd: next.length < MAX_SCANNED };
}
