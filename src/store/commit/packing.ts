/** A compact binary form for batches: a structured clone of the objects costs several times as much. */

const ABSENT = 0xffffffff;
const SAME = 0xfffffffe;
/** The header: where the texts begin and end. */
const HEAD_BYTES = 8;

/**
 * Carries values across, one after the other: on one side it packs the values that it is given, on the other it is given
 * none and unpacks them in the same order. So one function lists the fields of an object for both sides.
 */
export interface Carrier {
  uint(value: number | undefined): number;
  /** Any number, and also `undefined`. */
  float<Value extends number | undefined>(value: Value): Value;
  flag(value: boolean | undefined): boolean;
  /** One of a list, by its place there. */
  among<Value extends string, Given extends Value | undefined>(list: readonly Value[], value: Given): Given;
  text<Value extends string | undefined>(value: Value): Value;
  /** For a text that often equals an earlier one. */
  repeated<Value extends string | undefined>(value: Value, before: Value): Value;
  bytes<Value extends Uint8Array | undefined>(value: Value): Value;
}

/** How an object is carried across; `before` is the one that was carried before it. */
export type Carry<Item> = (io: Carrier, item: Item, before: Item) => Item;

/** Stands for an object on the side that unpacks it, and before the first one. */
export const BLANK = Object.freeze({}) as never;

/** Undefined for no items: to transfer a buffer costs more than small contents. `bytesOf`: roughly, of one item. */
export function packAll<Item>(
  items: readonly Item[],
  carry: Carry<Item>,
  bytesOf: (item: Item) => number,
): ArrayBuffer | undefined {
  if (items.length === 0) return undefined;
  const packer = createPacker(items.reduce((sum, item) => sum + bytesOf(item), 0));
  carryAll(packer, items, carry);
  return packer.finish();
}

export function unpackAll<Item>(packed: ArrayBuffer | undefined, carry: Carry<Item>): Item[] {
  return packed === undefined ? [] : carryAll(createUnpacker(packed), undefined, carry);
}

export function carryAll<Item>(io: Carrier, items: readonly Item[] | undefined, carry: Carry<Item>): Item[] {
  const carried: Item[] = [];
  const length = io.uint(items?.length);
  let before: Item = BLANK;
  for (let i = 0; i < length; i++) {
    before = carry(io, items?.[i] ?? BLANK, before);
    carried.push(before);
  }
  return carried;
}

export function createPacker(expectedBytes: number) {
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

  function byte(value: number): void {
    reserve(1);
    view.setUint8(position, value);
    position += 1;
  }

  function uint(value = 0): number {
    reserve(4);
    view.setUint32(position, value, true);
    position += 4;
    return value;
  }

  function text(value: string | undefined): string | undefined {
    uint(value?.length ?? ABSENT);
    if (value !== undefined) texts += value;
    return value;
  }

  return {
    uint,
    float(value: number | undefined) {
      reserve(8);
      view.setFloat64(position, value ?? Number.NaN, true);
      position += 8;
      return value;
    },
    flag(value = false) {
      byte(value ? 1 : 0);
      return value;
    },
    among(list: readonly string[], value: string | undefined) {
      byte(value === undefined ? list.length : list.indexOf(value));
      return value;
    },
    text,
    repeated(value: string | undefined, before: string | undefined) {
      if (value !== before) return text(value);
      uint(SAME);
      return value;
    },
    bytes(value: Uint8Array | undefined) {
      uint(value?.length ?? ABSENT);
      if (value === undefined) return undefined;
      reserve(value.length);
      buffer.set(value, position);
      position += value.length;
      return value;
    },
    finish() {
      reserve(Buffer.byteLength(texts, "utf8"));
      view.setUint32(0, position, true);
      view.setUint32(4, position + buffer.write(texts, position, "utf8"), true);
      return buffer.buffer;
    },
  } as Carrier & { finish(): ArrayBuffer };
}

/** Returned bytes are views on `packed`, not copies. */
export function createUnpacker(packed: ArrayBuffer) {
  const buffer = Buffer.from(packed);
  const view = new DataView(packed);
  const texts = buffer.toString("utf8", view.getUint32(0, true), view.getUint32(4, true));
  let position = HEAD_BYTES;
  let textPosition = 0;

  function byte(): number {
    position += 1;
    return view.getUint8(position - 1);
  }

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
    uint,
    float() {
      position += 8;
      const value = view.getFloat64(position - 8, true);
      return Number.isNaN(value) ? undefined : value;
    },
    flag: () => byte() === 1,
    among(list: readonly string[]) {
      const index = byte();
      if (index > list.length) throw new Error("a packed value is not in its list");
      return list[index];
    },
    text: () => read(uint()),
    repeated(_: string | undefined, before: string | undefined) {
      const length = uint();
      return length === SAME ? before : read(length);
    },
    bytes() {
      const length = uint();
      if (length === ABSENT) return undefined;
      position += length;
      return buffer.subarray(position - length, position);
    },
  } as Carrier;
}
