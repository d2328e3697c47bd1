import type { Clock, Random, Timer } from "../../domain/clock.ts";
import { MAX_RANK_OFFSET_MS } from "../../domain/delivery.ts";
import type { HealthPlace } from "../../domain/target.ts";

import type { RoundEnd } from "./round.ts";
import { beginChecks, noteCheckFailed, noteCheckSucceeded, noteTried, type Target } from "./target.ts";
import type { TargetLanes } from "./target-lanes.ts";
import { noteOthersFailed } from "./target-changes.ts";

/**
 * Checks the health of targets: every minute while they are well, and more often in QUEUE, where the check is the probe.
 * Once it succeeds, what waits is tried in rounds; the target is in NORMAL again when its health stayed good and all
 * that waited was tried.
 */
export interface HealthWatch {
  /** From now on these are checked, and no others; new ones at once. Each with its tenant. */
  watch(targets: ReadonlyMap<Target, string>): void;
  /** Something failed there: it is checked without waiting. */
  checkSoon(target: Target): void;
  stop(): void;
}

/** Asks whether a target is well. Calls `done` once, with what is wrong or with undefined. */
export type HealthCheck = (place: HealthPlace, owner: string, done: (error: string | undefined) => void) => void;

export interface HealthWatchOptions {
  clock: Clock;
  random: Random;
  check: HealthCheck;
  lanes: Pick<TargetLanes, "startRound" | "endRound" | "hasten" | "noteStillDown" | "refresh" | "wakeMissing">;
  onMode: (target: Target, change: "opened" | "closed") => void;
  /** It is well, and in NORMAL. */
  onWell?: ((target: Target) => void) | undefined;
}

export const HEALTH = {
  /** In QUEUE: the first wait between checks, which doubles while they fail. */
  firstMs: 5_000,
  maxMs: 10_000,
  /** The first wait after a round that failed, which doubles up to the idle wait. */
  failedRoundMs: 2_000,
  /** Failures that come together are worth one check. */
  soonMs: 1_000,
  atOnce: 100,
  spreadMs: 10,
} as const;

interface Watched {
  owner: string;
  timer: Timer | undefined;
  dueAt: number;
  isChecking: boolean;
  checkedAt: number;
  /** Unix ms of the first success in QUEUE. */
  recoversFrom: number;
  failedRounds: number;
  /** No round before. */
  roundAt: number;
}

export function createHealthWatch({ clock, random, check, lanes, onMode, onWell }: HealthWatchOptions): HealthWatch {
  const watched = new Map<Target, Watched>();

  function schedule(target: Target, state: Watched, at: number): void {
    if (state.isChecking || (state.timer !== undefined && state.dueAt <= at)) return;
    state.timer?.cancel();
    state.dueAt = at;
    state.timer = clock.setTimer(at, () => {
      state.timer = undefined;
      run(target, state);
    });
  }

  function run(target: Target, state: Watched): void {
    const { health } = target.rules;
    if (health === undefined || state.isChecking) return;
    state.isChecking = true;
    state.checkedAt = clock.now();
    check(health, state.owner, (error) => {
      state.isChecking = false;
      if (watched.get(target) !== state) return;
      target.check = { at: clock.wall(), error };
      if (error === undefined) succeeded(target, state);
      else failed(target, error);
      schedule(target, state, clock.now() + waitMs(target));
    });
  }

  function failed(target: Target, error: string): void {
    lanes.endRound(target);
    const change = noteCheckFailed(target, { now: clock.now(), error, jitter: random.next() });
    if (change === "opened") {
      // Nobody's event failed, but the check is not a thing of the gateway's own either.
      noteOthersFailed(target.news);
      onMode(target, "opened");
      lanes.refresh(target);
    }
    if (change === "still") {
      noteOthersFailed(target.news);
      lanes.noteStillDown(target);
    }
  }

  function succeeded(target: Target, state: Watched): void {
    const change = noteCheckSucceeded(target, clock.now());
    if (change === "closed") close(target);
    if (!target.mode.isOpen) return onWell?.(target);
    if (target.mode.forced === "QUEUE") return;
    if (change === "recovering") {
      state.recoversFrom = clock.wall();
      state.failedRounds = 0;
      state.roundAt = 0;
    }
    if (clock.now() < state.roundAt) return;
    // Before: the round must not take a lane for empty whose retries are on their way.
    if (change === "recovering" && target.wasIll) lanes.hasten(target);
    startRound(target, state);
  }

  function startRound(target: Target, state: Watched): void {
    lanes.startRound(target, {
      newAfter: state.recoversFrom + MAX_RANK_OFFSET_MS,
      onTried: () => {
        if (noteTried(target, clock.now()) === "closed") close(target);
      },
      onEnd: (end) => endedRound(target, state, end),
    });
  }

  function endedRound(target: Target, state: Watched, end: RoundEnd): void {
    if (end === "stopped") return;
    const { idleWaitMs } = target.rules;
    const isFailed = end === "failed";
    state.failedRounds = isFailed ? state.failedRounds + 1 : 0;
    const waitedMs = isFailed ? Math.min(idleWaitMs, HEALTH.failedRoundMs * 2 ** (state.failedRounds - 1)) : idleWaitMs;
    state.roundAt = clock.now() + waitedMs;
  }

  function close(target: Target): void {
    onMode(target, "closed");
    lanes.refresh(target);
    lanes.wakeMissing(target);
  }

  function waitMs({ mode, rules, successes }: Target): number {
    const { checkEveryMs } = rules;
    // Check and delivery say the same: that it is down is to be known within seconds.
    const isSuspect = !mode.isOpen && mode.failedChecks > 0 && mode.failures > mode.failedChecks;
    if (isSuspect) return Math.min(checkEveryMs, HEALTH.firstMs);
    if (!mode.isOpen || mode.forced === "QUEUE") return checkEveryMs;
    const stepMs = successes > 0 ? HEALTH.firstMs : HEALTH.firstMs * 2 ** Math.min(10, mode.failedProbes);
    return Math.min(checkEveryMs, stepMs, HEALTH.maxMs);
  }

  /** Where there are many, they are not all asked in the first moment. */
  function spreadMs(count: number, { rules }: Target): number {
    return count <= HEALTH.atOnce ? 0 : Math.min(rules.checkEveryMs, count * HEALTH.spreadMs);
  }

  return {
    watch(targets) {
      for (const [target, state] of watched) {
        if (targets.has(target)) continue;
        state.timer?.cancel();
        watched.delete(target);
      }
      for (const [target, owner] of targets) {
        const known = watched.get(target);
        if (known !== undefined) {
          // A check may be due sooner by new rules.
          schedule(target, known, Math.max(clock.now(), known.checkedAt + waitMs(target)));
          continue;
        }
        const state: Watched = {
          owner,
          timer: undefined,
          dueAt: 0,
          isChecking: false,
          checkedAt: 0,
          recoversFrom: 0,
          failedRounds: 0,
          roundAt: 0,
        };
        watched.set(target, state);
        beginChecks(target);
        schedule(target, state, clock.now() + random.next() * spreadMs(targets.size, target));
      }
    },
    checkSoon(target) {
      const state = watched.get(target);
      if (state !== undefined) schedule(target, state, Math.max(clock.now(), state.checkedAt + HEALTH.soonMs));
    },
    stop() {
      for (const { timer } of watched.values()) timer?.cancel();
      watched.clear();
    },
  };
}
