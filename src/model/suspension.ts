import type { SharedSettings } from "./subscription.ts";

/** When a subscription is suspended automatically; undefined means never. */
export interface SuspensionRules {
  /** Suspended when more deliveries than this die in a row. */
  readonly afterDead: number | undefined;
  /** Suspended after this long in QUEUE. */
  readonly afterMs: number | undefined;
  /** Whether it resumes automatically when its target is in NORMAL again. */
  readonly resumesWhenHealthy: boolean;
}

export const DEFAULT_SUSPENSION: SuspensionRules = Object.freeze({
  afterDead: 10,
  afterMs: 72 * 3_600_000,
  resumesWhenHealthy: true,
});

/** Why a subscription was suspended, and since when. */
export interface Suspension {
  /** In wall time. */
  at: number;
  reason: string;
  /** The target was unreachable, and nothing else: then good health is reason enough to resume. */
  isOutOfReach: boolean;
}

type Settings = Pick<SharedSettings, "suspend_after_dead" | "suspend_after_s" | "resume_when_healthy" | "mode">;

/** With a health check or waiting senders a subscription is never suspended by default. */
export function toSuspensionRules(input: Settings, hasHealth: boolean): SuspensionRules {
  const { suspend_after_dead: afterDead, suspend_after_s: afterS, mode } = input;
  const usual = hasHealth || mode === "forward" ? { afterDead: undefined, afterMs: undefined } : DEFAULT_SUSPENSION;
  return {
    afterDead: afterDead === undefined ? usual.afterDead : (afterDead ?? undefined),
    afterMs: afterS === undefined ? usual.afterMs : afterS === null ? undefined : afterS * 1000,
    resumesWhenHealthy: input.resume_when_healthy ?? DEFAULT_SUSPENSION.resumesWhenHealthy,
  };
}
