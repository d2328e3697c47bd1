import type { Priority } from "./event.ts";
import { refuse, type Refused } from "./errors.ts";
import { formatDeliveryId, parseDeliveryId } from "./ids.ts";

/** A delivery is one event for one subscription: its states, and its place in the lane. */

/** The number that stores write for a state. SQL takes the numbers from here. */
export const STATE = { pending: 0, sending: 1, delivered: 2, dead: 3, cancelled: 4 } as const;
export type DeliveryState = keyof typeof STATE;
export const DELIVERY_STATES = Object.keys(STATE) as readonly DeliveryState[];
/** The open states come first: a delivery with this number or a higher one has ended. */
export const ENDED = STATE.delivered;

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
  "damaged",
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

type Transition = Partial<Record<DeliveryState, DeliveryState>>;

const TRANSITIONS = {
  claim: { pending: "sending" },
  // The delivery was claimed but not sent.
  release: { sending: "pending" },
  succeed: { sending: "delivered" },
  retry: { sending: "pending" },
  // A waiting delivery can die too: it expired, or was held too long.
  give_up: { sending: "dead", pending: "dead" },
  // After a crash the result of an attempt is unknown, so the attempt is repeated.
  recover: { sending: "pending" },
  bring_forward: { pending: "pending" },
  // An operator may skip a dead letter that blocks its ordering key.
  cancel: { pending: "cancelled", sending: "cancelled", dead: "cancelled" },
  replay: { delivered: "pending", dead: "pending", cancelled: "pending" },
} as const satisfies Record<string, Transition>;

export type DeliveryAction = keyof typeof TRANSITIONS;
export const DELIVERY_ACTIONS = Object.keys(TRANSITIONS) as readonly DeliveryAction[];

export function nextState(from: DeliveryState, act: DeliveryAction): DeliveryState | Refused {
  const transition: Transition = TRANSITIONS[act];
  return (
    transition[from] ??
    refuse("illegal_transition", `The delivery is ${from}: ${act} is not possible.`, { details: { state: from, act } })
  );
}

/** An action for SQL: the states that allow it, as a list in parentheses, and the state that it leads to. */
export function statesOf(act: DeliveryAction): { from: string; to: number } {
  const moves = Object.entries(TRANSITIONS[act]) as [DeliveryState, DeliveryState][];
  const [to, ...others] = new Set(moves.map(([, state]) => STATE[state]));
  if (to === undefined || others.length > 0) throw new Error(`${act} leads to ${others.length + 1} states`);
  return { from: `(${moves.map(([state]) => STATE[state]).join(", ")})`, to };
}

export function isTerminal(state: DeliveryState): boolean {
  return state !== "pending" && state !== "sending";
}

/** Cancelled deliveries count neither as open nor as failed. */
export const EVENT_STATUSES = ["PENDING", "COMPLETED", "FAILED"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export interface DeliveryCounts {
  deliveryCount: number;
  open: number;
  delivered: number;
  dead: number;
  cancelled: number;
}

/** An event with the counts that its tenant sees, and apart those of operators' subscriptions for several tenants. */
export interface CountedEvent extends DeliveryCounts {
  operators: DeliveryCounts;
}

/** For a tenant, or for those who are bound to none. */
export function countsSeenBy(tenantId: string | undefined, event: CountedEvent): DeliveryCounts {
  const { operators } = event;
  if (tenantId !== undefined || operators.deliveryCount === 0) return event;
  return {
    deliveryCount: event.deliveryCount + operators.deliveryCount,
    open: event.open + operators.open,
    delivered: event.delivered + operators.delivered,
    dead: event.dead + operators.dead,
    cancelled: event.cancelled + operators.cancelled,
  };
}

export function deriveEventStatus(counts: Pick<DeliveryCounts, "open" | "dead">): EventStatus {
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
/** A delivery's rank is at most this much later than the time when it is due. */
export const MAX_RANK_OFFSET_MS = PRIORITY_OFFSET_MS.low + RETRY_OFFSET_MS;

/**
 * Combines priority, ageing and "first attempts before retries" in one number: a delivery that waits long enough comes
 * first.
 */
export function rankOf(nextAttemptAt: number, priority: Priority, isRetry: boolean): number {
  return nextAttemptAt + PRIORITY_OFFSET_MS[priority] + (isRetry ? RETRY_OFFSET_MS : 0);
}

/** Deliveries replayed in bulk go behind all others that are due at the same time. */
export function rankOfReplay(now: number): number {
  return now + MAX_RANK_OFFSET_MS;
}

/** A delivery that was being sent at this many crashes in a row is assumed to cause them. */
export const MAX_RECOVERIES = 5;

/** A delivery that was moved to another subscription says so in its last error. */
export const MOVED = "moved to ";

export function describeMove(eventSeq: number, subscriptionSeq: number): string {
  return `${MOVED}${formatDeliveryId(eventSeq, subscriptionSeq)}`;
}

/** The subscription that the delivery was moved to. */
export function readMove(lastError: string | null | undefined): number | undefined {
  return lastError?.startsWith(MOVED) === true
    ? parseDeliveryId(lastError.slice(MOVED.length))?.subscriptionSeq
    : undefined;
}

/** The deliveries that have not ended, by the counters of a subscription or the sum of several. */
export function countOpen(row: { created: number; delivered: number; dead: number; cancelled: number } | undefined) {
  return row === undefined ? 0 : row.created - row.delivered - row.dead - row.cancelled;
}
