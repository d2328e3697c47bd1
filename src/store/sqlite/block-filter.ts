/**
 * Bloom filters of everything that the events of one block can be found by. One may say "perhaps" where there is
 * nothing, once in about 2,000 times; it never says "no" where there is something.
 */

const BITS_PER_KEY = 16;
const PROBES = 8;
const MIN_BYTES = 16;
/** So many filters a block has. Written into databases, like the hashes: it cannot change. */
export const SEGMENTS = 16;

/** How much of an id stands for its beginning: in generated ids, the time to about a second. */
const ID_START_LENGTH = 12;

/** By what an event is filed; a search asks for the same. The numbers go into the hashes. */
const KINDS = {
  type: 1,
  /** Leading words of the type, for patterns. */
  words: 2,
  source: 3,
  tenant: 4,
  /** `TYPE:TENANT`, because tenants ask for their own only. */
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

/** Undefined for a shorter beginning than is filed. */
export function keyOfIdPrefix(prefix: string): FilterKey | undefined {
  return prefix.length < ID_START_LENGTH ? undefined : toFilterKey("idStart", idStart(prefix));
}

/** Two FNV-1a hashes of 32 bits, each stirred once more, because FNV leaves the high bits poor. */
export function toFilterKey(kind: keyof typeof KINDS, text: string): FilterKey {
  let a = Math.imul(0x811c9dc5 ^ KINDS[kind], 0x01000193);
  let b = Math.imul(0x01000193 ^ KINDS[kind], 0x5bd1e995);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  // An odd step does not fall into short cycles.
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

/** Of the filter of the key's segment. */
export function mayHold(filter: Uint8Array, { first, step }: FilterKey): boolean {
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(filter, first, step, i);
    if (((filter[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Of 31 bits: a remainder of more is reckoned with fractions, which takes ten times as long. */
function bitAt(filter: Uint8Array, first: number, step: number, i: number): number {
  return ((first + Math.imul(i, step)) & 0x7fffffff) % (filter.length * 8);
}
