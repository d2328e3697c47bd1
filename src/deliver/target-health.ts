import type { Clock, Random, Timer } from "../model/clock.ts";
import { MAX_RANK_OFFSET_MS } from "../model/delivery.ts";
import type { FallbackDrain } from "./fallback-drain.ts";
import { createSharedChecks, type HealthCheck, type SharedChecks } from "./shared-checks.ts";
import type { TargetLanes, RoundEnd } from "./target-lanes.ts";
import {
  beginChecks,
  isFailingAtAll,
  recordCheckFailed,
  recordCheckSucceeded,
  recordAllTried,
  type Target,
} from "./target.ts";
import { markReportable } from "./mode.ts";

export interface HealthWatchOptions {
  clock: Clock;
  random: Random;
  check: HealthCheck;
  lanes: Pick<TargetLanes, "startRound" | "endRound" | "hasten" | "reportStillDown" | "refresh" | "wakeMissing">;
  onMode: (target: Target, change: "opened" | "closed") => void;
  /** Watches deliveries that went to a fallback: the target is not in NORMAL before they have left it. */
  drain?: Pick<FallbackDrain, "look"> | undefined;
  /** The target is healthy and in NORMAL. */
  onHealthy?: ((target: Target) => void) | undefined;
}

export const HEALTH = {
  /** In QUEUE: the first wait between checks, which doubles while checks fail. */
  firstMs: 5_000,
  maxMs: 10_000,
  /** The wait after a failed round, which doubles up to the idle wait. */
  failedRoundMs: 2_000,
  /** Failures that come together cause one check. */
  soonMs: 1_000,
  atOnce: 100,
  spreadMs: 10,
  /** Targets with the same health URL share an answer of up to this age, or of half their own interval. */
  sharedMs: 1_000,
} as const;

export type HealthWatch = ReturnType<typeof createHealthWatch>;

/**
 * Checks the health of targets: every minute while they are healthy, and more often in QUEUE, where the check is the
 * probe. Once a check succeeds, waiting deliveries are tried in rounds. The target returns to NORMAL when its health
 * stayed good and all waiting deliveries were tried.
 */
export function createHealthWatch(options: HealthWatchOptions) {
  const { clock, random } = options;
  const watched = new Map<Target, ReturnType<typeof createTargetChecks>>();
  const shared = createSharedChecks(options.check, clock);
  return {
    /** Checks these targets from now on, and no others; new targets at once. Maps each target to its tenant. */
    watch(targets: ReadonlyMap<Target, string>): void {
      for (const [target, checks] of watched) {
        if (targets.has(target)) continue;
        checks.stop();
        watched.delete(target);
      }
      for (const [target, owner] of targets) {
        const known = watched.get(target);
        // With changed rules, a check may be due sooner.
        if (known !== undefined) {
          known.checkAfter(waitMs(target));
          continue;
        }
        const checks = createTargetChecks(target, owner, shared, options);
        watched.set(target, checks);
        beginChecks(target);
        checks.checkAt(clock.now() + random.next() * spreadMs(targets.size, target));
      }
    },
    /** A delivery to the target failed: it is checked soon. */
    checkSoon: (target: Target): void => watched.get(target)?.checkAfter(HEALTH.soonMs),
    stop(): void {
      for (const checks of watched.values()) checks.stop();
      watched.clear();
      shared.stop();
    },
  };
}

/** The first checks of many targets are spread over time. */
function spreadMs(count: number, { rules }: Target): number {
  return count <= HEALTH.atOnce ? 0 : Math.min(rules.checkEveryMs, count * HEALTH.spreadMs);
}

/** The wait until the next check. */
function waitMs({ mode, rules, successes }: Target): number {
  const { checkEveryMs } = rules;
  // A check and a delivery both failed: that the target is down should be known within seconds.
  const isSuspect = !mode.isOpen && mode.failedChecks > 0 && mode.failures > mode.failedChecks;
  if (isSuspect) return Math.min(checkEveryMs, HEALTH.firstMs);
  if (!mode.isOpen || mode.forced === "QUEUE") return checkEveryMs;
  const stepMs = successes > 0 ? HEALTH.firstMs : HEALTH.firstMs * 2 ** Math.min(10, mode.failedProbes);
  return Math.min(checkEveryMs, stepMs, HEALTH.maxMs);
}

/** The checks of one target, and the rounds that follow from them. */
function createTargetChecks(target: Target, owner: string, shared: SharedChecks, options: HealthWatchOptions) {
  const { clock, random, lanes, onMode, drain, onHealthy } = options;
  let timer: Timer | undefined;
  let dueAt = 0;
  let isChecking = false;
  let isStopped = false;
  let checkedAt = 0;
  /** Unix ms of the first success in QUEUE. */
  let recoversFrom = 0;
  /** When the health became good after it was bad. */
  let goodSince = 0;
  let failedRounds = 0;
  /** No round begins before this time. */
  let roundAt = 0;

  /** Schedules a check, unless one is due earlier. */
  function checkAt(at: number): void {
    if (isChecking || (timer !== undefined && dueAt <= at)) return;
    timer?.cancel();
    dueAt = at;
    timer = clock.setTimer(at, () => {
      timer = undefined;
      run();
    });
  }

  function run(): void {
    const { health, checkEveryMs } = target.rules;
    if (health === undefined || isChecking) return;
    isChecking = true;
    checkedAt = clock.now();
    shared.ask(health, owner, Math.min(HEALTH.sharedMs, checkEveryMs / 2), (error) => {
      if (isStopped) return;
      target.check = { at: clock.wall(), error };
      if (error === undefined) lookAround();
      else end(() => failed(error));
    });
  }

  function end(conclude: () => void): void {
    isChecking = false;
    if (isStopped) return;
    conclude();
    checkAt(clock.now() + waitMs(target));
  }

  /** Deliveries in fallbacks come before those that wait here. */
  function lookAround(): void {
    if (drain === undefined || !target.mode.isOpen || target.mode.forced === "QUEUE") return end(() => succeeded());
    if (target.successes === 0) goodSince = clock.now();
    drain.look(target, clock.now() - goodSince, (state) => {
      target.isDrained = state === "drained";
      end(() => succeeded(state === "held"));
    });
  }

  function failed(error: string): void {
    lanes.endRound(target);
    const change = recordCheckFailed(target, { now: clock.now(), error, jitter: random.next() });
    // No event failed, but a check is not one of the gateway's own events either: the change must be reported.
    if (change === "opened" || change === "still") markReportable(target);
    if (change === "opened") {
      onMode(target, "opened");
      lanes.refresh(target);
    }
    if (change === "still") lanes.reportStillDown(target);
  }

  function succeeded(isHeld = false): void {
    const change = recordCheckSucceeded(target, clock.now());
    if (change === "closed") close();
    if (!target.mode.isOpen) return onHealthy?.(target);
    if (target.mode.forced === "QUEUE") return;
    if (change === "recovering") {
      target.hastens = true;
      recoversFrom = clock.wall();
      failedRounds = 0;
      roundAt = 0;
    }
    if (isHeld || clock.now() < roundAt) return;
    // Must come first: the round must not see a lane as empty while its retries are being brought forward.
    if (target.hastens) lanes.hasten(target);
    // Otherwise nothing would show that the target accepts deliveries again, however long their retries wait.
    else if (isFailingAtAll(target)) lanes.hasten(target, 1);
    target.hastens = false;
    lanes.startRound(target, {
      newAfter: recoversFrom + MAX_RANK_OFFSET_MS,
      onTried: (isEmpty) => {
        if (recordAllTried(target, clock.now(), isEmpty) === "closed") close();
      },
      onEnd: endedRound,
    });
  }

  function endedRound(end: RoundEnd): void {
    if (end === "stopped") return;
    const { idleWaitMs } = target.rules;
    failedRounds = end === "failed" ? failedRounds + 1 : 0;
    const failedWaitMs = HEALTH.failedRoundMs * 2 ** (failedRounds - 1);
    const waitMs = failedRounds > 0 ? Math.min(idleWaitMs, failedWaitMs) : idleWaitMs;
    roundAt = target.hastens ? 0 : clock.now() + waitMs;
  }

  function close(): void {
    onMode(target, "closed");
    lanes.refresh(target);
    lanes.wakeMissing(target);
  }

  return {
    checkAt,
    /** Schedules the next check, counted from the last one. */
    checkAfter: (ms: number): void => checkAt(Math.max(clock.now(), checkedAt + ms)),
    stop(): void {
      isStopped = true;
      timer?.cancel();
    },
  };
}
