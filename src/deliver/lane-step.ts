import type { Subscription } from "../model/subscription.ts";
import { held, isActive, isBusy, type Lane } from "./lane.ts";
import { paceAllows, paceOpensAt, paceRoom, takePaceToken } from "./pace.ts";
import type { BatchLimits } from "../destinations/sender.ts";
import { PROMPT_MS } from "./subscription-state.ts";
import { probesWithoutDeliveries } from "./target.ts";

/**
 * What a lane does next. After each step the caller asks again, until the lane has to wait, rest or be forgotten.
 * `claim`: up to `limit` deliveries from the table. `move`: due deliveries to the fallback. `send`: an attempt may begin
 * as soon as a slot is free. `probe`: an attempt begins at once, to find out whether the target is back. `postpone`: a
 * probe is due, but too many other probes are running. `give back`: the ready deliveries return to the table unsent.
 * `cancel`: the subscription is deleted, and the table may still hold deliveries of it. `wait`: nothing to do until that
 * time, unless something happens. `rest`: nothing to do until something happens. `forget`: the lane has nothing left.
 */
export type Step =
  | { readonly action: "claim"; readonly limit: number }
  | { readonly action: "move"; readonly to: Subscription }
  | { readonly action: "wait"; readonly until: number }
  | { readonly action: "send" | "probe" | "postpone" | "give back" | "cancel" | "rest" | "forget" };

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

const SEND: Step = Object.freeze({ action: "send" });
const PROBE: Step = Object.freeze({ action: "probe" });
const POSTPONE: Step = Object.freeze({ action: "postpone" });
const GIVE_BACK: Step = Object.freeze({ action: "give back" });
const CANCEL: Step = Object.freeze({ action: "cancel" });
const REST: Step = Object.freeze({ action: "rest" });
const FORGET: Step = Object.freeze({ action: "forget" });
const CLAIM_ONE: Step = Object.freeze({ action: "claim", limit: 1 });
const NEVER = Number.POSITIVE_INFINITY;
const MAX_CLAIMED_AHEAD = 256;
const CLAIMED_AHEAD_PER_SLOT = 4;

/** Decides from its arguments only. Its one side effect: token buckets are filled up to `now`. */
export function nextStep(lane: Lane, subscription: Subscription | undefined, shared: SharedRoom, now: number): Step {
  if (shared.isStopping || !isActive(lane, subscription)) return stepHeld(lane, subscription, shared, now);
  if (isShut(lane)) return stepInQueue(lane, shared, now);
  const askAt = askTableAt(lane, subscription, now);
  if (askAt <= now) {
    const limit = claimLimit(lane, subscription, shared, now);
    if (limit > 0) return { action: "claim", limit };
  }
  const wakeAt = askAt > now ? askAt : NEVER;
  if (lane.ready.length === 0) return wakeAt < NEVER ? { action: "wait", until: wakeAt } : stepIdle(lane, now);
  if (isFull(lane, subscription)) return waitUntil(wakeAt);
  const goesAt = Math.max(gateOpensAt(lane, now), batchGoesAt(lane, now));
  return goesAt <= now ? SEND : waitUntil(Math.min(wakeAt, goesAt));
}

/** The step of a lane without work: it is forgotten, unless its limits must be remembered or its target is down. */
export function stepIdle(lane: Lane, now: number): Step {
  if (isBusy(lane) || lane.mayHaveMore || lane.target.mode.isOpen) return REST;
  const fullAt = lane.rateLimit?.fullAt(now) ?? now;
  return fullAt > now ? { action: "wait", until: fullAt } : FORGET;
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
  const isProbedOtherwise = probesWithoutDeliveries(target) || target.isProbing;
  if (lane.ready.length > 0) {
    return !isProbedOtherwise && shared.mayProbe && target.mode.probeAt <= now ? PROBE : GIVE_BACK;
  }
  if (shared.movesTo !== undefined && lane.mayHaveMore && lane.claiming === 0 && !lane.isMoving) {
    // Retries move at once, before their time. What was scheduled for later moves when it is due.
    return lane.movesAt <= now ? { action: "move", to: shared.movesTo } : waitUntil(lane.movesAt);
  }
  if (isProbedOtherwise || lane.claiming > 0 || !lane.mayHaveMore) return REST;
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
  return at === NEVER ? REST : { action: "wait", until: at };
}

/** The target is in QUEUE, and no round is sending either. */
function isShut({ target, round }: Lane): boolean {
  return target.mode.isOpen && round === undefined;
}

/**
 * How many deliveries are claimed beyond the free slots, so that the next send does not wait for a commit. Few for
 * lanes with few slots: a claimed delivery neither gives way to a more urgent one nor expires.
 */
function claimsAhead(lane: Lane, subscription: Subscription): number {
  // What follows in an ordering key can be claimed only when the batch before it has ended.
  if (lane.limits.keepsOrder === true) return 0;
  return Math.min(MAX_CLAIMED_AHEAD, CLAIMED_AHEAD_PER_SLOT * slotsOf(lane, subscription) * lane.limits.maxBatch);
}

/** How many attempts the lane may have in flight at once. */
function slotsOf({ limits }: Lane, { concurrency }: Subscription): number {
  const { maxInFlight } = limits;
  return maxInFlight === undefined ? concurrency : Math.min(concurrency, maxInFlight);
}

/** How many more deliveries may be in memory: those for its free slots, and those that are claimed ahead. */
function placesLeft(lane: Lane, subscription: Subscription, ahead: number): number {
  const free = slotsOf(lane, subscription) - lane.inFlight;
  return free * lane.limits.maxBatch + ahead - held(lane) - lane.claiming;
}

/** True when the table need not be asked for more: enough deliveries are ready, also for the next batch. */
function hasEnough(lane: Lane, subscription: Subscription): boolean {
  const { ready, inFlight, limits } = lane;
  const ahead = claimsAhead(lane, subscription) / 2;
  if (ready.length <= ahead) return false;
  return inFlight >= slotsOf(lane, subscription) || isWholeBatch(ready.length, lane.readyBytes, limits);
}

function isWholeBatch(count: number, bytes: number, { maxBatch, maxBytes }: BatchLimits): boolean {
  return count >= maxBatch || (maxBytes !== undefined && bytes >= maxBytes);
}

/** When rate limit, pace and round allow the next attempt; infinite while a batch of the round must end first. */
function gateOpensAt({ round, rateLimit, limits, target }: Lane, now: number): number {
  if (round !== undefined && round.room <= 0) return NEVER;
  const ratesAllowAt = Math.max(rateLimit?.readyAt(now) ?? now, limits.sharedRate?.readyAt(now) ?? now);
  return Math.max(ratesAllowAt, paceOpensAt(target.pace, now));
}

/** How many more deliveries rate limit, pace and round allow now, beyond those in memory or being claimed. */
function tokensLeft(lane: Lane, now: number): number {
  const attempts = Math.min(
    lane.rateLimit?.available(now) ?? NEVER,
    lane.limits.sharedRate?.available(now) ?? NEVER,
    paceAllows(lane.target.pace, now),
    lane.round?.room ?? NEVER,
  );
  return attempts * lane.limits.maxBatch - held(lane) - lane.claiming;
}

/** Takes one token of each limit for an attempt, whatever its size. */
export function takeTokens({ rateLimit, limits, target }: Lane, now: number): void {
  rateLimit?.take(now);
  limits.sharedRate?.take(now);
  takePaceToken(target.pace, now);
}

/** The lane has the maximum number of attempts in flight. */
function isFull(lane: Lane, subscription: Subscription): boolean {
  return lane.inFlight >= paceRoom(lane.target.pace, slotsOf(lane, subscription));
}

/**
 * When the ready deliveries are sent as a batch: at once when the batch is full, otherwise after a short wait for more.
 */
function batchGoesAt({ ready, readyBytes, readySince, claiming, limits }: Lane, now: number): number {
  if (isWholeBatch(ready.length, readyBytes, limits)) return now;
  // A claim is answered soon, and its deliveries can go in the same batch.
  return claiming > 0 ? NEVER : (readySince ?? now) + limits.lingerMs;
}

/** Whether an attempt may begin now. */
export function maySend(lane: Lane, subscription: Subscription | undefined, now: number): subscription is Subscription {
  if (!isActive(lane, subscription) || isShut(lane) || isFull(lane, subscription)) return false;
  return gateOpensAt(lane, now) <= now && batchGoesAt(lane, now) <= now;
}

/** No attempt in flight has ended for a while. A single slow attempt does not count: it may be an exception. */
export function isSilent({ inFlight, lastAnswerAt }: Lane, now: number): boolean {
  return inFlight > 1 && now - lastAnswerAt > PROMPT_MS;
}

/** Whether a delivery that is due now waits longer than `byMs`, for older deliveries or for a rate limit. */
export function isBehind(lane: Lane, byMs: number, now: number): boolean {
  return lane.isBehind || lane.isBeingSuspended || gateOpensAt(lane, now) > now + byMs;
}

/** Whether a new delivery may be recorded as being sent; `room` is the lane's free space in memory. */
export function admitsNew(lane: Lane, subscription: Subscription, room: number, now: number): boolean {
  if (!isActive(lane, subscription) || lane.target.mode.isOpen || room <= 0) return false;
  // With one attempt at a time, deliveries go in order: they come from the table, where none can overtake another that
  // is just being recorded.
  if (lane.limits.maxInFlight === 1) return false;
  const ahead = claimsAhead(lane, subscription);
  if (placesLeft(lane, subscription, ahead) <= 0) return false;
  // A few deliveries that wait in the table are claimed soon, as long as new deliveries leave them room.
  const hasDue = lane.mayHaveMore && lane.nextDueAt <= now;
  if (hasDue && (lane.isBehind || held(lane) >= ahead / 2)) return false;
  // A delivery that has to wait for a token should stay unclaimed.
  return tokensLeft(lane, now) > 0;
}

/** Whether a test of a suspended subscription may go: its destination must be tested before it is resumed. */
export function admitsTest(lane: Lane, subscription: Subscription | undefined, now: number): boolean {
  if (subscription?.status !== "suspended" || lane.isBeingSuspended) return false;
  return placesLeft(lane, subscription, 0) > 0 && tokensLeft(lane, now) > 0;
}

/** Whether the next delivery of an ordering key may take the place of the finished one and go at once. */
export function admitsNext(lane: Lane, subscription: Subscription, now: number): boolean {
  return subscription.status === "active" && !isShut(lane) && tokensLeft(lane, now) > 0;
}
