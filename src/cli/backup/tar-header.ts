/** One file's header in a POSIX ustar archive: 512 bytes with numbers in octal. */
export interface TarHeader {
  name: string;
  bytes: number;
  mode: number;
  /** Seconds since 1970. */
  modifiedAtS: number;
}

export const TAR_BLOCK_BYTES = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
const SIZE = { at: 124, length: 12 };
const CHECKSUM = { at: 148, length: 8 };
const TYPE_AT = 156;
const MAGIC = { at: 257, length: 6 };
const PREFIX_AT = 345;
/** Beyond it a size is written as a binary number, as GNU tar does. */
const MAX_OCTAL_BYTES = 8 ** 11 - 1;
const BINARY_MARK = 0x80;

/** Undefined when the name does not fit. */
export function encodeTarHeader({ name, bytes, mode, modifiedAtS }: TarHeader): Buffer | undefined {
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  const split = splitName(name);
  if (split === undefined) return undefined;
  block.write(split.name, 0, "utf8");
  block.write(split.prefix, PREFIX_AT, "utf8");
  writeOctal(block, mode, 100, 8);
  writeOctal(block, 0, 108, 8);
  writeOctal(block, 0, 116, 8);
  if (bytes <= MAX_OCTAL_BYTES) writeOctal(block, bytes, SIZE.at, SIZE.length);
  else {
    block[SIZE.at] = BINARY_MARK;
    block.writeBigUInt64BE(BigInt(bytes), SIZE.at + 4);
  }
  writeOctal(block, modifiedAtS, 136, 12);
  block.write("0", TYPE_AT, "latin1");
  block.write("ustar\u000000", MAGIC.at, "latin1");
  block.write(`${sum(block).toString(8).padStart(6, "0")}\0 `, CHECKSUM.at, "latin1");
  return block;
}

/** `end` for a block of zeros; a text says what is wrong. */
export function decodeTarHeader(block: Buffer): TarHeader | "end" | { problem: string } {
  if (block.every((byte) => byte === 0)) return "end";
  if (block.toString("latin1", MAGIC.at, MAGIC.at + 5) !== "ustar") return { problem: "it is no tar archive" };
  if (readOctal(block, CHECKSUM.at, CHECKSUM.length) !== sum(block)) return { problem: "a header is damaged" };
  const prefix = readText(block, PREFIX_AT, PREFIX_BYTES);
  const name = (prefix === "" ? "" : `${prefix}/`) + readText(block, 0, NAME_BYTES);
  const type = block[TYPE_AT];
  if (type !== 0x30 && type !== 0) return { problem: `${JSON.stringify(name)} is not a plain file` };
  const isBinary = ((block[SIZE.at] ?? 0) & BINARY_MARK) !== 0;
  const bytes = isBinary ? Number(block.readBigUInt64BE(SIZE.at + 4)) : readOctal(block, SIZE.at, SIZE.length);
  if (!Number.isSafeInteger(bytes)) return { problem: `the size of ${JSON.stringify(name)} cannot be read` };
  return { name, bytes, mode: readOctal(block, 100, 8), modifiedAtS: readOctal(block, 136, 12) };
}

/** Zeros that fill the last block of a file. */
export function countPadding(bytes: number): number {
  return (TAR_BLOCK_BYTES - (bytes % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}

function splitName(name: string): { name: string; prefix: string } | undefined {
  if (Buffer.byteLength(name) <= NAME_BYTES) return { name, prefix: "" };
  for (let slash = name.indexOf("/"); slash >= 0; slash = name.indexOf("/", slash + 1)) {
    const [prefix, rest] = [name.slice(0, slash), name.slice(slash + 1)];
    if (Buffer.byteLength(prefix) > PREFIX_BYTES) return undefined;
    if (Buffer.byteLength(rest) <= NAME_BYTES) return { name: rest, prefix };
  }
  return undefined;
}

/** The checksum counts its own field as spaces. */
function sum(block: Buffer): number {
  let total = 0;
  for (const [at, byte] of block.entries()) {
    const isOwnField = at >= CHECKSUM.at && at < CHECKSUM.at + CHECKSUM.length;
    total += isOwnField ? 0x20 : byte;
  }
  return total;
}

function writeOctal(block: Buffer, value: number, at: number, length: number): void {
  block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
}

/** NaN when it is no octal number. */
function readOctal(block: Buffer, at: number, length: number): number {
  const text = readText(block, at, length).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function readText(block: Buffer, at: number, length: number): string {
  const end = block.subarray(at, at + length).indexOf(0);
  return block.toString("utf8", at, end < 0 ? at + length : at + end);
}
