import type { Clock, Timer } from "../../domain/clock.ts";
import type { PulledMessage, PullLimits, Taker } from "../sources/source-kind.ts";
import { createOccasion, type Occasion } from "./occasion.ts";

/** A message between being taken and being settled. It is renewed as long as its broker allows that. */
export interface Hold {
  /** It cannot be held any longer, and another may have it already. */
  readonly over: Occasion;
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
