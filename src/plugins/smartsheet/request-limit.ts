import type { Clock } from "../../model/clock.ts";

/** Limits requests per minute; further ones wait in their order. */
export interface RequestLimit {
  take(): Promise<void>;
}

const MINUTE_MS = 60_000;

export function createRequestLimit({ clock, perMinute }: { clock: Clock; perMinute: number }): RequestLimit {
  /** When each of the latest requests starts or started, earliest first. */
  const times: number[] = [];
  return {
    take() {
      const now = clock.now();
      const earliest = times.length < perMinute ? now : (times.shift() ?? now) + MINUTE_MS;
      const at = Math.max(now, earliest);
      times.push(at);
      if (at <= now) return Promise.resolve();
      return new Promise((resolve) => void clock.setTimer(at, resolve));
    },
  };
}
