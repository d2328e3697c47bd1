/** A rate limit. The bucket holds the tokens of one second, or `burst` tokens. */
export interface TokenBucket {
  /** When a token is available; at or before `now` it can be taken. */
  readyAt(now: number): number;
  /** How many tokens are available. */
  available(now: number): number;
  /** When the bucket is full again; from then on it is like a new one. */
  fullAt(now: number): number;
  take(now: number, count?: number): void;
  setRate(perSecond: number, now: number): void;
}

/** Tolerates rounding, so that a lane does not wake up slightly too early again and again. */
const ROUNDING = 0.0005;

/** The bucket is full at first. */
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
    take(at, count = 1) {
      fill(at);
      tokens -= count;
    },
    setRate(next, at) {
      fill(at);
      rate = next;
    },
  };
}
