export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** `sorted` ascending; the smallest value that is not below `share` of all. */
function percentile(sorted, share) {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))];
}

/** Of a list of microseconds, in milliseconds. */
export function describeLatencies(us) {
  const sorted = Float64Array.from(us).sort();
  const ms = (share) => percentile(sorted, share) / 1000;
  return { count: sorted.length, p50Ms: ms(0.5), p99Ms: ms(0.99), p999Ms: ms(0.999), maxMs: ms(1) };
}
