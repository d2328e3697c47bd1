import { isHealthy } from "../deliver/targets/target.ts";
import type { Mode } from "../domain/target.ts";
import type { KnownTarget } from "./targets.ts";

/** How a target is, for people and programs. */
export interface TargetFacts {
  tenantId: string;
  name: string;
  mode: Mode;
  /** What an operator said. */
  forced: Mode | null;
  /** Null when it was never in another mode. */
  since: string | null;
  reason: string | null;
  health: "ok" | "error";
  checkedAt: string | null;
  queueLength: number;
  failures: number;
  lastError: string | null;
  /** What it is held to now; null when nothing holds it back. */
  ratePerS: number | null;
}

/** `open`: how many deliveries of each subscription are open. */
export function describeTarget(
  { tenantId, name, subscriptions, state, ratePerS }: KnownTarget,
  open: ReadonlyMap<number, number>,
): TargetFacts {
  const mode = state?.mode;
  return {
    tenantId,
    name,
    mode: mode?.isOpen === true ? "QUEUE" : "NORMAL",
    forced: mode?.forced ?? null,
    since: timeOf(mode?.changedAt ?? (mode?.isOpen === true ? mode.openedAt : undefined)),
    // Those that were saved before reasons were kept have the error.
    reason: mode?.reason ?? (mode?.isOpen === true ? (mode.lastError ?? null) : null),
    health: state === undefined || isHealthy(state) ? "ok" : "error",
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
