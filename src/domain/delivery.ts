import type { Priority } from "./event.ts";
import { refuse, type Refused } from "./refusal.ts";

/** A delivery is one event for one subscription: its states, and its place in the lane. */

export const DELIVERY_STATES = ["pending", "sending", "delivered", "dead", "cancelled"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** How stores write a state: its position in the list. SQL takes the numbers from here. */
export const STATE = { pending: 0, sending: 1, delivered: 2, dead: 3, cancelled: 4 } as const satisfies Record<
  DeliveryState,
  number
>;
/** Those that are open come first: from this number on a delivery has ended. */
export const ENDED = STATE.delivered;

export const DELIVERY_ACTS = [
  "claim",
  "release",
  "succeed",
  "retry",
  "give_up",
  "recover",
  "bring_forward",
  "cancel",
  "replay",
] as const;
export type DeliveryAct = (typeof DELIVERY_ACTS)[number];

export const DEAD_REASONS = [
  "refused",
  "retries_exhausted",
  "gone",
  "expired",
  "held_too_long",
  "poison",
  "blocked",
  "too_large",
  "erased",
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

const TRANSITIONS: Record<DeliveryAct, Partial<Record<DeliveryState, DeliveryState>>> = {
  claim: { pending: "sending" },
  // It was claimed and not sent.
  release: { sending: "pending" },
  succeed: { sending: "delivered" },
  retry: { sending: "pending" },
  // A delivery that waits can die too: it expired, or was held too long.
  give_up: { sending: "dead", pending: "dead" },
  // After a crash nobody knows what became of an attempt, so it is made again.
  recover: { sending: "pending" },
  bring_forward: { pending: "pending" },
  // An operator may skip a dead letter that blocks its ordering key.
  cancel: { pending: "cancelled", sending: "cancelled", dead: "cancelled" },
  replay: { delivered: "pending", dead: "pending", cancelled: "pending" },
};

export function nextState(from: DeliveryState, act: DeliveryAct): DeliveryState | Refused {
  return (
    TRANSITIONS[act][from] ??
    refuse("illegal_transition", `A delivery that is ${from} does not allow ${act}.`, { details: { state: from, act } })
  );
}

/** An act for SQL: the states that it takes a delivery from, as a list in brackets, and the one that it brings it to. */
export function statesOf(act: DeliveryAct): { from: string; to: number } {
  const moves = Object.entries(TRANSITIONS[act]) as [DeliveryState, DeliveryState][];
  const [to, ...others] = new Set(moves.map(([, state]) => STATE[state]));
  if (to === undefined || others.length > 0) throw new Error(`${act} leads to ${others.length + 1} states`);
  return { from: `(${moves.map(([state]) => STATE[state]).join(", ")})`, to };
}

export function isTerminal(state: DeliveryState): boolean {
  return state !== "pending" && state !== "sending";
}

/** What was cancelled by hand is neither open nor a failure. */
export const EVENT_STATUSES = ["PENDING", "COMPLETED", "FAILED"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export function deriveEventStatus(counts: {
  open: number;
  delivered: number;
  dead: number;
  cancelled: number;
}): EventStatus {
  if (counts.open > 0) return "PENDING";
  return counts.dead > 0 ? "FAILED" : "COMPLETED";
}

const PRIORITY_OFFSET_MS: Readonly<Record<Priority, number>> = {
  critical: 0,
  high: 1_000,
  normal: 5_000,
  low: 60_000,
};
const RETRY_OFFSET_MS = 30_000;
/** A delivery's rank is never further than this after the time when it is due. */
export const MAX_RANK_OFFSET_MS = PRIORITY_OFFSET_MS.low + RETRY_OFFSET_MS;

/** Priority, ageing and "first tries before retries" in one number: whatever waits long enough comes first. */
export function rankOf(nextAttemptAt: number, priority: Priority, isRetry: boolean): number {
  return nextAttemptAt + PRIORITY_OFFSET_MS[priority] + (isRetry ? RETRY_OFFSET_MS : 0);
}

/** What is replayed in bulk goes behind whatever else is due with it. */
export function rankOfReplay(now: number): number {
  return now + MAX_RANK_OFFSET_MS;
}

/** A delivery that was being sent each of this many times when the gateway stopped is taken to be the cause. */
export const MAX_RECOVERIES = 5;
