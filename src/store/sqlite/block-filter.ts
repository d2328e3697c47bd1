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

/** What an event is filed under; a search asks for the same. */
export const keyOf = {
  type: (type: string) => `t:${type}`,
  /** Leading words of the type, for patterns. */
  words: (words: string) => `w:${words}`,
  source: (source: string) => `s:${source}`,
  tenant: (tenantId: string) => `n:${tenantId}`,
  /** Both at once, because tenants ask for their own only. */
  typeOfTenant: (tenantId: string, type: string) => `b:${type}:${tenantId}`,
  givenId: (id: string) => `i:${id}`,
  idStart: (id: string) => `p:${idStart(id)}`,
  orderingKey: (key: string) => `k:${key}`,
  label: (name: string) => `l:${name}`,
  labelValue: (name: string, value: string) => `v:${name}=${value}`,
  unmatched: "u",
};

export function idStart(id: string): string {
  return id.slice(0, ID_START_LENGTH);
}

/** None for a shorter beginning than is filed. */
export function keysOfIdPrefix(prefix: string): string[] {
  return prefix.length < ID_START_LENGTH ? [] : [keyOf.idStart(prefix)];
}

/** One for each segment. */
export function createBlockFilters(keys: Iterable<string>): Uint8Array[] {
  const bySegment = Array.from({ length: SEGMENTS }, (): FilterKey[] => []);
  for (const key of keys) {
    const hashed = toFilterKey(key);
    bySegment[hashed.segment]?.push(hashed);
  }
  return bySegment.map((hashed) => {
    const filter = new Uint8Array(Math.max(MIN_BYTES, Math.ceil((hashed.length * BITS_PER_KEY) / 8)));
    for (const { first, step } of hashed) {
      for (let i = 0; i < PROBES; i++) {
        const bit = bitAt(filter, first, step, i);
        filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
      }
    }
    return filter;
  });
}

export interface FilterKey {
  readonly segment: number;
  readonly first: number;
  readonly step: number;
}

/** Of the filter of the key's segment. */
export function mayHold(filter: Uint8Array, { first, step }: FilterKey): boolean {
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(filter, first, step, i);
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

function bitAt(filter: Uint8Array, first: number, step: number, i: number): number {
  return ((first + Math.imul(i, step)) >>> 0) % (filter.length * 8);
}

/** Two FNV-1a hashes of 32 bits, each stirred once more, because FNV leaves the high bits poor. */
export function toFilterKey(key: string): FilterKey {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  // An odd step does not fall into short cycles.
  return { segment: (stir(a ^ b) >>> 0) % SEGMENTS, first: stir(a), step: stir(b) | 1 };
}

function stir(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
