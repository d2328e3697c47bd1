import type { Clock, Timer } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";

/**
 * When new work is rejected. A rejected sender may never send again, so only work that cannot be done is rejected: a
 * stall that is over is no reason, however long it was, and neither is a slow loop that still answers all requests.
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

/** Why new work must be rejected; undefined when it can be accepted. */
export function findOverload(run: LateRun, work: Readonly<Work>, bounds: LoadBounds): "memory" | "lag" | undefined {
  if (work.unansweredBytes >= bounds.maxUnansweredBytes) return "memory";
  const isSustained = run.samples >= SUSTAINED_SAMPLES && run.lateMs >= SUSTAINED_MS;
  return isSustained && work.unwrittenEvents >= bounds.maxUnwrittenEvents ? "lag" : undefined;
}

interface CapacityParts {
  bounds: LoadBounds;
  disk: { readonly isLow: boolean };
  loopLag: Pick<LoopLag, "run">;
}

/** Decides whether more events can be accepted. */
export function createCapacity({ bounds, disk, loopLag }: CapacityParts) {
  const work = createWork();
  let isShuttingDown = false;
  return {
    work,
    /** Why no event can be accepted now. Asked for every request before its body is read. */
    findTrouble(): PosthornError | undefined {
      if (isShuttingDown) {
        return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
      }
      if (disk.isLow) return new PosthornError("store_full", "The gateway's disk is nearly full.", { retryAfterS: 5 });
      switch (findOverload(loopLag.run, work, bounds)) {
        case "memory":
          return overloaded("Too many request bodies are waiting to be stored.");
        case "lag":
          return overloaded("The gateway is overloaded: its event loop lags, and too many events are waiting.");
        default:
          return undefined;
      }
    },
    /** From now on no event is accepted. */
    shutDown(): void {
      isShuttingDown = true;
    },
  };
}

function overloaded(message: string): PosthornError {
  return new PosthornError("overloaded", message, { retryAfterS: 1 });
}

const SAMPLE_MS = 20;
/** How fast a spike is forgotten: halved at each step. */
const FALL_OFF = 0.5;

export type LoopLag = ReturnType<typeof watchLoopLag>;

/** How late the event loop is. */
export function watchLoopLag({ maxLagMs }: Pick<LoadBounds, "maxLagMs">) {
  let lagMs = 0;
  let run = ON_TIME;
  let expectedAt = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const late = Math.max(0, now - expectedAt);
    lagMs = Math.max(late, lagMs * FALL_OFF);
    run = extendRun(run, late, maxLagMs);
    expectedAt = now + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return {
    /** The recent lag, for work that can wait for a calmer moment. */
    get lagMs(): number {
      return lagMs;
    },
    /** How long it has been late without interruption. */
    get run(): LateRun {
      return run;
    },
    /** Forgets the lag so far: at the start the gateway is busy with itself, and no request could arrive yet. */
    restart(): void {
      lagMs = 0;
      run = ON_TIME;
      expectedAt = performance.now() + SAMPLE_MS;
    },
    stop: () => clearInterval(timer),
  };
}

/** How busy the event loop was between one reading and the next, from 0 to 1. */
export function createUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

interface GovernorOptions {
  clock: Clock;
  /** How busy the event loop was since the last call, from 0 to 1. */
  readUtilization: () => number;
}

const WINDOW_MS = 25;
/** The cost of an attempt for the event loop; accepting an event costs 1. */
const ATTEMPT_COST = 1.2;
/** How busy the loop may get with one attempt for each event. */
const AFFORDABLE = 0.85;
/**
 * Fewer events than this in a window are not a flood: then deliveries keep the loop busy, and no sender waits because
 * of them.
 */
const FLOOD = 50;
/** Attempts for each event that is accepted in a flood, and the attempts that are always allowed. */
const SHARE = 1 / 6;
const MIN_PER_WINDOW = 20;

/**
 * Intake has priority. When more events come in than the event loop can also deliver, deliveries get a share of the
 * loop and the rest waits in the table: a sender without an answer gives up, but a waiting delivery is only late.
 */
export function createGovernor({ clock, readUtilization }: GovernorOptions) {
  let accepted = 0;
  let sent = 0;
  let left = Number.POSITIVE_INFINITY;
  let resume: (() => void) | undefined;
  let timer: Timer | undefined;
  let isHolding = false;

  function watch(): void {
    timer ??= clock.setTimer(clock.now() + WINDOW_MS, () => {
      timer = undefined;
      left = isFlooded() ? Math.max(MIN_PER_WINDOW, accepted * SHARE) : Number.POSITIVE_INFINITY;
      if (accepted > 0 || isHolding) watch();
      accepted = 0;
      sent = 0;
      if (!isHolding) return;
      isHolding = false;
      resume?.();
    });
  }

  /**
   * Decided by the cost of all deliveries, not only of those that are sent: otherwise the limit would be lifted because
   * it works.
   */
  function isFlooded(): boolean {
    const utilization = readUtilization();
    if (accepted < FLOOD) return false;
    // When a burst has more attempts than events, the extra attempts do not count in the window in which it begins.
    const perUnit = utilization / (accepted + Math.min(sent, accepted) * ATTEMPT_COST);
    return perUnit * accepted * (1 + ATTEMPT_COST) > AFFORDABLE;
  }

  return {
    /** An event was accepted. */
    recordAccepted(): void {
      accepted++;
      watch();
    },
    /** The sender of an accepted event waits for its attempt: such an event does not count as part of a flood. */
    recordAwaited(): void {
      accepted--;
    },
    /** Whether an attempt may begin now; if so, the attempt is counted. */
    maySend(): boolean {
      if (left >= 1) {
        left -= 1;
        sent++;
        return true;
      }
      isHolding = true;
      watch();
      return false;
    },
    /** Calls `run` when attempts may begin again after `maySend` returned false. */
    onResume(run: () => void): void {
      resume = run;
    },
    stop: () => timer?.cancel(),
  };
}
