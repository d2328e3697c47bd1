/** How late the event loop is: when it is very late, new work is shed before its body is read. */
export interface LoopLag {
  readonly lagMs: number;
  stop(): void;
}

const SAMPLE_MS = 20;
/** A spike is remembered for so long, falling off by half each step. */
const FALL_OFF = 0.5;

export function watchLoopLag(): LoopLag {
  let lagMs = 0;
  let expectedAt = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const late = Math.max(0, now - expectedAt);
    lagMs = Math.max(late, lagMs * FALL_OFF);
    expectedAt = now + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return {
    get lagMs() {
      return lagMs;
    },
    stop: () => clearInterval(timer),
  };
}
