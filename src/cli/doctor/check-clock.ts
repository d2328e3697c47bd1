import type { Judge } from "./findings.ts";

const EARLIEST_WALL_MS = Date.UTC(2025, 0, 1);
/** A `Date` header has whole seconds, and an answer takes time. */
const MAX_SKEW_MS = 5000;
const MAX_JUMP_MS = 500;

/** One reading of both clocks of the machine: the wall clock, which can be set, and the monotonic one. */
export interface ClockReading {
  wallMs: number;
  monotonicMs: number;
}

export const readClocks = (): ClockReading => ({ wallMs: Date.now(), monotonicMs: performance.now() });

export interface ClockFacts {
  /** When the doctor began. */
  from: ClockReading;
  to: ClockReading;
  /** The time of the database's last write, by the clock of that moment. */
  lastKnownNow: number | undefined;
  /** How far the gateway's clock is ahead of ours. */
  gatewayAheadMs: number | undefined;
}

export function checkClock({ from, to, lastKnownNow, gatewayAheadMs = 0 }: ClockFacts, judge: Judge): void {
  const shown = new Date(to.wallMs).toISOString();
  const jumpedMs = to.wallMs - from.wallMs - (to.monotonicMs - from.monotonicMs);
  const behindMs = (lastKnownNow ?? 0) - to.wallMs;
  if (to.wallMs < EARLIEST_WALL_MS) return judge("problem", `${shown} cannot be right; set the clock`);
  if (Math.abs(jumpedMs) > MAX_JUMP_MS) {
    return judge(
      "warning",
      `${shown}; it jumped by ${seconds(jumpedMs)} during these checks. Let NTP adjust it gradually`,
    );
  }
  if (behindMs > MAX_SKEW_MS) {
    return judge("warning", `${shown} is ${seconds(behindMs)} before the last write of the database; check NTP`);
  }
  if (Math.abs(gatewayAheadMs) > MAX_SKEW_MS) {
    return judge(
      "warning",
      `${shown} is ${seconds(gatewayAheadMs)} off the gateway's clock; check NTP on both machines`,
    );
  }
  judge("ok", shown);
}

function seconds(ms: number): string {
  return `${Math.round(Math.abs(ms) / 1000)} s`;
}
