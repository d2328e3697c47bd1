import type { Suspension } from "../../domain/suspension.ts";
import { loadPace, type Pace } from "../pace.ts";
import { createMode, createModeNotices } from "../mode.ts";
import { createSuspensionState } from "../suspensions.ts";
import type { SubscriptionState } from "../subscription-state.ts";
import { createTarget, type TargetCondition } from "../target.ts";

/**
 * The saved state of targets and subscriptions: one JSON object per record. Fields that an earlier version did not save
 * get the values of a new record.
 */

interface Saved extends Readonly<Record<string, unknown>> {
  pace?: Partial<Pace>;
  attemptMs?: number;
  suspension?: Suspension;
  /** Written by versions that saved nothing else of a pace. */
  averagePerS?: number;
}

export function formatTarget({ mode, pace, notices }: TargetCondition): string {
  return JSON.stringify({ ...mode, pace, ...notices });
}

export function formatSubscription({ ownTarget, suspension, attemptTime }: SubscriptionState): string {
  const { mode, pace, notices } = ownTarget;
  const { cause, ...counts } = suspension;
  return JSON.stringify({ ...mode, pace, ...notices, ...counts, suspension: cause, attemptMs: attemptTime.averageMs });
}

export function parseTarget(text: string, now: number): TargetCondition {
  return toCondition(JSON.parse(text) as Saved, now);
}

export function parseSubscription(text: string, now: number): SubscriptionState {
  const saved = JSON.parse(text) as Saved;
  return {
    ownTarget: createTarget(toCondition(saved, now)),
    suspension: { ...fill(createSuspensionState(), saved), cause: saved.suspension },
    attemptTime: { averageMs: saved.attemptMs },
  };
}

function toCondition(saved: Saved, now: number): TargetCondition {
  const { averagePerS = 0 } = saved;
  const pace = loadPace(saved.pace ?? { usualPerS: averagePerS, averagePerS }, now);
  return { mode: fill(createMode(), saved), pace, notices: fill(createModeNotices(), saved) };
}

/** Fills a part with its saved values. */
function fill<Part extends object>(part: Part, saved: Saved): Part {
  const names = Object.keys(part).filter((name) => name in saved);
  return Object.assign(part, Object.fromEntries(names.map((name) => [name, saved[name]])));
}
