/** A rate; what it may give at once is one second's worth, or as much as `burst` says. */
export interface TokenBucket {
  /** When a token is there; at or before `now` it may be taken. */
  readyAt(now: number): number;
  /** How many tokens are there. */
  available(now: number): number;
  /** When all tokens are back: from then on it is like a new one. */
  fullAt(now: number): number;
  take(now: number): void;
  setRate(perSecond: number, now: number): void;
}

/** Forgives rounding, so that a lane never wakes a moment too early for ever. */
const ROUNDING = 0.0005;

/** Full at first. */
export function createTokenBucket(perSecond: number, now: number, burst?: number): TokenBucket {
  let rate = perSecond;
  const size = () => burst ?? Math.max(1, rate);
  let tokens = size();
  let filledAt = now;

  function fill(at: number): void {
    tokens = Math.min(size(), tokens + ((at - filledAt) * rate) / 1000);
    filledAt = at;
  }

  function holdsAt(wanted: number, at: number): number {
    fill(at);
    return tokens + ROUNDING >= wanted ? at : at + Math.ceil(((wanted - tokens) * 1000) / rate);
  }

  return {
    readyAt: (at) => holdsAt(1, at),
    available(at) {
      fill(at);
      return Math.max(0, Math.floor(tokens + ROUNDING));
    },
    fullAt: (at) => holdsAt(size(), at),
    take(at) {
      fill(at);
      tokens -= 1;
    },
    setRate(next, at) {
      fill(at);
      rate = next;
    },
  };
}
