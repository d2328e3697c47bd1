/**
 * Bloom filters of everything by which the events of one block can be found. A filter may say "perhaps" without reason,
 * about once in 2,000 times; it never says "no" when there is a match.
 */

const BITS_PER_KEY = 16;
const PROBES = 8;
const MIN_BYTES = 16;
/** The number of filters of a block. Databases depend on it and on the hashes: never change them. */
export const SEGMENTS = 16;

/** The indexed length of an id's beginning: in generated ids, the time to about a second. */
const ID_START_LENGTH = 12;

/** The keys by which events are indexed and searched. The numbers are part of the hashes. */
const KINDS = {
  type: 1,
  /** Leading words of the type, for patterns. */
  words: 2,
  source: 3,
  tenant: 4,
  /** `TYPE:TENANT`, because a tenant's keys search only its own events. */
  typeOfTenant: 5,
  givenId: 6,
  idStart: 7,
  orderingKey: 8,
  label: 9,
  /** `NAME=VALUE`. */
  labelValue: 10,
  unmatched: 11,
} as const;

export interface FilterKey {
  readonly segment: number;
  readonly first: number;
  readonly step: number;
}

export function idStart(id: string): string {
  return id.slice(0, ID_START_LENGTH);
}

/** Undefined for a prefix shorter than the indexed length. */
export function keyOfIdPrefix(prefix: string): FilterKey | undefined {
  return prefix.length < ID_START_LENGTH ? undefined : toFilterKey("idStart", idStart(prefix));
}

/** Two 32-bit FNV-1a hashes, each mixed once more, because FNV distributes the high bits poorly. */
export function toFilterKey(kind: keyof typeof KINDS, text: string): FilterKey {
  let a = Math.imul(0x811c9dc5 ^ KINDS[kind], 0x01000193);
  let b = Math.imul(0x01000193 ^ KINDS[kind], 0x5bd1e995);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  // An odd step avoids short cycles.
  return { segment: stir(a ^ b) & (SEGMENTS - 1), first: stir(a), step: stir(b) | 1 };
}

function stir(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** One for each segment. */
export function createBlockFilters(keys: readonly FilterKey[]): Uint8Array[] {
  const counts = new Uint32Array(SEGMENTS);
  for (const { segment } of keys) counts[segment] = (counts[segment] as number) + 1;
  const filters = Array.from(
    counts,
    (count) => new Uint8Array(Math.max(MIN_BYTES, Math.ceil((count * BITS_PER_KEY) / 8))),
  );
  for (const { segment, first, step } of keys) {
    const filter = filters[segment] as Uint8Array;
    for (let i = 0; i < PROBES; i++) {
      const bit = bitAt(filter, first, step, i);
      filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7));
    }
  }
  return filters;
}

/** `filter`: the filter of the key's segment. */
export function mayHold(filter: Uint8Array, { first, step }: FilterKey): boolean {
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(filter, first, step, i);
    if (((filter[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/**
 * Limited to 31 bits: for larger numbers the remainder is computed with floating point, which takes ten times as long.
 */
function bitAt(filter: Uint8Array, first: number, step: number, i: number): number {
  return ((first + Math.imul(i, step)) & 0x7fffffff) % (filter.length * 8);
}
