import type { Clock, Random } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery, Store } from "../store/store.ts";
import { BREAKER, noteFailure, noteRate, noteSuccess, type BreakerState } from "./breaker.ts";
import type { Dispatch } from "./dispatch.ts";
import { CLAIM_AHEAD, createLane, isIdle, occupied, rateOf, type Lane } from "./lane.ts";
import { createSlots } from "./slots.ts";
import { decide, type Decision } from "./settle.ts";
import type { AttemptReport } from "./senders/sender.ts";
import { createTokenBucket } from "./token-bucket.ts";

/**
 * Decides what is sent next. A lane exists only while its subscription has work; the table holds the rest. Every
 * delivery in memory is claimed in the store first, so that a crash can tell what was being sent.
 */
export interface Scheduler {
  /** Whether a new delivery may be born as being sent; if so, a place is kept until `born` or `unreserve`. */
  reserve(subscription: Subscription, dueAt: number, bodyBytes: number): boolean;
  unreserve(subscription: Subscription): void;
  /** A delivery for which a place was kept has been recorded. */
  born(delivery: ClaimedDelivery): void;
  /** The table holds a new pending delivery of this lane. */
  notePending(subscription: Subscription, dueAt: number): void;
  /** The subscription was changed, paused, resumed or deleted. */
  refresh(subscriptionSeq: number): void;
  /** Lanes as they are now, for status and metrics. */
  lanes(): Iterable<Lane>;
  findBreaker(subscriptionSeq: number): BreakerState | undefined;
  readonly inFlight: number;
  /** Starts from what the store holds. */
  start(): Promise<void>;
  /** Sends nothing new, gives back what was not sent, and resolves when nothing is in flight or time is over. */
  stop(deadlineMs: number): Promise<void>;
}

export interface SchedulerOptions {
  store: Store;
  dispatch: Dispatch;
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  maxInFlight: number;
  maxBodyBytes: number;
  onAttempt?:
    | ((subscription: Subscription, delivery: ClaimedDelivery, report: AttemptReport, decision: Decision) => void)
    | undefined;
  /** The breaker as it was before a restart. */
  findSavedBreaker?: ((subscriptionSeq: number) => BreakerState | undefined) | undefined;
  onBreaker: (subscription: Subscription, change: "opened" | "closed", breaker: BreakerState) => void;
  onSuspend: (subscription: Subscription, reason: string) => void;
}

const SETTLE_AGAIN_MS = 1000;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, dispatch, clock, random, findSubscription } = options;
  const lanes = new Map<number, Lane>();
  const slots = createSlots(options.maxInFlight);
  let bodyBytes = 0;
  const waitingForRoom = new Set<Lane>();
  let isStopping = false;
  let isRunning = false;
  let unsettled = 0;
  let onQuiet: (() => void) | undefined;

  function laneOf(subscription: Subscription): Lane {
    let lane = lanes.get(subscription.seq);
    if (lane === undefined) {
      lane = createLane(subscription, clock.now());
      lane.breaker = options.findSavedBreaker?.(subscription.seq) ?? lane.breaker;
      lanes.set(subscription.seq, lane);
    }
    return lane;
  }

  function isOpenForBirth(lane: Lane, subscription: Subscription, now: number): boolean {
    if (isStopping || subscription.status !== "active" || lane.breaker.isOpen || lane.mayHaveMore) return false;
    if (occupied(lane) >= subscription.concurrency + CLAIM_AHEAD) return false;
    // A delivery that has to wait for its token is better off unclaimed.
    return lane.reserved + lane.ready.length === 0 || gateOpensAt(lane, now) <= now;
  }

  /** When rate limit and slow start let the next delivery go. */
  function gateOpensAt(lane: Lane, now: number): number {
    if (lane.slowStart !== undefined && now >= lane.breaker.slowStartUntil) lane.slowStart = undefined;
    return Math.max(lane.rate?.readyAt(now) ?? now, lane.slowStart?.readyAt(now) ?? now);
  }

  /** Brings the lane to where its next step is: a send, a claim, a timer, or oblivion. */
  function advance(lane: Lane): void {
    const subscription = findSubscription(lane.seq);
    if (subscription === undefined || subscription.status !== "active" || isStopping) {
      giveBack(lane);
      if (isIdle(lane) || subscription === undefined) forget(lane);
      return;
    }
    const now = clock.now();
    if (lane.breaker.isOpen) return advanceOpen(lane, now);
    claimMore(lane, subscription, now);
    if (lane.ready.length === 0) {
      if (isIdle(lane)) forget(lane);
      return;
    }
    if (lane.inFlight >= subscription.concurrency) return;
    const opensAt = gateOpensAt(lane, now);
    if (opensAt > now) return wakeAt(lane, opensAt);
    slots.enqueue(lane);
    run();
  }

  function advanceOpen(lane: Lane, now: number): void {
    giveBack(lane);
    if (lane.isProbing || lane.claiming > 0 || !lane.mayHaveMore) return;
    const at = Math.max(lane.breaker.probeAt, lane.nextDueAt);
    if (at > now) return wakeAt(lane, at);
    startClaim(lane, 1, now);
  }

  function claimMore(lane: Lane, subscription: Subscription, now: number): void {
    if (!lane.mayHaveMore || lane.claiming > 0 || lane.ready.length > CLAIM_AHEAD / 2) return;
    if (lane.nextDueAt > now) return wakeAt(lane, lane.nextDueAt);
    // Only as many as may go soon: a throttled lane claims for its next tokens and no more.
    const isThrottled = lane.rate !== undefined || lane.slowStart !== undefined;
    const opensAt = isThrottled ? gateOpensAt(lane, now) : now;
    if (opensAt > now) return wakeAt(lane, opensAt);
    const ahead = isThrottled ? 0 : CLAIM_AHEAD;
    const room = Math.min(subscription.concurrency + ahead - occupied(lane), slots.claimRoom());
    if (room > 0) startClaim(lane, isThrottled ? 1 : room, now);
    else if (slots.claimRoom() <= 0) waitingForRoom.add(lane);
  }

  function startClaim(lane: Lane, limit: number, now: number): void {
    lane.claiming = limit;
    lane.spilledDueAt = Number.POSITIVE_INFINITY;
    slots.claimed += limit;
    store.claim({ subscriptionSeq: lane.seq, limit, now }, ({ claimed, nextDueAt }) => {
      lane.claiming = 0;
      slots.claimed -= limit;
      // What was spilled since may have come too late for this claim to see it.
      lane.nextDueAt = Math.min(nextDueAt ?? Number.POSITIVE_INFINITY, lane.spilledDueAt);
      lane.mayHaveMore = lane.nextDueAt < Number.POSITIVE_INFINITY;
      for (const delivery of claimed) makeReady(lane, delivery);
      if (lane.breaker.isOpen && lane.ready.length > 0 && !isStopping) probe(lane);
      else advance(lane);
      useRoom();
    });
  }

  function useRoom(): void {
    for (const lane of waitingForRoom) {
      if (slots.claimRoom() <= 0) return;
      waitingForRoom.delete(lane);
      advance(lane);
    }
  }

  function probe(lane: Lane): void {
    const subscription = findSubscription(lane.seq);
    if (subscription === undefined || subscription.status !== "active") return advance(lane);
    lane.isProbing = true;
    sendNext(lane, subscription);
    giveBack(lane);
  }

  function makeReady(lane: Lane, delivery: ClaimedDelivery): void {
    const size = delivery.event.body?.length ?? 0;
    // Beyond the budget the body is loaded again when it is sent.
    if (bodyBytes + size > options.maxBodyBytes) delivery.event.body = undefined;
    else bodyBytes += size;
    lane.ready.push(delivery);
    slots.claimed++;
  }

  function takeReady(lane: Lane): ClaimedDelivery | undefined {
    const delivery = lane.ready.shift();
    if (delivery === undefined) return undefined;
    bodyBytes -= delivery.event.body?.length ?? 0;
    slots.claimed--;
    return delivery;
  }

  /** Fills free slots: the tenant with the fewest in flight first, its lanes in turn. */
  function run(): void {
    if (isRunning) return;
    isRunning = true;
    for (let lane = slots.next(); lane !== undefined; lane = slots.next()) {
      const subscription = findSubscription(lane.seq);
      if (subscription !== undefined && canSend(lane, subscription)) sendNext(lane, subscription);
      advance(lane);
    }
    isRunning = false;
  }

  function canSend(lane: Lane, subscription: Subscription): boolean {
    if (isStopping || subscription.status !== "active" || lane.breaker.isOpen) return false;
    if (lane.inFlight >= subscription.concurrency) return false;
    const now = clock.now();
    return gateOpensAt(lane, now) <= now;
  }

  function sendNext(lane: Lane, subscription: Subscription): void {
    const delivery = takeReady(lane);
    if (delivery === undefined) return;
    const now = clock.now();
    lane.rate?.take(now);
    lane.slowStart?.take(now);
    lane.inFlight++;
    lane.unsettled++;
    slots.occupy(lane.tenantId);
    unsettled++;
    dispatch.send(delivery, subscription, (report) => finish(lane, subscription, delivery, report));
  }

  function finish(lane: Lane, subscription: Subscription, delivery: ClaimedDelivery, report: AttemptReport): void {
    lane.inFlight--;
    slots.vacate(lane.tenantId);
    const now = clock.now();
    const decision = decide(delivery, subscription, report, { now, wall: clock.wall(), random });
    watchDestination(lane, subscription, decision, now);
    options.onAttempt?.(subscription, delivery, report, decision);
    const { settlement } = decision;
    settlement.claimNext =
      subscription.ordered && !isStopping && subscription.status === "active" && !lane.breaker.isOpen;
    if (settlement.claimNext) lane.reserved++;
    settle(lane, decision);
    advance(lane);
    run();
    useRoom();
  }

  function settle(lane: Lane, decision: Decision): void {
    store.settle(decision.settlement, (result) => {
      if ("failed" in result) {
        // What happened must be recorded; until it is, the delivery stays claimed.
        if (isStopping) return settled(lane, decision);
        clock.setTimer(clock.now() + SETTLE_AGAIN_MS, () => settle(lane, decision));
        return;
      }
      settled(lane, decision);
      if (result.next !== undefined) makeReady(lane, result.next);
      const { verdict, nextAttemptAt } = decision.settlement;
      // Only now: a claim that is already on its way may be answered before this row is there.
      if (result.movedUp || verdict === "retry") spill(lane, verdict === "retry" ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
    });
  }

  function settled(lane: Lane, decision: Decision): void {
    unsettled--;
    lane.unsettled--;
    if (decision.settlement.claimNext) lane.reserved--;
    if (unsettled === 0) onQuiet?.();
  }

  function spill(lane: Lane, dueAt: number): void {
    lane.spilledDueAt = Math.min(lane.spilledDueAt, dueAt);
    lane.nextDueAt = lane.mayHaveMore ? Math.min(lane.nextDueAt, dueAt) : dueAt;
    lane.mayHaveMore = true;
  }

  function watchDestination(lane: Lane, subscription: Subscription, decision: Decision, now: number): void {
    lane.isProbing = false;
    if (decision.suspends) options.onSuspend(subscription, decision.error ?? "gone");
    if (decision.says === "nothing") return;
    if (decision.says === "well") {
      measureRate(lane, now);
      if (noteSuccess(lane.breaker, now) !== "closed") return;
      lane.slowStart = createTokenBucket(lane.breaker.slowStartPerS, now);
      options.onBreaker(subscription, "closed", lane.breaker);
      hastenRetries(lane);
      return;
    }
    const change = noteFailure(lane.breaker, now, decision.error ?? "failed", random.next());
    if (change === "opened") options.onBreaker(subscription, "opened", lane.breaker);
    if (change === "expired") {
      const hours = BREAKER.suspendAfterMs / 3_600_000;
      options.onSuspend(subscription, `it could not be reached for ${hours} h: ${decision.error ?? ""}`);
    }
  }

  function measureRate(lane: Lane, now: number): void {
    lane.successes++;
    if (now - lane.measuredAt < 1000) return;
    noteRate(lane.breaker, lane.successes, now - lane.measuredAt);
    lane.successes = 0;
    lane.measuredAt = now;
  }

  /** The destination is back: what waited for a later try need not wait any longer. */
  function hastenRetries(lane: Lane): void {
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      if (count > 0) spill(lane, clock.now());
      advance(lane);
      if (count > 0 && !lane.breaker.isOpen) hastenRetries(lane);
    };
    store.makeRetriesDue(lane.seq, clock.now()).then(go, () => go(0));
  }

  function giveBack(lane: Lane): void {
    if (lane.ready.length === 0) return;
    const given: ClaimedDelivery[] = [];
    for (let delivery = takeReady(lane); delivery !== undefined; delivery = takeReady(lane)) given.push(delivery);
    lane.unsettled++;
    const resume = () => {
      lane.unsettled--;
      spill(lane, clock.now());
      if (!isStopping) advance(lane);
    };
    void store.release(given).then(resume, resume);
  }

  function wakeAt(lane: Lane, at: number): void {
    if (lane.timer !== undefined && lane.wakeAt <= at) return;
    lane.timer?.cancel();
    lane.wakeAt = at;
    lane.timer = clock.setTimer(at, () => {
      lane.timer = undefined;
      lane.wakeAt = Number.POSITIVE_INFINITY;
      advance(lane);
    });
  }

  function forget(lane: Lane): void {
    lane.timer?.cancel();
    lane.timer = undefined;
    lane.wakeAt = Number.POSITIVE_INFINITY;
    if (lanes.get(lane.seq) === lane && isIdle(lane)) lanes.delete(lane.seq);
  }

  return {
    reserve(subscription, dueAt, size) {
      const now = clock.now();
      const lane = laneOf(subscription);
      const isBorn =
        dueAt <= now && bodyBytes + size <= options.maxBodyBytes && isOpenForBirth(lane, subscription, now);
      if (isBorn) lane.reserved++;
      return isBorn;
    },
    unreserve(subscription) {
      const lane = laneOf(subscription);
      lane.reserved--;
      advance(lane);
    },
    born(delivery) {
      const lane = lanes.get(delivery.subscriptionSeq);
      if (lane === undefined) return;
      lane.reserved--;
      makeReady(lane, delivery);
      advance(lane);
    },
    notePending(subscription, dueAt) {
      const lane = laneOf(subscription);
      spill(lane, dueAt);
      advance(lane);
    },
    refresh(subscriptionSeq) {
      const subscription = findSubscription(subscriptionSeq);
      const lane = subscription === undefined ? lanes.get(subscriptionSeq) : laneOf(subscription);
      if (lane === undefined) return;
      if (subscription !== undefined) {
        const now = clock.now();
        lane.rate = rateOf(subscription, now);
        if (subscription.status === "active") spill(lane, now);
        // Somebody has looked at it: it is tried at once, and the time to suspension starts anew.
        if (lane.breaker.isOpen) Object.assign(lane.breaker, { openedAt: now, probeAt: now });
      }
      advance(lane);
    },
    lanes: () => lanes.values(),
    findBreaker: (seq) => lanes.get(seq)?.breaker,
    get inFlight() {
      return slots.inFlight;
    },
    async start() {
      for (const { subscriptionSeq, nextDueAt } of await store.loadLanes()) {
        const subscription = findSubscription(subscriptionSeq);
        if (subscription === undefined) continue;
        spill(laneOf(subscription), nextDueAt);
        advance(laneOf(subscription));
      }
    },
    async stop(deadlineMs) {
      isStopping = true;
      for (const lane of lanes.values()) advance(lane);
      if (unsettled > 0) {
        await new Promise<void>((resolve) => {
          onQuiet = resolve;
          clock.setTimer(clock.now() + deadlineMs, resolve);
        });
      }
      await dispatch.close();
    },
  };
}
