/**
 * When new work is refused. A refused sender may never send again, so only work that cannot be done is refused: a stall
 * that is over is no reason, however long it was, and neither is a slow loop that still answers all requests.
 */
export interface LoadBounds {
  /** A sample of the loop that is later than this counts as late. */
  maxLagMs: number;
  /** Accepted events that are not on disk yet. */
  maxUnwrittenEvents: number;
  /** Bytes of bodies of requests that are not answered yet. */
  maxUnansweredBytes: number;
}

/** The work in progress: plain numbers, because every request changes them. */
export interface Work {
  unwrittenEvents: number;
  unansweredBytes: number;
}

export function createWork(): Work {
  return { unwrittenEvents: 0, unansweredBytes: 0 };
}

/** Late samples in a row, and their total lateness. */
export interface LateRun {
  readonly samples: number;
  readonly lateMs: number;
}

export const ON_TIME: LateRun = { samples: 0, lateMs: 0 };

/** Lag is sustained when it lasts for this many samples and this much time; one pause of any length is one sample. */
const SUSTAINED_SAMPLES = 3;
const SUSTAINED_MS = 1000;

export function extendRun(run: LateRun, lagMs: number, maxLagMs: number): LateRun {
  if (lagMs <= maxLagMs) return ON_TIME;
  return { samples: run.samples + 1, lateMs: run.lateMs + lagMs };
}

/** Why new work must be refused; undefined when it can be accepted. */
export function findOverload(run: LateRun, work: Readonly<Work>, bounds: LoadBounds): "memory" | "lag" | undefined {
  if (work.unansweredBytes >= bounds.maxUnansweredBytes) return "memory";
  const isSustained = run.samples >= SUSTAINED_SAMPLES && run.lateMs >= SUSTAINED_MS;
  return isSustained && work.unwrittenEvents >= bounds.maxUnwrittenEvents ? "lag" : undefined;
}
