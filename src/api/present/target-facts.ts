import { isHealthy } from "../../deliver/target.ts";
import type { Mode } from "../../model/target.ts";
import type { Condition, KnownTarget } from "../../resources/target-states.ts";

/** The state of a target, for people and programs. */
export interface TargetFacts {
  tenantId: string;
  name: string;
  mode: Mode;
  /** The mode that an operator has set. */
  forced: Mode | null;
  /** Null when its mode never changed. */
  since: string | null;
  reason: string | null;
  health: "ok" | "error";
  condition: Condition;
  checkedAt: string | null;
  queueLength: number;
  failures: number;
  lastError: string | null;
  /** The current rate limit; null when there is none. */
  ratePerS: number | null;
}

/** `open`: the number of open deliveries of each subscription. */
export function describeTarget(
  { tenantId, name, subscriptions, state, condition, ratePerS }: KnownTarget,
  open: ReadonlyMap<number, number>,
): TargetFacts {
  const mode = state?.mode;
  return {
    tenantId,
    name,
    mode: mode?.isOpen === true ? "QUEUE" : "NORMAL",
    forced: mode?.forced ?? null,
    since: timeOf(mode?.changedAt),
    reason: mode?.reason ?? null,
    health: state === undefined || isHealthy(state) ? "ok" : "error",
    condition,
    checkedAt: timeOf(state?.check?.at),
    queueLength: subscriptions.reduce((sum, { seq }) => sum + (open.get(seq) ?? 0), 0),
    failures: mode?.failures ?? 0,
    lastError: mode?.lastError ?? null,
    ratePerS: ratePerS === undefined ? null : Math.round(ratePerS * 1000) / 1000,
  };
}

function timeOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
