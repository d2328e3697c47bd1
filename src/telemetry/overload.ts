/**
 * When new work is refused. Whoever is refused may never send again, so only what cannot be taken is: a stall that is
 * over, however long it was, is no reason, and neither is a slow loop that still answers all who ask.
 */
export interface LoadBounds {
  /** A sample of the loop that is later than this is late. */
  maxLagMs: number;
  /** Events that were taken in and are not on disk yet. */
  maxUnwrittenEvents: number;
  /** Bytes of bodies that are held for requests which are not answered yet. */
  maxUnansweredBytes: number;
}

/** What is under way right now: plain numbers, because every request counts. */
export interface Work {
  unwrittenEvents: number;
  unansweredBytes: number;
}

export function createWork(): Work {
  return { unwrittenEvents: 0, unansweredBytes: 0 };
}

/** Samples that were late one after another, and by how much together. */
export interface LateRun {
  readonly samples: number;
  readonly lateMs: number;
}

export const ON_TIME: LateRun = { samples: 0, lateMs: 0 };

/** Lag is sustained when it lasts over so many samples and so much time; one pause of any length is one sample. */
const SUSTAINED_SAMPLES = 3;
const SUSTAINED_MS = 1000;

export function extendRun(run: LateRun, lagMs: number, maxLagMs: number): LateRun {
  if (lagMs <= maxLagMs) return ON_TIME;
  return { samples: run.samples + 1, lateMs: run.lateMs + lagMs };
}

/** Why nothing more can be taken in; undefined when it can. */
export function findOverload(run: LateRun, work: Readonly<Work>, bounds: LoadBounds): "memory" | "lag" | undefined {
  if (work.unansweredBytes >= bounds.maxUnansweredBytes) return "memory";
  const isSustained = run.samples >= SUSTAINED_SAMPLES && run.lateMs >= SUSTAINED_MS;
  return isSustained && work.unwrittenEvents >= bounds.maxUnwrittenEvents ? "lag" : undefined;
}
