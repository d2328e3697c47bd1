import { parseUrl } from "../model/addresses.ts";
import type { Clock, Timer } from "../model/clock.ts";
import type { HealthPlace } from "../model/target.ts";
import { createTokenBucket, type TokenBucket } from "../model/token-bucket.ts";

/** Asks whether a target is healthy. Calls `done` once, with the problem or with undefined. */
export type HealthCheck = (place: HealthPlace, owner: string, done: (error: string | undefined) => void) => void;

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

export type SharedChecks = ReturnType<typeof createSharedChecks>;

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
