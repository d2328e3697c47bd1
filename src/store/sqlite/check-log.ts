import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** SQLite takes a frame with a wrong checksum for the end of the log, and drops all from there on without a word. */
export interface LogDamage {
  /** The number of the frame, counted from 1; 0 is the header. */
  frame: number;
  offset: number;
  /** False for the last transaction: a power cut while it was written leaves the same, and it was not confirmed. */
  isCertain: boolean;
}

export function describeLogDamage(file: string, { frame, offset, isCertain }: LogDamage): string {
  const place = `${file} is damaged at byte ${offset} (${frame === 0 ? "its header" : `frame ${frame}`})`;
  return isCertain
    ? `${place}: what was written after it would be lost`
    : `${place}, in its last transaction, which was dropped: a power cut while it was written, or a fault of the disk`;
}

export const HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
const SECTOR_BYTES = 512;
const LITTLE_ENDIAN = 0x377f0682;
const BIG_ENDIAN = 0x377f0683;
const MAX_READS = 3;

/** Undefined when the log is sound, or there is none. It may be written to meanwhile. */
export function findLogDamage(file: string): LogDamage | undefined {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    for (let read = 1; ; read++) {
      const log = toLogBytes(handle);
      const salts = readSalts(log);
      const damage = findDamageIn(log);
      // When a writer begins the log again, frames of two logs are read.
      if (damage === undefined || read === MAX_READS || salts === readSalts(log)) return damage;
    }
  } finally {
    closeSync(handle);
  }
}

export type Sum = readonly [number, number];

interface Frame {
  salts: string;
  /** Set in the last frame of a transaction. */
  isCommit: boolean;
  stored: Sum;
  sumAfter(before: Sum): Sum;
}

/** A log on disk, or a copy of it in memory. */
export interface LogBytes {
  size: number;
  /** May return fewer bytes, at the end. */
  read(at: number, length: number): Buffer;
}

export function findDamageIn(log: LogBytes): LogDamage | undefined {
  const header = log.read(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return undefined;
  const pageBytes = header.readUInt32BE(8);
  const isSoundHeader =
    [LITTLE_ENDIAN, BIG_ENDIAN].includes(header.readUInt32BE(0)) &&
    isEqual(sum(header.subarray(0, HEADER_BYTES - 8), [0, 0], isLittle(header)), storedIn(header, HEADER_BYTES - 8));
  if (!isSoundHeader) return findHeaderDamage(log, header);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const frames = Math.floor((log.size - HEADER_BYTES) / frameBytes);
  const salts = header.toString("hex", 16, 24);
  let before = storedIn(header, HEADER_BYTES - 8);
  let bad: { frame: number; isCommitted: boolean } | undefined;
  let strangers = 0;
  let endsTransaction = false;
  for (let number = 1; number <= frames; number++) {
    const offset = HEADER_BYTES + (number - 1) * frameBytes;
    const frame = toFrame(log.read(offset, frameBytes), isLittle(header));
    const isOwn = frame.salts === salts;
    // Behind the end of the log lie frames of the log before it.
    strangers = isOwn ? 0 : strangers + 1;
    if (strangers > 1) break;
    const isSound = isOwn && isEqual(frame.sumAfter(before), frame.stored);
    before = frame.stored;
    if (bad !== undefined && isSound && endsTransaction) {
      // A frame of the next transaction: it is written only after the disk has confirmed the one before. A transaction that
      // a crash interrupted may lie here too, but it has no end, and nothing that continues it.
      return { frame: bad.frame, offset: HEADER_BYTES + (bad.frame - 1) * frameBytes, isCertain: true };
    }
    if (bad === undefined && !isSound) {
      endsTransaction = isOwn && frame.isCommit && isInOneSector(offset);
      bad = { frame: number, isCommitted: endsTransaction };
    } else {
      endsTransaction = isSound && frame.isCommit;
      if (bad !== undefined && endsTransaction) bad.isCommitted = true;
    }
  }
  if (bad === undefined || !bad.isCommitted) return undefined;
  return { frame: bad.frame, offset: HEADER_BYTES + (bad.frame - 1) * frameBytes, isCertain: false };
}

/** Frames that belong to a header which is not sound; a log that was begun again has other salts, both of them. */
function findHeaderDamage(log: LogBytes, header: Buffer): LogDamage | undefined {
  const salts = log.read(HEADER_BYTES + 8, 8);
  if (salts.length < 8) return undefined;
  const belongs = [0, 4].some((at) => salts.readUInt32BE(at) === header.readUInt32BE(16 + at));
  return belongs ? { frame: 0, offset: 0, isCertain: true } : undefined;
}

/** Whether a power cut leaves the mark of a commit and the salts of a frame both as they were, or both as written. */
function isInOneSector(offset: number): boolean {
  return Math.floor(offset / SECTOR_BYTES) === Math.floor((offset + FRAME_HEADER_BYTES - 1) / SECTOR_BYTES);
}

function toFrame(frame: Buffer, isLittleEndian: boolean): Frame {
  return {
    isCommit: frame.readUInt32BE(4) !== 0,
    salts: frame.toString("hex", 8, 16),
    stored: storedIn(frame, 16),
    sumAfter(before) {
      const first = sum(frame.subarray(0, 8), before, isLittleEndian);
      return sum(frame.subarray(FRAME_HEADER_BYTES), first, isLittleEndian);
    },
  };
}

function toLogBytes(handle: number): LogBytes {
  return {
    size: fstatSync(handle).size,
    read(at, length) {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(handle, bytes, 0, length, at));
    },
  };
}

function readSalts(log: LogBytes): string {
  return log.read(16, 8).toString("hex");
}

export function isLittle(header: Buffer): boolean {
  return header.readUInt32BE(0) === LITTLE_ENDIAN;
}

export function storedIn(bytes: Buffer, at: number): Sum {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

/** As https://www.sqlite.org/fileformat2.html#checksum_algorithm describes it. */
export function sum(bytes: Buffer, [first, second]: Sum, isLittleEndian: boolean): Sum {
  let [a, b] = [first | 0, second | 0];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + view.getInt32(at, isLittleEndian) + b) | 0;
    b = (b + view.getInt32(at + 4, isLittleEndian) + a) | 0;
  }
  return [a >>> 0, b >>> 0];
}

export function isEqual(one: Sum, other: Sum): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
