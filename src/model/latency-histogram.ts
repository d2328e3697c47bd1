/**
 * Durations in few bytes: counts in buckets, each 10 % wider than the one before. A quantile read from it is off by at
 * most 5 % between 1 ms and ten minutes; durations below 1 ms are not told apart.
 */
const GROWTH = 1.1;
const PER_LOG = 1 / Math.log(GROWTH);
const MAX_MS = 600_000;

/** The first bucket holds durations below 1 ms, the last one everything longer than all others. */
export const LATENCY_BUCKETS = 2 + Math.ceil(Math.log(MAX_MS) * PER_LOG);

/** The maximum relative error of a quantile. */
export const LATENCY_ERROR = 0.05;

export function bucketOf(ms: number): number {
  // NaN lands here too.
  if (!(ms >= 1)) return 0;
  const bucket = 1 + Math.floor(Math.log(ms) * PER_LOG);
  return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/** In ms. The last bucket has no limit. */
export function longestIn(bucket: number): number {
  return GROWTH ** bucket;
}

/** The geometric middle of a bucket. */
function valueOf(bucket: number): number {
  return bucket === 0 ? 0.5 : GROWTH ** (bucket - 0.5);
}

export function createHistogram(): Float64Array {
  return new Float64Array(LATENCY_BUCKETS);
}

/** The nearest-rank quantile: at least this share took no longer. Undefined when nothing was counted. */
export function quantileOf(histogram: Float64Array, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  const bucket = histogram.findIndex((count) => (seen += count) >= rank);
  return Number(valueOf(bucket).toPrecision(3));
}

/** The form for storage: only the buckets that are not empty, each as its number and its count (LEB128). */
export function packHistogram(counts: ArrayLike<number>, from = 0): Uint8Array {
  const bytes: number[] = [];
  for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
    let count = counts[from + bucket] as number;
    if (count === 0) continue;
    bytes.push(bucket);
    // By division, because shifts work on 32 bits only.
    for (; count >= 128; count = Math.floor(count / 128)) bytes.push((count % 128) + 128);
    bytes.push(count);
  }
  return Uint8Array.from(bytes);
}

/** Adds a packed histogram to this one. */
export function addPacked(histogram: Float64Array, packed: Uint8Array): void {
  for (let at = 0; at < packed.length;) {
    const bucket = packed[at++] as number;
    let count = 0;
    let scale = 1;
    for (let isLast = false; !isLast && at < packed.length; scale *= 128) {
      const byte = packed[at++] as number;
      count += (byte % 128) * scale;
      isLast = byte < 128;
    }
    if (bucket < LATENCY_BUCKETS) histogram[bucket] = (histogram[bucket] as number) + count;
  }
}
