/** How long the attempts of a subscription take, whatever they come to. */
export interface AttemptTime {
  /** A moving average; undefined before the first. */
  averageMs: number | undefined;
}

/** What takes longer on average holds up others. */
export const PROMPT_MS = 500;
/** One that takes long among quick ones changes little, a few in a row much. */
const MAX_COUNTED_MS = 4 * PROMPT_MS;
const WEIGHT = 1 / 8;

export function noteDuration(time: AttemptTime, durationMs: number): void {
  const countedMs = Math.min(durationMs, MAX_COUNTED_MS);
  const beforeMs = time.averageMs ?? countedMs;
  time.averageMs = beforeMs + WEIGHT * (countedMs - beforeMs);
}

/** Whoever has never answered is taken for slow. */
export function isSlow({ averageMs }: AttemptTime): boolean {
  return averageMs === undefined || averageMs >= PROMPT_MS;
}
