import type { Clock, Random, Timer } from "../model/clock.ts";
import { MAX_RANK_OFFSET_MS } from "../model/delivery.ts";
import { parseUrl } from "../model/addresses.ts";
import type { HealthPlace } from "../model/target.ts";
import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";
import type { FallbackDrain } from "./fallback.ts";
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

/** Asks whether a target is healthy. Calls `done` once, with the problem or with undefined. */
export type HealthCheck = (place: HealthPlace, owner: string, done: (error: string | undefined) => void) => void;

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

/** Checks of one host for one tenant. */
export const HOST_CHECKS = { perSecond: 10, atOnce: 100 } as const;
/** With more than this, what is over is forgotten. */
const MAX_KNOWN = 1000;

interface Asked {
  readonly waiting: ((error: string | undefined) => void)[];
  /** When the request was sent; undefined while it waits for its turn. */
  sentAt?: number;
  /** Undefined until it is answered. */
  answer?: { error: string | undefined };
}

type SharedChecks = ReturnType<typeof createSharedChecks>;

/**
 * Health checks of one tenant: a URL is asked once for all targets that want to know at about the same time, and a
 * host is not asked more often than it can be expected to bear. Tenants do not wait for each other.
 */
export function createSharedChecks(check: HealthCheck, clock: Clock) {
  const known = new Map<string, Asked>();
  const rates = new Map<string, TokenBucket>();
  const timers = new Set<Timer>();

  function rateOf(place: HealthPlace, owner: string): TokenBucket {
    const now = clock.now();
    const key = JSON.stringify([owner, parseUrl(place.url)?.host ?? place.url]);
    let rate = rates.get(key);
    if (rate === undefined) {
      if (rates.size >= MAX_KNOWN) for (const [one, old] of rates) if (old.fullAt(now) <= now) rates.delete(one);
      rates.set(key, (rate = createTokenBucket(HOST_CHECKS.perSecond, now, HOST_CHECKS.atOnce)));
    }
    return rate;
  }

  function inTurn(place: HealthPlace, owner: string, run: () => void): void {
    const rate = rateOf(place, owner);
    const at = rate.readyAt(clock.now());
    rate.take(at);
    if (at <= clock.now()) return run();
    const timer = clock.setTimer(at, () => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
  }

  function begin(key: string): Asked {
    const now = clock.now();
    if (known.size >= MAX_KNOWN) {
      for (const [one, { answer, sentAt = now }] of known) if (answer && sentAt < now) known.delete(one);
    }
    const asked: Asked = { waiting: [] };
    known.set(key, asked);
    return asked;
  }

  return {
    /** The answer to a request of up to this age is good enough. Calls `done` once. */
    ask(place: HealthPlace, owner: string, maxAgeMs: number, done: (error: string | undefined) => void): void {
      const key = JSON.stringify([owner, place]);
      const earlier = known.get(key);
      if (earlier !== undefined && earlier.answer === undefined) return void earlier.waiting.push(done);
      const { answer, sentAt = -Infinity } = earlier ?? {};
      // Counted from the request, so that no target that waits as long after its own gets the same answer again.
      if (answer !== undefined && clock.now() - sentAt < maxAgeMs) return done(answer.error);
      const asked = begin(key);
      asked.waiting.push(done);
      inTurn(place, owner, () => {
        asked.sentAt = clock.now();
        check(place, owner, (error) => {
          asked.answer = { error };
          for (const answer of asked.waiting.splice(0)) answer(error);
        });
      });
    },
    stop(): void {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}
