import type { Subscription } from "../../domain/subscription.ts";
import { PROMPT_MS, held, type Lane } from "../lane.ts";
import type { BatchLimits } from "../senders/sender.ts";
import { notePaced, paceAllows, paceOpensAt, paceRoom } from "../pace.ts";

/** What allows a lane to send and what holds it back: its subscription, rate limit, target and round. */

const NEVER = Number.POSITIVE_INFINITY;
const MAX_CLAIMED_AHEAD = 256;
const CLAIMED_AHEAD_PER_SLOT = 4;

/** Whether the subscription allows sending. */
export function isActive({ isGone }: Lane, subscription: Subscription | undefined): subscription is Subscription {
  return subscription?.status === "active" && !isGone;
}

/** The target is in QUEUE, and no round is sending either. */
export function isShut({ target, round }: Lane): boolean {
  return target.mode.isOpen && round === undefined;
}

/**
 * How many deliveries are claimed beyond the free slots, so that the next send does not wait for a commit. Few for
 * lanes with few slots: a claimed delivery neither gives way to a more urgent one nor expires.
 */
export function claimsAhead(lane: Lane, subscription: Subscription): number {
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
export function placesLeft(lane: Lane, subscription: Subscription, ahead: number): number {
  const free = slotsOf(lane, subscription) - lane.inFlight;
  return free * lane.limits.maxBatch + ahead - held(lane) - lane.claiming;
}

/** True when the table need not be asked for more: enough deliveries are ready, also for the next batch. */
export function hasEnough(lane: Lane, subscription: Subscription): boolean {
  const { ready, inFlight, limits } = lane;
  const ahead = claimsAhead(lane, subscription) / 2;
  if (ready.length <= ahead) return false;
  return inFlight >= slotsOf(lane, subscription) || isWholeBatch(ready.length, lane.readyBytes, limits);
}

function isWholeBatch(count: number, bytes: number, { maxBatch, maxBytes }: BatchLimits): boolean {
  return count >= maxBatch || (maxBytes !== undefined && bytes >= maxBytes);
}

/** When rate limit, pace and round allow the next attempt; infinite while a batch of the round must end first. */
export function gateOpensAt({ round, rateLimit, limits, target }: Lane, now: number): number {
  if (round !== undefined && round.room <= 0) return NEVER;
  const ratesAllowAt = Math.max(rateLimit?.readyAt(now) ?? now, limits.sharedRate?.readyAt(now) ?? now);
  return Math.max(ratesAllowAt, paceOpensAt(target.pace, now));
}

/** How many more deliveries rate limit, pace and round allow now, beyond those in memory or being claimed. */
export function tokensLeft(lane: Lane, now: number): number {
  const attempts = Math.min(
    lane.rateLimit?.available(now) ?? NEVER,
    lane.limits.sharedRate?.available(now) ?? NEVER,
    paceAllows(lane.target.pace, now),
    lane.round?.room ?? NEVER,
  );
  return attempts * lane.limits.maxBatch - held(lane) - lane.claiming;
}

/** Takes one token of each limit for an attempt, whatever its size. */
export function noteSent({ rateLimit, limits, target }: Lane, now: number): void {
  rateLimit?.take(now);
  limits.sharedRate?.take(now);
  notePaced(target.pace, now);
}

/** The lane has the maximum number of attempts in flight. */
export function isFull(lane: Lane, subscription: Subscription): boolean {
  return lane.inFlight >= paceRoom(lane.target.pace, slotsOf(lane, subscription));
}

/**
 * When the ready deliveries are sent as a batch: at once when the batch is full, otherwise after a short wait for more.
 */
export function batchGoesAt({ ready, readyBytes, readySince, claiming, limits }: Lane, now: number): number {
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
export function isSilent({ inFlight, heardAt }: Lane, now: number): boolean {
  return inFlight > 1 && now - heardAt > PROMPT_MS;
}

/** Whether a delivery that is due now waits longer than `byMs`, for older deliveries or for a rate limit. */
export function isBehind(lane: Lane, byMs: number, now: number): boolean {
  return lane.isBehind || lane.isGone || gateOpensAt(lane, now) > now + byMs;
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
  if (subscription?.status !== "suspended" || lane.isGone) return false;
  return placesLeft(lane, subscription, 0) > 0 && tokensLeft(lane, now) > 0;
}

/** Whether the next delivery of an ordering key may take the place of the finished one and go at once. */
export function admitsNext(lane: Lane, subscription: Subscription, now: number): boolean {
  return subscription.status === "active" && !isShut(lane) && tokensLeft(lane, now) > 0;
}
