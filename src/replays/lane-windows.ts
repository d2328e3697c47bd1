/**
 * How many replayed deliveries may be open in a lane at once: about as many as it sends in a few seconds. Open
 * deliveries are sent by age; with thousands of them in a slow lane, new events would wait behind them.
 */
export type LaneWindows = ReturnType<typeof createLaneWindows>;

export const MAX_WINDOW = 1000;
const FIRST_WINDOW = 64;
const MIN_WINDOW = 8;
/** A lane that finishes half of its window this soon gets a larger one. */
const FAST_MS = 2000;
const SLOW_MS = 10_000;

interface Window {
  size: number;
  /** Since when more than half of the window is open. */
  fullSince: number | undefined;
}

export function createLaneWindows() {
  const windows = new Map<number, Window>();

  function windowOf(seq: number): Window {
    let window = windows.get(seq);
    if (window === undefined) windows.set(seq, (window = { size: FIRST_WINDOW, fullSince: undefined }));
    return window;
  }

  return {
    /** How many more may be opened in a lane that has `open` of them. */
    room(seq: number, open: number, now: number): number {
      const window = windowOf(seq);
      if (open > window.size / 2) {
        window.fullSince ??= now;
        return 0;
      }
      if (window.fullSince !== undefined) {
        window.size = resize(window.size, now - window.fullSince);
        window.fullSince = undefined;
      }
      return Math.max(0, window.size - open);
    },
    /** Notes how many are open after some were opened. */
    noteOpened(seq: number, open: number, now: number): void {
      const window = windowOf(seq);
      if (open > window.size / 2) window.fullSince ??= now;
    },
  };
}

function resize(size: number, tookMs: number): number {
  if (tookMs <= FAST_MS) return Math.min(MAX_WINDOW, size * 2);
  return tookMs > SLOW_MS ? Math.max(MIN_WINDOW, size / 2) : size;
}
