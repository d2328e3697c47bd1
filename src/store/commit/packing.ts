/** A compact binary form: structured clone of a batch of objects costs several times what writing it here costs. */

const ABSENT = 0xffffffff;
/** Where the texts begin stands first. */
const HEAD_BYTES = 4;

export interface Packer {
  byte(value: number): void;
  uint(value: number): void;
  /** Any number; `undefined` survives. */
  float(value: number | undefined): void;
  text(value: string | undefined): void;
  bytes(value: Uint8Array | undefined): void;
  finish(): ArrayBuffer;
}

export function createPacker(expectedBytes: number): Packer {
  let buffer = Buffer.from(new ArrayBuffer(Math.max(1024, expectedBytes)));
  let position = HEAD_BYTES;
  // All texts are written, and read, as one: the call costs more than the bytes, and a batch has hundreds of them.
  let texts = "";

  function reserve(bytes: number): void {
    if (position + bytes <= buffer.length) return;
    const larger = Buffer.from(new ArrayBuffer(Math.max(buffer.length * 2, position + bytes)));
    buffer.copy(larger, 0, 0, position);
    buffer = larger;
  }

  function uint(value: number): void {
    reserve(4);
    position = buffer.writeUInt32LE(value, position);
  }

  return {
    byte(value) {
      reserve(1);
      buffer[position++] = value;
    },
    uint,
    float(value) {
      reserve(8);
      position = buffer.writeDoubleLE(value ?? Number.NaN, position);
    },
    text(value) {
      if (value === undefined) return uint(ABSENT);
      uint(value.length);
      texts += value;
    },
    bytes(value) {
      if (value === undefined) return uint(ABSENT);
      uint(value.length);
      reserve(value.length);
      buffer.set(value, position);
      position += value.length;
    },
    finish() {
      buffer.writeUInt32LE(position, 0);
      // UTF-8 takes at most three bytes for each of a string's units.
      reserve(texts.length * 3);
      return buffer.buffer.slice(0, position + buffer.write(texts, position, "utf8"));
    },
  };
}

export interface Unpacker {
  byte(): number;
  uint(): number;
  float(): number | undefined;
  text(): string | undefined;
  bytes(): Uint8Array | undefined;
}

/** What it returns as bytes are views on `packed`, not copies. */
export function createUnpacker(packed: ArrayBuffer): Unpacker {
  const buffer = Buffer.from(packed);
  const texts = buffer.toString("utf8", buffer.readUInt32LE(0));
  let position = HEAD_BYTES;
  let textPosition = 0;

  function uint(): number {
    const value = buffer.readUInt32LE(position);
    position += 4;
    return value;
  }

  return {
    byte: () => buffer[position++] ?? 0,
    uint,
    float() {
      const value = buffer.readDoubleLE(position);
      position += 8;
      return Number.isNaN(value) ? undefined : value;
    },
    text() {
      const length = uint();
      if (length === ABSENT) return undefined;
      textPosition += length;
      return texts.slice(textPosition - length, textPosition);
    },
    bytes() {
      const length = uint();
      if (length === ABSENT) return undefined;
      position += length;
      return buffer.subarray(position - length, position);
    },
  };
}

/** For a field that is always there. */
export function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a packed field is missing");
  return value;
}
