import type { SharedSettings } from "./subscription.ts";

/** When a subscription is suspended by itself; undefined stands for never. */
export interface SuspensionRules {
  /** More deliveries than this that die in a row. */
  readonly afterDead: number | undefined;
  /** So long in QUEUE. */
  readonly afterMs: number | undefined;
  /** Back in NORMAL, it goes on by itself. */
  readonly resumesWhenHealthy: boolean;
}

export const DEFAULT_SUSPENSION: SuspensionRules = Object.freeze({
  afterDead: 10,
  afterMs: 72 * 3_600_000,
  resumesWhenHealthy: true,
});

/** Why one was suspended, and since when. */
export interface Suspension {
  /** In wall time. */
  at: number;
  reason: string;
  /** It was out of reach, and nothing else: that its health is good again is reason enough to go on. */
  isOutOfReach: boolean;
}

type Settings = Pick<SharedSettings, "suspend_after_dead" | "suspend_after_s" | "resume_when_healthy" | "mode">;

/** Where a check says when to go on, or a sender waits for each, nothing is suspended unless that is asked for. */
export function toSuspensionRules(input: Settings, hasHealth: boolean): SuspensionRules {
  const { suspend_after_dead: afterDead, suspend_after_s: afterS, mode } = input;
  const usual = hasHealth || mode === "forward" ? { afterDead: undefined, afterMs: undefined } : DEFAULT_SUSPENSION;
  return {
    afterDead: afterDead === undefined ? usual.afterDead : (afterDead ?? undefined),
    afterMs: afterS === undefined ? usual.afterMs : afterS === null ? undefined : afterS * 1000,
    resumesWhenHealthy: input.resume_when_healthy ?? DEFAULT_SUSPENSION.resumesWhenHealthy,
  };
}
