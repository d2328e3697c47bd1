import type { Subscription } from "../../domain/subscription.ts";
import { PROMPT_MS, held, type Lane } from "./lane.ts";
import type { BatchLimits } from "../senders/sender.ts";
import { notePaced, paceAllows, paceOpensAt, paceRoom } from "../targets/pace.ts";

/** What lets the deliveries of a lane go, and what holds them back: its subscription, rate limit, target and round. */

const NEVER = Number.POSITIVE_INFINITY;
const MAX_CLAIMED_AHEAD = 256;
const CLAIMED_AHEAD_PER_SLOT = 4;

/** Whether its subscription lets anything go. */
export function isActive({ isGone }: Lane, subscription: Subscription | undefined): subscription is Subscription {
  return subscription?.status === "active" && !isGone;
}

/** Its target is in QUEUE, and nothing is sent all the same. */
export function isShut({ target, round }: Lane): boolean {
  return target.mode.isOpen && round === undefined;
}

/**
 * Claimed ahead of free slots, so that the next send does not wait for a commit. Few where few go at once: what is
 * claimed neither makes way for what is more urgent nor expires.
 */
export function claimsAhead(lane: Lane, subscription: Subscription): number {
  return Math.min(MAX_CLAIMED_AHEAD, CLAIMED_AHEAD_PER_SLOT * slotsOf(lane, subscription) * lane.limits.maxBatch);
}

/** Attempts that it may have in flight at once. */
function slotsOf({ limits }: Lane, { concurrency }: Subscription): number {
  const { maxInFlight } = limits;
  return maxInFlight === undefined ? concurrency : Math.min(concurrency, maxInFlight);
}

/** How many more deliveries may be in memory: what its free slots take, and as many as are claimed ahead. */
export function placesLeft(lane: Lane, subscription: Subscription, ahead: number): number {
  const free = slotsOf(lane, subscription) - lane.inFlight;
  return free * lane.limits.maxBatch + ahead - held(lane) - lane.claiming;
}

/** Whether the table need not be asked for more: enough is ready, also for the batch that goes next. */
export function hasEnough(lane: Lane, subscription: Subscription): boolean {
  const { ready, inFlight, limits } = lane;
  const ahead = claimsAhead(lane, subscription) / 2;
  if (ready.length <= ahead) return false;
  return inFlight >= slotsOf(lane, subscription) || isWholeBatch(ready.length, lane.readyBytes, limits);
}

function isWholeBatch(count: number, bytes: number, { maxBatch, maxBytes }: BatchLimits): boolean {
  return count >= maxBatch || (maxBytes !== undefined && bytes >= maxBytes);
}

/** When rate limit, pace and round let the next attempt begin; infinite while a batch of the round must end first. */
export function gateOpensAt({ round, rateLimit, limits, target }: Lane, now: number): number {
  if (round !== undefined && round.room <= 0) return NEVER;
  const ratesAllowAt = Math.max(rateLimit?.readyAt(now) ?? now, limits.sharedRate?.readyAt(now) ?? now);
  return Math.max(ratesAllowAt, paceOpensAt(target.pace, now));
}

/** How many more deliveries, beyond those that are held, rate limit, pace and round let go now. */
export function tokensLeft(lane: Lane, now: number): number {
  const attempts = Math.min(
    lane.rateLimit?.available(now) ?? NEVER,
    lane.limits.sharedRate?.available(now) ?? NEVER,
    paceAllows(lane.target.pace, now),
    lane.round?.room ?? NEVER,
  );
  return attempts * lane.limits.maxBatch - held(lane);
}

/** An attempt begins, whatever its size. */
export function noteSent({ rateLimit, limits, target }: Lane, now: number): void {
  rateLimit?.take(now);
  limits.sharedRate?.take(now);
  notePaced(target.pace, now);
}

/** As many attempts as may be are in flight. */
export function isFull(lane: Lane, subscription: Subscription): boolean {
  return lane.inFlight >= paceRoom(lane.target.pace, slotsOf(lane, subscription));
}

/** When what is ready is a batch: at once when it is full, else after a while in which more may come. */
export function batchGoesAt({ ready, readyBytes, readySince, claiming, limits }: Lane, now: number): number {
  if (isWholeBatch(ready.length, readyBytes, limits)) return now;
  // A claim is answered soon, and what it brings may go with it.
  return claiming > 0 ? NEVER : (readySince ?? now) + limits.lingerMs;
}

/** Whether an attempt may begin now. */
export function maySend(lane: Lane, subscription: Subscription | undefined, now: number): subscription is Subscription {
  if (!isActive(lane, subscription) || isShut(lane) || isFull(lane, subscription)) return false;
  return gateOpensAt(lane, now) <= now && batchGoesAt(lane, now) <= now;
}

/** Nothing comes back soon of what is in flight. One alone may be an odd one out. */
export function isSilent({ inFlight, heardAt }: Lane, now: number): boolean {
  return inFlight > 1 && now - heardAt > PROMPT_MS;
}

/** Whether what is due now waits for longer than this: for older ones, or for a rate. */
export function isBehind(lane: Lane, byMs: number, now: number): boolean {
  return lane.isBehind || lane.isGone || gateOpensAt(lane, now) > now + byMs;
}

/** Whether a new delivery may be recorded as being sent; `room` is what the memory has for the lane. */
export function admitsNew(lane: Lane, subscription: Subscription, room: number, now: number): boolean {
  if (!isActive(lane, subscription) || lane.target.mode.isOpen || room <= 0) return false;
  // What goes one after the other goes in order: out of the table, where none overtakes another that is being recorded.
  if (lane.limits.maxInFlight === 1) return false;
  const ahead = claimsAhead(lane, subscription);
  if (placesLeft(lane, subscription, ahead) <= 0) return false;
  // A few that wait in the table are claimed soon, as long as those that are born leave them room.
  const hasDue = lane.mayHaveMore && lane.nextDueAt <= now;
  if (hasDue && (lane.isBehind || held(lane) >= ahead / 2)) return false;
  // A delivery that has to wait for its token is better off unclaimed.
  return tokensLeft(lane, now) > 0;
}

/** Whether the next of an ordering key may take the place of the one that is done, and go at once. */
export function admitsNext(lane: Lane, subscription: Subscription, now: number): boolean {
  return subscription.status === "active" && !isShut(lane) && tokensLeft(lane, now) > 0;
}
