import type { Judge } from "./findings.ts";

const EARLIEST_WALL_MS = Date.UTC(2025, 0, 1);
/** A `Date` header counts whole seconds, and an answer takes its time. */
const MAX_SKEW_MS = 5000;
const MAX_JUMP_MS = 500;

/** Two readings of both clocks of the machine: the one that is set, and the one that only runs. */
export interface ClockReading {
  wallMs: number;
  monotonicMs: number;
}

export const readClocks = (): ClockReading => ({ wallMs: Date.now(), monotonicMs: performance.now() });

export interface ClockFacts {
  /** When the doctor began. */
  from: ClockReading;
  to: ClockReading;
  /** What the database was last written at, by the clock of then. */
  lastKnownNow: number | undefined;
  /** How far the gateway's clock is ahead. */
  gatewayAheadMs: number | undefined;
}

export function checkClock({ from, to, lastKnownNow, gatewayAheadMs = 0 }: ClockFacts, judge: Judge): void {
  const shown = new Date(to.wallMs).toISOString();
  const jumpedMs = to.wallMs - from.wallMs - (to.monotonicMs - from.monotonicMs);
  const behindMs = (lastKnownNow ?? 0) - to.wallMs;
  if (to.wallMs < EARLIEST_WALL_MS) return judge("problem", `${shown} cannot be true; set the clock`);
  if (Math.abs(jumpedMs) > MAX_JUMP_MS) {
    return judge(
      "warning",
      `${shown}; it was set by ${seconds(jumpedMs)} within these checks. Let NTP slew it instead`,
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
