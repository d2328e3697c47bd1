/** A compact binary form for batches: a structured clone of the objects costs several times as much. */

const ABSENT = 0xffffffff;
const SAME = 0xfffffffe;
/** The header: where the texts begin and end. */
const HEAD_BYTES = 8;

export interface Packer {
  byte(value: number): void;
  uint(value: number): void;
  /** Any number, and also `undefined`. */
  float(value: number | undefined): void;
  text(value: string | undefined): void;
  /** For a text that often equals an earlier one. */
  repeated(value: string | undefined, before: string | undefined): void;
  bytes(value: Uint8Array | undefined): void;
  finish(): ArrayBuffer;
}

export function createPacker(expectedBytes: number): Packer {
  let buffer = Buffer.from(new ArrayBuffer(Math.max(1024, expectedBytes)));
  // A DataView, because its methods compile to single instructions; those of a Buffer do not.
  let view = new DataView(buffer.buffer);
  let position = HEAD_BYTES;
  // All texts are written and read as one string: a call costs more than the bytes, and a batch has hundreds of texts.
  let texts = "";

  function reserve(bytes: number): void {
    if (position + bytes <= buffer.length) return;
    const larger = Buffer.from(new ArrayBuffer(Math.max(buffer.length * 2, position + bytes)));
    buffer.copy(larger, 0, 0, position);
    buffer = larger;
    view = new DataView(buffer.buffer);
  }

  function uint(value: number): void {
    reserve(4);
    view.setUint32(position, value, true);
    position += 4;
  }

  function text(value: string | undefined): void {
    if (value === undefined) return uint(ABSENT);
    uint(value.length);
    texts += value;
  }

  return {
    byte(value) {
      reserve(1);
      view.setUint8(position, value);
      position += 1;
    },
    uint,
    float(value) {
      reserve(8);
      view.setFloat64(position, value ?? Number.NaN, true);
      position += 8;
    },
    text,
    repeated(value, before) {
      if (value === before) uint(SAME);
      else text(value);
    },
    bytes(value) {
      if (value === undefined) return uint(ABSENT);
      uint(value.length);
      reserve(value.length);
      buffer.set(value, position);
      position += value.length;
    },
    finish() {
      reserve(Buffer.byteLength(texts, "utf8"));
      view.setUint32(0, position, true);
      view.setUint32(4, position + buffer.write(texts, position, "utf8"), true);
      return buffer.buffer;
    },
  };
}

export interface Unpacker {
  byte(): number;
  uint(): number;
  float(): number | undefined;
  text(): string | undefined;
  repeated(before: string | undefined): string | undefined;
  bytes(): Uint8Array | undefined;
}

/** Returned bytes are views on `packed`, not copies. */
export function createUnpacker(packed: ArrayBuffer): Unpacker {
  const buffer = Buffer.from(packed);
  const view = new DataView(packed);
  const texts = buffer.toString("utf8", view.getUint32(0, true), view.getUint32(4, true));
  let position = HEAD_BYTES;
  let textPosition = 0;

  function uint(): number {
    position += 4;
    return view.getUint32(position - 4, true);
  }

  function read(length: number): string | undefined {
    if (length === ABSENT) return undefined;
    textPosition += length;
    return texts.slice(textPosition - length, textPosition);
  }

  return {
    byte() {
      position += 1;
      return view.getUint8(position - 1);
    },
    uint,
    float() {
      position += 8;
      const value = view.getFloat64(position - 8, true);
      return Number.isNaN(value) ? undefined : value;
    },
    text: () => read(uint()),
    repeated(before) {
      const length = uint();
      return length === SAME ? before : read(length);
    },
    bytes() {
      const length = uint();
      if (length === ABSENT) return undefined;
      position += length;
      return buffer.subarray(position - length, position);
    },
  };
}

/** For a field that must be present. */
export function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a packed field is missing");
  return value;
}
