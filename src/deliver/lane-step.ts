import type { Subscription } from "../domain/subscription.ts";
import { isBusy, type Lane } from "./lane.ts";
import {
  batchGoesAt,
  claimsAhead,
  gateOpensAt,
  hasEnough,
  isActive,
  isFull,
  isShut,
  placesLeft,
  tokensLeft,
} from "./lanes/lane-gates.ts";
import { sparesDeliveries } from "./target.ts";

/** What a lane does next. After each step the caller asks again, until the lane has to wait, rest or be forgotten. */
export type Step = ClaimStep | WaitStep | MoveStep | { readonly act: PlainAct };

/** Claims up to `limit` deliveries from the table. */
export interface ClaimStep {
  readonly act: "claim";
  readonly limit: number;
}

/** Moves due deliveries to the fallback. */
export interface MoveStep {
  readonly act: "move";
  readonly to: Subscription;
}

/** Nothing to do until that time, unless something happens. */
export interface WaitStep {
  readonly act: "wait";
  readonly until: number;
}

/**
 * `send`: an attempt may begin as soon as a slot is free. `probe`: an attempt begins at once, to find out whether the
 * target is back. `postpone`: a probe is due, but too many other probes are running. `give back`: the ready deliveries
 * return to the table unsent. `cancel`: the subscription is deleted, and the table may still hold deliveries of it.
 * `rest`: nothing to do until something happens. `forget`: the lane has nothing left.
 */
export type PlainAct = "send" | "probe" | "postpone" | "give back" | "cancel" | "rest" | "forget";

/** What a lane shares with all other lanes. */
export interface SharedRoom {
  isStopping: boolean;
  /** How many more deliveries the lane may claim into memory. */
  claims: number;
  /** Whether another probe may begin. */
  mayProbe: boolean;
  /** The fallback that gets waiting deliveries while the target is down. */
  movesTo?: Subscription | undefined;
}

const SEND: Step = Object.freeze({ act: "send" });
const PROBE: Step = Object.freeze({ act: "probe" });
const POSTPONE: Step = Object.freeze({ act: "postpone" });
const GIVE_BACK: Step = Object.freeze({ act: "give back" });
const CANCEL: Step = Object.freeze({ act: "cancel" });
const REST: Step = Object.freeze({ act: "rest" });
const FORGET: Step = Object.freeze({ act: "forget" });
const CLAIM_ONE: Step = Object.freeze({ act: "claim", limit: 1 });
const NEVER = Number.POSITIVE_INFINITY;

/** Decides from its arguments only. Its one side effect: token buckets are filled up to `now`. */
export function nextStep(lane: Lane, subscription: Subscription | undefined, shared: SharedRoom, now: number): Step {
  if (shared.isStopping || !isActive(lane, subscription)) return stepHeld(lane, subscription, shared, now);
  if (isShut(lane)) return stepInQueue(lane, shared, now);
  const askAt = askTableAt(lane, subscription, now);
  if (askAt <= now) {
    const limit = claimLimit(lane, subscription, shared, now);
    if (limit > 0) return { act: "claim", limit };
  }
  const wakeAt = askAt > now ? askAt : NEVER;
  if (lane.ready.length === 0) return wakeAt < NEVER ? { act: "wait", until: wakeAt } : stepIdle(lane, now);
  if (isFull(lane, subscription)) return waitUntil(wakeAt);
  const goesAt = Math.max(gateOpensAt(lane, now), batchGoesAt(lane, now));
  return goesAt <= now ? SEND : waitUntil(Math.min(wakeAt, goesAt));
}

/** The step of a lane without work: it is forgotten, unless its limits must be remembered or its target is down. */
export function stepIdle(lane: Lane, now: number): Step {
  if (isBusy(lane) || lane.mayHaveMore || lane.target.mode.isOpen) return REST;
  const fullAt = lane.rateLimit?.fullAt(now) ?? now;
  return fullAt > now ? { act: "wait", until: fullAt } : FORGET;
}

/** Nothing is sent: the subscription is paused, suspended or deleted, or the scheduler stops. */
function stepHeld(lane: Lane, subscription: Subscription | undefined, shared: SharedRoom, now: number): Step {
  if (lane.ready.length > 0) return GIVE_BACK;
  if (subscription === undefined && lane.mayHaveMore && !shared.isStopping) return CANCEL;
  if (subscription !== undefined && !shared.isStopping) return stepIdle(lane, now);
  // The target's state no longer matters for a deleted subscription, nor when the scheduler stops.
  return isBusy(lane) || lane.mayHaveMore ? REST : FORGET;
}

/** The target is in QUEUE: one delivery at a time probes whether it is back, unless a health check does. */
function stepInQueue(lane: Lane, shared: SharedRoom, now: number): Step {
  const { target } = lane;
  const isFoundOut = sparesDeliveries(target) || target.isProbing;
  if (lane.ready.length > 0) {
    return !isFoundOut && shared.mayProbe && target.mode.probeAt <= now ? PROBE : GIVE_BACK;
  }
  if (shared.movesTo !== undefined && lane.mayHaveMore && lane.claiming === 0 && !lane.isMoving) {
    // Retries move at once, before their time. What was scheduled for later moves when it is due.
    return lane.movesAt <= now ? { act: "move", to: shared.movesTo } : waitUntil(lane.movesAt);
  }
  if (isFoundOut || lane.claiming > 0 || !lane.mayHaveMore) return REST;
  const at = Math.max(target.mode.probeAt, lane.nextDueAt);
  if (at > now) return waitUntil(at);
  return shared.mayProbe ? CLAIM_ONE : POSTPONE;
}

/** When to ask the table: never while it is being asked, holds nothing, or enough deliveries are ready. */
function askTableAt(lane: Lane, subscription: Subscription, now: number): number {
  if (!lane.mayHaveMore || lane.claiming > 0 || hasEnough(lane, subscription)) return NEVER;
  if (lane.nextDueAt > now) return lane.nextDueAt;
  const isEmpty = lane.ready.length + lane.reserved === 0;
  return isEmpty && tokensLeft(lane, now) <= 0 ? gateOpensAt(lane, now) : now;
}

/** Only as many as may go soon: a throttled lane claims no more than it has tokens for. */
function claimLimit(lane: Lane, subscription: Subscription, shared: SharedRoom, now: number): number {
  const tokens = tokensLeft(lane, now);
  const ahead = tokens < NEVER ? 0 : claimsAhead(lane, subscription);
  return Math.min(placesLeft(lane, subscription, ahead), tokens, shared.claims);
}

function waitUntil(at: number): Step {
  // A lane that waits for no point in time is woken by an event.
  return at === NEVER ? REST : { act: "wait", until: at };
}
