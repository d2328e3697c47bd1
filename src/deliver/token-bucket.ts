/** A rate, with one second's worth of it as burst. */
export interface TokenBucket {
  /** When a token is there; at or before `now` it may be taken. */
  readyAt(now: number): number;
  take(now: number): void;
  setRate(perSecond: number): void;
}

export function createTokenBucket(perSecond: number, now: number): TokenBucket {
  let rate = perSecond;
  let tokens = Math.max(1, rate);
  let filledAt = now;

  function fill(at: number): void {
    tokens = Math.min(Math.max(1, rate), tokens + ((at - filledAt) * rate) / 1000);
    filledAt = at;
  }

  return {
    readyAt(at) {
      fill(at);
      // Half a thousandth of a token forgives rounding, so that a lane never wakes a moment too early for ever.
      return tokens >= 0.9995 ? at : at + Math.ceil(((1 - tokens) * 1000) / rate);
    },
    take(at) {
      fill(at);
      tokens -= 1;
    },
    setRate(next) {
      rate = next;
    },
  };
}
