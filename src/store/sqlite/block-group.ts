/**
 * The rows of consecutive blocks packed into one value, so that a search over millions of events reads only hundreds of
 * rows.
 */

/** The data of one block for one segment. */
export interface BlockRow {
  block: number;
  minReceivedAt: number;
  maxReceivedAt: number;
  hasAllLabels: number;
  filter: Uint8Array;
}

/** Databases depend on it: never change it. */
export const GROUP_BLOCKS = 16;

const HEADER_BYTES = 21;

export function groupOf(block: number): number {
  return Math.floor(block / GROUP_BLOCKS);
}

/** All blocks of a group, in order. */
export function packGroup(rows: readonly BlockRow[]): Uint8Array {
  const bytes = rows.reduce((sum, { filter }) => sum + filter.length, rows.length * HEADER_BYTES);
  const packed = new Uint8Array(bytes);
  const view = new DataView(packed.buffer);
  let end = rows.length * HEADER_BYTES;
  rows.forEach(({ minReceivedAt, maxReceivedAt, hasAllLabels, filter }, i) => {
    const at = i * HEADER_BYTES;
    view.setFloat64(at, minReceivedAt);
    view.setFloat64(at + 8, maxReceivedAt);
    view.setUint8(at + 16, hasAllLabels);
    packed.set(filter, end);
    end += filter.length;
    view.setUint32(at + 17, end);
  });
  return packed;
}

/** The highest block first, none above `from`. */
export function unpackGroup(packed: Uint8Array, group: number, from: number): BlockRow[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  const first = group * GROUP_BLOCKS;
  const rows: BlockRow[] = [];
  for (let i = from - first; i >= 0; i--) {
    const at = i * HEADER_BYTES;
    const start = i === 0 ? GROUP_BLOCKS * HEADER_BYTES : view.getUint32(at - HEADER_BYTES + 17);
    rows.push({
      block: first + i,
      minReceivedAt: view.getFloat64(at),
      maxReceivedAt: view.getFloat64(at + 8),
      hasAllLabels: view.getUint8(at + 16),
      filter: packed.subarray(start, view.getUint32(at + 17)),
    });
  }
  return rows;
}
