import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import {
  findDamageIn,
  FRAME_HEADER_BYTES,
  HEADER_BYTES,
  isEqual,
  isLittle,
  storedIn,
  sum,
  type LogBytes,
  type LogDamage,
  type Sum,
} from "./check-log.ts";
import { syncDirectory } from "./data-dir.ts";

/**
 * One changed byte in a frame of the write-ahead log is put right: the two sums that SQLite keeps of each frame tell which
 * byte it was, and what it was. Where they leave a choice, nothing is guessed, unless the log has the page once more.
 */

/** A byte of the log, and what it has to be. */
interface Change {
  at: number;
  was: number;
  value: number;
}

/** More is not one changed byte here and there, but a disk that is failing. */
const MAX_CHANGES = 8;
const MAX_LOG_BYTES = 1 << 30;
/** Of the header's first word; it says in which order the bytes of a word are added. */
const LAST_OF_MAGIC = [0x82, 0x83];

/** Returns what was mended, or undefined when the log is left as it is. The log as it was stays beside it. */
export function mendLog(file: string, damage: LogDamage): string | undefined {
  const bytes = readFileSync(file);
  if (bytes.length > MAX_LOG_BYTES) return undefined;
  const log: LogBytes = { size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
  const changes: Change[] = [];
  for (let found: LogDamage | undefined = damage; found !== undefined; found = findDamageIn(log)) {
    const change: Change | undefined = changes.length < MAX_CHANGES ? findChange(bytes, log, found.frame) : undefined;
    if (change === undefined) return undefined;
    changes.push(change);
    bytes[change.at] = change.value;
  }
  const kept = keepCopy(file);
  writeChanges(file, changes);
  const said = changes.map(({ at, was, value }) => `byte ${at} was ${was} and is ${value} again`).join("; ");
  return `${file} was damaged and was mended by its checksums: ${said}. The damaged file is ${kept}`;
}

function findChange(bytes: Buffer, log: LogBytes, frame: number): Change | undefined {
  const candidates = frame === 0 ? listHeaderChanges(bytes) : listFrameChanges(bytes, frame);
  const reaches = candidates.map(({ at, was, value }) => {
    bytes[at] = value;
    const next = findDamageIn(log)?.frame ?? Number.POSITIVE_INFINITY;
    bytes[at] = was;
    return next;
  });
  // A sum that is changed to fit its frame breaks the next one, unless it was the sum that was damaged.
  const reach = Math.max(frame, ...reaches);
  const fitting = candidates.filter((_, index) => reach > frame && reaches[index] === reach);
  if (fitting.length > 1 && !isWrittenAgain(bytes, frame, fitting)) return undefined;
  return fitting[0];
}

function listHeaderChanges(bytes: Buffer): Change[] {
  const header = [...bytes.subarray(0, HEADER_BYTES).keys()];
  const magic = bytes[3] as number;
  // The byte that says in which order the sums are made may be the one that was damaged.
  return LAST_OF_MAGIC.flatMap((value) => {
    bytes[3] = value;
    const changes = listChanges(bytes, header, [0, 0]);
    const isSound = isEqual(
      sum(bytes.subarray(0, HEADER_BYTES - 8), [0, 0], isLittle(bytes)),
      storedIn(bytes, HEADER_BYTES - 8),
    );
    bytes[3] = magic;
    if (value === magic) return changes;
    return isSound ? [{ at: 3, was: magic, value }] : [];
  });
}

function listFrameChanges(bytes: Buffer, number: number): Change[] {
  const { start, end } = findFrame(bytes, number);
  const before = storedIn(bytes, number === 1 ? HEADER_BYTES - 8 : findFrame(bytes, number - 1).start + 16);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  const content = [...range(start, start + 8), ...range(start + FRAME_HEADER_BYTES, end)];
  const changes = listChanges(bytes, [...content, ...range(start + 16, start + FRAME_HEADER_BYTES)], before);
  const salts = listDifferences(range(start + 8, start + 16), bytes, bytes.subarray(16, 24));
  return salts.length === 1 ? [...changes, ...salts] : changes;
}

/** The changes of one byte that make content and sum agree. `places`: of the content, and then of the eight bytes of the sum. */
function listChanges(bytes: Buffer, places: readonly number[], before: Sum): Change[] {
  const isLittleEndian = isLittle(bytes);
  const [contentAt, sumAt] = [places.slice(0, -8), places.slice(-8)];
  const computed = sum(Buffer.from(contentAt.map((at) => bytes[at] as number)), before, isLittleEndian);
  const stored = storedIn(bytes, sumAt[0] as number);
  const inSum = listDifferences(sumAt, bytes, toBytes(computed));
  const changes = inSum.length === 1 ? inSum : [];
  const [first, second] = [(stored[0] - computed[0]) | 0, (stored[1] - computed[1]) | 0];
  // How much both sums grow when a word grows by one: more, the earlier it stands. Even and odd words count differently.
  let growths: [Sum, Sum] = [
    [1, 1],
    [0, 1],
  ];
  for (let pair = contentAt.length - 8; pair >= 0; pair -= 8) {
    for (let index = pair; index < pair + 8; index++) {
      const growth = growths[index < pair + 4 ? 0 : 1];
      const at = contentAt[index] as number;
      const was = bytes[at] as number;
      const shift = 8 * (isLittleEndian ? index % 4 : 3 - (index % 4));
      for (let value = 0; value < 256; value++) {
        const by = (value - was) << shift;
        const fits = Math.imul(by, growth[0]) === first && Math.imul(by, growth[1]) === second;
        if (fits && value !== was) changes.push({ at, was, value });
      }
    }
    growths = [carry(growths[0]), carry(growths[1])];
  }
  return changes;
}

/** What one pair of words more behind makes of a difference. */
function carry([a, b]: Sum): Sum {
  const next = (a + b) | 0;
  return [next, (b + next) | 0];
}

function toBytes([first, second]: Sum): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(first, 0);
  bytes.writeUInt32BE(second, 4);
  return bytes;
}

function listDifferences(places: readonly number[], bytes: Buffer, wanted: Buffer): Change[] {
  return places
    .map((at, index) => ({ at, was: bytes[at] as number, value: wanted[index] as number }))
    .filter(({ was, value }) => was !== value);
}

/** Whether a later transaction wrote the same page: then nobody reads it here, and any change that fits will do. */
function isWrittenAgain(bytes: Buffer, number: number, changes: readonly Change[]): boolean {
  const { start, end } = findFrame(bytes, number);
  if (number === 0 || changes.some(({ at }) => at < start + FRAME_HEADER_BYTES || at >= end)) return false;
  const page = bytes.readUInt32BE(start);
  let isAgain = false;
  for (let next = number + 1; findFrame(bytes, next).end <= bytes.length; next++) {
    const { start: other } = findFrame(bytes, next);
    if (!bytes.subarray(other + 8, other + 16).equals(bytes.subarray(16, 24))) return false;
    isAgain ||= bytes.readUInt32BE(other) === page;
    const isCommit = bytes.readUInt32BE(other + 4) !== 0;
    if (isAgain && isCommit) return true;
  }
  return false;
}

function findFrame(bytes: Buffer, number: number): { start: number; end: number } {
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
  const end = HEADER_BYTES + number * frameBytes;
  return { start: end - frameBytes, end };
}

function keepCopy(file: string): string {
  let number = 1;
  while (existsSync(`${file}.damaged-${number}`)) number++;
  const kept = `${file}.damaged-${number}`;
  writeFileSync(kept, readFileSync(file), { mode: 0o600, flush: true });
  syncDirectory(dirname(file));
  return kept;
}

function writeChanges(file: string, changes: readonly Change[]): void {
  const handle = openSync(file, "r+");
  try {
    for (const { at, value } of changes) writeSync(handle, Buffer.from([value]), 0, 1, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
