import type { Clock, Timer } from "../../model/clock.ts";
import type { PulledMessage, PullLimits, Taker } from "../../sources/source-kind.ts";
import { createOccasion, type Occasion } from "./occasion.ts";

/** A message between being received and being settled. Its lock is renewed as long as the broker allows it. */
export interface Hold {
  /** Comes when the message cannot be held any longer; another consumer may already have it. */
  readonly over: Occasion;
  end(): void;
}

export interface HoldOptions {
  taker: Pick<Taker, "renew">;
  limits: PullLimits;
  /** For brokers that cannot renew a lock. */
  maxMs: number;
  clock: Clock;
}

/** The share of the broker's lock time that is used; the rest is a margin for the network. */
const RENEW_AFTER = 0.5;
const GIVE_BACK_AFTER = 0.9;

export function holdMessage(message: PulledMessage, { taker, limits, maxMs, clock }: HoldOptions): Hold {
  const { holdMs = Number.POSITIVE_INFINITY, canRenew } = limits;
  const over = createOccasion();
  let timer: Timer | undefined;
  let isEnded = false;

  function renewLater(): void {
    if (isEnded) return;
    timer = clock.setTimer(clock.now() + holdMs * RENEW_AFTER, () => {
      taker.renew(message).then(renewLater, () => over.come());
    });
  }

  if (!canRenew) {
    timer = clock.setTimer(clock.now() + Math.min(maxMs, holdMs * GIVE_BACK_AFTER), () => over.come());
  } else if (Number.isFinite(holdMs)) {
    renewLater();
  }
  return {
    over,
    end() {
      isEnded = true;
      timer?.cancel();
    },
  };
}
