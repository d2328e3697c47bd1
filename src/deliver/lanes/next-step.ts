import type { Subscription } from "../../domain/subscription.ts";
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
} from "./lane-gates.ts";
import { sparesDeliveries } from "../targets/target.ts";

/** What a lane does next. Whoever carries a step out asks again, until it has to wait, to rest or to be forgotten. */
export type Step = ClaimStep | WaitStep | MoveStep | { readonly act: PlainAct };

/** Asks the table for up to so many. */
export interface ClaimStep {
  readonly act: "claim";
  readonly limit: number;
}

/** Hands what is due over to the fallback. */
export interface MoveStep {
  readonly act: "move";
  readonly to: Subscription;
}

/** Nothing to do before, unless something happens. */
export interface WaitStep {
  readonly act: "wait";
  readonly until: number;
}

/**
 * `send`: an attempt may begin, as soon as there is a slot. `probe`: one begins at once, to find out whether the target
 * is back. `postpone`: the probe is due, and too many others are under way. `give back`: what is ready goes back to the
 * table unsent. `cancel`: the subscription is deleted, and the table may hold something for it. `rest`: until something
 * happens. `forget`: nothing is left of the lane.
 */
export type PlainAct = "send" | "probe" | "postpone" | "give back" | "cancel" | "rest" | "forget";

/** What a lane has to share with all others. */
export interface SharedRoom {
  isStopping: boolean;
  /** How many more deliveries it may claim into memory. */
  claims: number;
  /** Whether one more may be probed. */
  mayProbe: boolean;
  /** Who takes what waits while its target is down. */
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

/** Decides by what it is given, and changes nothing but that buckets of tokens are filled up to `now`. */
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

/** Of a lane that has nothing to do: forgotten, unless its limits would be forgotten with it, or its target is down. */
export function stepIdle(lane: Lane, now: number): Step {
  if (isBusy(lane) || lane.mayHaveMore || lane.target.mode.isOpen) return REST;
  const fullAt = lane.rateLimit?.fullAt(now) ?? now;
  return fullAt > now ? { act: "wait", until: fullAt } : FORGET;
}

/** Nothing is sent: its subscription is paused, suspended or deleted, or all stop. */
function stepHeld(lane: Lane, subscription: Subscription | undefined, shared: SharedRoom, now: number): Step {
  if (lane.ready.length > 0) return GIVE_BACK;
  if (subscription === undefined && lane.mayHaveMore && !shared.isStopping) return CANCEL;
  if (subscription !== undefined && !shared.isStopping) return stepIdle(lane, now);
  // Of one that is deleted, nobody needs to know how its target is; nor of any when all stop.
  return isBusy(lane) || lane.mayHaveMore ? REST : FORGET;
}

/** Its target is in QUEUE: one delivery at a time finds out whether it is back, unless that is found out otherwise. */
function stepInQueue(lane: Lane, shared: SharedRoom, now: number): Step {
  const { target } = lane;
  const isFoundOut = sparesDeliveries(target) || target.isProbing;
  if (lane.ready.length > 0) {
    return !isFoundOut && shared.mayProbe && target.mode.probeAt <= now ? PROBE : GIVE_BACK;
  }
  if (shared.movesTo !== undefined && lane.mayHaveMore && lane.claiming === 0 && !lane.isMoving) {
    // Retries need not wait for their time; the rest is to be delivered later.
    const isDue = !lane.isMovedOut || lane.nextDueAt <= now;
    return isDue ? { act: "move", to: shared.movesTo } : waitUntil(lane.nextDueAt);
  }
  if (isFoundOut || lane.claiming > 0 || !lane.mayHaveMore) return REST;
  const at = Math.max(target.mode.probeAt, lane.nextDueAt);
  if (at > now) return waitUntil(at);
  return shared.mayProbe ? CLAIM_ONE : POSTPONE;
}

/** When the table is worth asking: never while it is being asked, holds nothing, or enough is ready. */
function askTableAt(lane: Lane, subscription: Subscription, now: number): number {
  if (!lane.mayHaveMore || lane.claiming > 0 || hasEnough(lane, subscription)) return NEVER;
  if (lane.nextDueAt > now) return lane.nextDueAt;
  const isEmpty = lane.ready.length + lane.reserved === 0;
  return isEmpty && tokensLeft(lane, now) <= 0 ? gateOpensAt(lane, now) : now;
}

/** Only as many as may go soon: a throttled lane claims for the tokens that it has and no more. */
function claimLimit(lane: Lane, subscription: Subscription, shared: SharedRoom, now: number): number {
  const tokens = tokensLeft(lane, now);
  const ahead = tokens < NEVER ? 0 : claimsAhead(lane, subscription);
  return Math.min(placesLeft(lane, subscription, ahead), tokens, shared.claims);
}

function waitUntil(at: number): Step {
  // What waits for no time is woken by what it waits for.
  return at === NEVER ? REST : { act: "wait", until: at };
}
