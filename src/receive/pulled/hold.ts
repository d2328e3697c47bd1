import { setMaxListeners } from "node:events";
import type { Clock, Timer } from "../../domain/clock.ts";
import type { PulledMessage, PullLimits, Taker } from "../sources/source-kind.ts";

/** A message between being taken and being settled. It is renewed as long as its broker allows that. */
export interface Hold {
  /** It cannot be held any longer; its reason says why. */
  readonly signal: AbortSignal;
  /** Another may have it already: nothing is to be done with it. */
  readonly isLost: boolean;
  end(): void;
}

export interface HoldOptions {
  taker: Pick<Taker, "renew">;
  limits: PullLimits;
  /** Where it cannot be renewed. */
  maxMs: number;
  clock: Clock;
}

/** Of the time that the broker gives; the rest is for the way. */
const RENEW_AFTER = 0.5;
const GIVE_BACK_AFTER = 0.9;

export function holdMessage(message: PulledMessage, { taker, limits, maxMs, clock }: HoldOptions): Hold {
  const { holdMs = Number.POSITIVE_INFINITY, canRenew } = limits;
  const over = new AbortController();
  // Each of its events listens to it.
  setMaxListeners(0, over.signal);
  let timer: Timer | undefined;
  let isLost = false;
  let isEnded = false;

  function renewLater(): void {
    if (isEnded) return;
    timer = clock.setTimer(clock.now() + holdMs * RENEW_AFTER, () => {
      taker.renew(message).then(renewLater, lose);
    });
  }

  function lose(): void {
    isLost = true;
    over.abort();
  }

  if (!canRenew) {
    timer = clock.setTimer(clock.now() + Math.min(maxMs, holdMs * GIVE_BACK_AFTER), () => over.abort());
  } else if (Number.isFinite(holdMs)) {
    renewLater();
  }
  return {
    signal: over.signal,
    get isLost() {
      return isLost;
    },
    end() {
      isEnded = true;
      timer?.cancel();
    },
  };
}
