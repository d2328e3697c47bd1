import { readFileSync } from "node:fs";

const HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;

/**
 * How many transactions SQLite's log of `file` holds. Each of them was one fsync: only the last frame of a transaction
 * says how large the database is after it (https://sqlite.org/fileformat2.html#the_write_ahead_log). A log that was
 * begun anew since has forgotten earlier ones.
 */
export function countCommits(file: string): number {
  const log = readFileSync(`${file}-wal`);
  if (log.length < HEAD_BYTES) return 0;
  const frameBytes = FRAME_HEAD_BYTES + log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  let commits = 0;
  for (let at = HEAD_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // What follows is left from a log before this one.
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    if (log.readUInt32BE(at + 4) > 0) commits++;
  }
  return commits;
}
