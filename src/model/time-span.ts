const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

/** Shorter times are said in hours. */
const MIN_DAYS = 2;

/** A time as people say it: `24 s`, `5 min 20 s`, `24 h 6 min`, `3 d 4 h`. The two largest units are enough. */
export function describeSpan(seconds: number): string {
  const at = UNITS.findIndex(([unit, size]) => seconds >= (unit === "d" ? MIN_DAYS * size : size));
  const [unit, size] = UNITS[at] ?? [];
  if (unit === undefined || size === undefined) return `${seconds} s`;
  const [smaller, smallerSize] = UNITS[at + 1] ?? ["s", 1];
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ""}`;
}
