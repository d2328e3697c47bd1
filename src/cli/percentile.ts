/** The smallest value that is at least as large as `share` of all values; NaN when there are none. */
export function percentileOf(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1));
  return sorted[place] ?? Number.NaN;
}

/** `0.31 ms`, `12.4 ms`, `1.2 s`. */
export function formatMs(ms: number): string {
  if (Number.isNaN(ms)) return "-";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms >= 10 ? 1 : ms >= 0.1 ? 2 : 3)} ms`;
}
