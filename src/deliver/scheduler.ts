import type { Clock, Random } from "../domain/clock.ts";
import { isGatewayEventType } from "../domain/pattern.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Suspension } from "../domain/suspension.ts";
import type { ClaimedDelivery, DeadDelivery, DeliveryKey, Settlement, Store } from "../store/store.ts";
import { isSlow, noteDuration, postponeProbe, PROMPT_MS, type BreakerState } from "./breaker.ts";
import { createEarlyRetries } from "./early-retries.ts";
import { createDestinationWatch, type DestinationWatchOptions } from "./destination-watch.ts";
import type { Dispatch } from "./dispatch.ts";
import {
  allowance,
  claimsAhead,
  gateOpensAt,
  held,
  isFull,
  isIdle,
  isSilent,
  noteSent,
  occupied,
  remembersUntil,
  retune,
  type Lane,
} from "./lane.ts";
import type { Governor } from "./governor.ts";
import type { InFlightMarks } from "./in-flight-file.ts";
import { createMissingSources, type MissingSource } from "./missing-sources.ts";
import { createMemory } from "./memory.ts";
import { createSlots, type Slots } from "./slots.ts";
import { createStandings } from "./standings.ts";
import { sparesDeliveries, type Target } from "./target.ts";
import { createTargetLanes, type TargetLanes } from "./target-lanes.ts";
import type { Finished } from "./finished.ts";
import { decide, type Decision } from "./settle.ts";
import type { AttemptReport } from "./senders/sender.ts";

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
  /** The delivery was cancelled: it is not sent, if it has not been. */
  withdraw(key: DeliveryKey): void;
  /** The subscription was changed, paused, resumed or deleted. */
  refresh(subscriptionSeq: number): void;
  /** Lanes as they are now, for status and metrics. */
  lanes(): Iterable<Lane>;
  /** The mode of what a subscription sends to. */
  findBreaker(subscriptionSeq: number): BreakerState | undefined;
  /** Whether what is due now waits for longer than this: for older ones, for a rate limit, or for the next start. */
  isBehind(subscriptionSeq: number, byMs: number): boolean;
  /** Why a subscription was suspended, if it was. */
  findSuspension(subscriptionSeq: number): Suspension | undefined;
  /** Sources that the subscription's target does not know. */
  missingSources(subscriptionSeq: number): readonly MissingSource[];
  /** What a subscription sends to. */
  targetOf(subscription: Subscription): Target;
  readonly targets: TargetLanes;
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
  /** For how long a delivery may wait for what its destination does not know yet. */
  maxHeldMs?: number | undefined;
  /** What is being sent, for the next process. */
  inFlight: InFlightMarks;
  /** Holds attempts back while intake needs the machine. */
  governor?: Governor | undefined;
  /** For tests: who gets a free slot. */
  slots?: Slots | undefined;
  onAttempt?:
    | ((subscription: Subscription, delivery: ClaimedDelivery, report: AttemptReport, decision: Decision) => void)
    | undefined;
  /** What a test came to is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
  /** Deliveries that were not sent because their time was over. */
  onExpired?: ((deaths: readonly DeadDelivery[]) => void) | undefined;
  /** The breaker as it was before a restart. */
  findSavedBreaker?: ((subscriptionSeq: number) => BreakerState | undefined) | undefined;
  /** The target that a subscription shares with others. */
  findSharedTarget?: ((subscription: Subscription) => Target | undefined) | undefined;
  /** Whether a job cancels what a deleted subscription has left. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
  onBreaker: DestinationWatchOptions["onBreaker"];
  onSuspend: DestinationWatchOptions["onSuspend"];
  onIll?: DestinationWatchOptions["onIll"];
}

/** Probes wait for no slot; but where thousands are down, they must not take them all. */
const SHARE_OF_PROBES = 0.25;
/** After a fault of the store. */
const AGAIN_MS = 1000;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, dispatch, clock, random, findSubscription, inFlight, governor } = options;
  const lanes = new Map<number, Lane>();
  const standings = createStandings({
    clock,
    findSavedBreaker: options.findSavedBreaker,
    findSharedTarget: options.findSharedTarget,
    onRetarget(lane, change) {
      targetLanes.leave(lane);
      change();
      targetLanes.join(lane);
    },
  });
  const slots = options.slots ?? createSlots(options.maxInFlight);
  const memory = createMemory(slots, options.maxBodyBytes, () => lanes.size);
  const targetLanes = createTargetLanes({
    lanes,
    clock,
    findSubscription,
    laneOf,
    advance,
    destinations: () => destinations,
    missing: () => missing,
  });
  const destinations = createDestinationWatch({
    store,
    clock,
    random,
    onBreaker: options.onBreaker,
    onSuspend: options.onSuspend,
    onClosed: targetLanes.closed,
    onOpened: targetLanes.opened,
    onStillOpen: targetLanes.losePatience,
    onIll: options.onIll,
    onHastened: hastened,
  });
  const earlyRetries = createEarlyRetries({
    store,
    clock,
    lanesOf: targetLanes.lanesOf,
    onDone: hastened,
  });
  const missing = createMissingSources({ store, clock, onDone: hastened });
  const maxProbing = Math.max(1, Math.floor(options.maxInFlight * SHARE_OF_PROBES));
  let probing = 0;
  let isStopping = false;
  let isRunning = false;
  let onQuiet: (() => void) | undefined;

  function laneOf(subscription: Subscription): Lane {
    const { seq } = subscription;
    let lane = lanes.get(seq);
    if (lane === undefined) {
      // The one at hand may be from before a change.
      lanes.set(seq, (lane = standings.createLane(findSubscription(seq) ?? subscription)));
      targetLanes.join(lane);
    }
    return lane;
  }

  function hastened(lane: Lane, isMore: boolean): void {
    if (isMore) spill(lane, clock.now());
    advance(lane);
  }

  /** Its target is in QUEUE, and nothing is sent all the same. */
  function isShut(lane: Lane): boolean {
    return lane.target.mode.isOpen && lane.drain === undefined;
  }

  function isOpenForBirth(lane: Lane, subscription: Subscription, now: number): boolean {
    if (isStopping || subscription.status !== "active" || lane.target.mode.isOpen || lane.isGone) return false;
    const ahead = claimsAhead(subscription);
    if (occupied(lane) >= subscription.concurrency + ahead || memory.roomFor(lane) <= 0) return false;
    // A few that wait in the table are claimed soon, as long as those that are born leave them room.
    if (hasDue(lane, now) && (lane.isBehind || held(lane) >= ahead / 2)) return false;
    // A delivery that has to wait for its token is better off unclaimed.
    return held(lane) < allowance(lane, now);
  }

  function hasDue(lane: Lane, now: number): boolean {
    return lane.mayHaveMore && lane.nextDueAt <= now;
  }

  /** Brings the lane to where its next step is: a send, a claim, a timer, or oblivion. */
  function advance(lane: Lane): void {
    move(lane);
    if (lane.drain !== undefined) targetLanes.step(lane.drain);
  }

  function move(lane: Lane): void {
    const subscription = findSubscription(lane.seq);
    if (subscription === undefined || subscription.status !== "active" || lane.isGone || isStopping) {
      return hold(lane, subscription);
    }
    const now = clock.now();
    if (isShut(lane)) return advanceOpen(lane, now);
    claimMore(lane, subscription, now);
    if (lane.ready.length === 0) return rest(lane);
    if (isFull(lane, subscription)) return;
    const opensAt = gateOpensAt(lane, now);
    if (opensAt > now) return wakeAt(lane, opensAt);
    if (!lane.isSlow && isSilent(lane, now)) slots.judge(lane, true);
    slots.enqueue(lane);
    run();
  }

  function hold(lane: Lane, subscription: Subscription | undefined): void {
    giveBackAll(lane);
    if (subscription?.status !== "active") lane.breaker.isHeld = true;
    if (subscription === undefined) {
      standings.forget(lane.seq);
      if (lane.mayHaveMore) cancelLate(lane);
    }
    rest(lane);
    noteQuiet();
  }

  /** What was recorded for a subscription while it was being deleted. */
  function cancelLate(lane: Lane): void {
    if (isStopping) return;
    lane.mayHaveMore = false;
    if (options.isCancelling?.(lane.seq) === true) return;
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      lane.mayHaveMore ||= count > 0;
      advance(lane);
    };
    const tryAgain = () => void clock.setTimer(clock.now() + AGAIN_MS, () => go(1));
    store.cancelLane(lane.seq, clock.now()).then(go, () => (isStopping ? go(0) : tryAgain()));
  }

  function advanceOpen(lane: Lane, now: number): void {
    giveBackAll(lane);
    const { target } = lane;
    if (sparesDeliveries(target) || target.isProbing || lane.claiming > 0 || !lane.mayHaveMore) return;
    const at = Math.max(target.mode.probeAt, lane.nextDueAt);
    if (at > now) return wakeAt(lane, at);
    if (probing >= maxProbing) {
      postponeProbe(target.mode, now, random.next());
      return wakeAt(lane, target.mode.probeAt);
    }
    startClaim(lane, 1, now);
  }

  function claimMore(lane: Lane, subscription: Subscription, now: number): void {
    if (!lane.mayHaveMore || lane.claiming > 0 || lane.ready.length > claimsAhead(subscription) / 2) return;
    if (lane.nextDueAt > now) return wakeAt(lane, lane.nextDueAt);
    // Only as many as may go soon: a throttled lane claims for the tokens that it has and no more.
    const tokens = allowance(lane, now) - held(lane);
    if (tokens <= 0 && held(lane) === 0) return wakeAt(lane, gateOpensAt(lane, now));
    const ahead = tokens < Number.POSITIVE_INFINITY ? 0 : claimsAhead(subscription);
    const limit = Math.min(subscription.concurrency + ahead - occupied(lane), tokens, memory.roomFor(lane));
    if (limit > 0) startClaim(lane, limit, now);
  }

  function startClaim(lane: Lane, limit: number, now: number): void {
    lane.claiming = limit;
    slots.claimed += limit;
    store.claim({ subscriptionSeq: lane.seq, limit, now }, ({ claimed, nextDueAt, deaths }) => {
      lane.claiming = 0;
      slots.claimed -= limit;
      // It saw all that was reported before it; what is reported later says so itself.
      lane.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY;
      lane.mayHaveMore = nextDueAt !== undefined;
      lane.isBehind = lane.nextDueAt <= now;
      for (const delivery of claimed) memory.add(lane, delivery);
      if (deaths !== undefined) options.onExpired?.(deaths);
      if (lane.drain !== undefined) targetLanes.noteClaimed(lane, claimed);
      if (mayProbe(lane)) probe(lane);
      else advance(lane);
    });
  }

  /** What was claimed before it opened is no probe before its time. */
  function mayProbe(lane: Lane): boolean {
    const { target } = lane;
    if (!isShut(lane) || sparesDeliveries(target) || target.isProbing) return false;
    if (isStopping || probing >= maxProbing) return false;
    return lane.ready.length > 0 && target.mode.probeAt <= clock.now();
  }

  function probe(lane: Lane): void {
    const subscription = findSubscription(lane.seq);
    if (subscription === undefined || subscription.status !== "active") return advance(lane);
    // Set before: what is answered within the call must find it.
    lane.isProbing = true;
    lane.target.isProbing = true;
    probing++;
    if (!sendNext(lane, subscription, true)) endProbe(lane);
    giveBackAll(lane);
  }

  function endProbe(lane: Lane): void {
    lane.isProbing = false;
    lane.target.isProbing = false;
    probing--;
  }

  /** Fills free slots: the tenant with the fewest in flight first, its lanes in turn. */
  function run(): void {
    if (isRunning) return;
    isRunning = true;
    for (let lane = slots.findNext(); lane !== undefined; lane = slots.findNext()) {
      if (governor?.maySend() === false) break;
      slots.take(lane);
      const subscription = findSubscription(lane.seq);
      if (subscription !== undefined && canSend(lane, subscription)) sendNext(lane, subscription);
      advance(lane);
    }
    isRunning = false;
  }

  function canSend(lane: Lane, subscription: Subscription): boolean {
    if (isStopping || subscription.status !== "active" || isShut(lane) || lane.isGone) return false;
    if (isFull(lane, subscription)) return false;
    const now = clock.now();
    return gateOpensAt(lane, now) <= now;
  }

  /** Whether an attempt was begun. */
  function sendNext(lane: Lane, subscription: Subscription, isProbe = false): boolean {
    const delivery = memory.takeFirst(lane);
    if (delivery === undefined) return false;
    const now = clock.now();
    // Its time ran out while it waited here: back in the table it is found and becomes a dead letter.
    if (delivery.expiresAt !== undefined && delivery.expiresAt <= now) {
      giveBack(lane, [delivery]);
      return false;
    }
    noteSent(lane, now);
    const { drain } = lane;
    if (drain !== undefined) {
      drain.room--;
      drain.flying++;
    }
    if (lane.inFlight === 0) lane.heardAt = now;
    lane.inFlight++;
    lane.unsettled++;
    slots.occupy(lane);
    inFlight.start([delivery], ([mark = 0]) =>
      dispatch.send([delivery], subscription, ([report]) =>
        finish(lane, { delivery, report: report as AttemptReport, isProbe, sentBy: subscription, mark, drain }),
      ),
    );
    return true;
  }

  function finish(lane: Lane, { delivery, report, isProbe, sentBy, mark, drain }: Finished): void {
    lane.inFlight--;
    slots.vacate(lane);
    if (isProbe) endProbe(lane);
    if (isStopping && report.outcome.kind === "error") {
      // Cut by our own stop: the next start finds it as being sent, and the schedule does not count it.
      lane.unsettled--;
      return noteQuiet();
    }
    const now = clock.now();
    if (report.durationMs < PROMPT_MS) lane.heardAt = now;
    noteDuration(lane.breaker, report.durationMs);
    slots.judge(lane, isSlow(lane.breaker) || isSilent(lane, now));
    // It may have been changed since: what follows goes by the rules of now.
    const subscription = findSubscription(lane.seq) ?? sentBy;
    const decision = decide(delivery, subscription, report, {
      now,
      wall: clock.wall(),
      random,
      maxHeldMs: options.maxHeldMs,
      noteMiss: missing.noteMiss,
    });
    if (decision.settlement.verdict !== "delivered" && !isGatewayEventType(delivery.event.type)) {
      lane.breaker.failedOthers = true;
      lane.target.mode.failedOthers = true;
    }
    destinations.note(lane, subscription, decision, isProbe);
    if (lane.target.hasMissed && decision.settlement.verdict === "delivered") earlyRetries.noteTaken(lane);
    if (decision.settlement.verdict === "delivered") missing.noteTaken(lane, delivery.event.source);
    if (drain !== undefined) targetLanes.noteEnded(drain, decision.says !== "well" && decision.says !== "nothing");
    // Another lane may have waited for what this one finds out.
    if (isProbe && lane.target.mode !== lane.breaker) targetLanes.opened(lane);
    options.onAttempt?.(subscription, delivery, report, decision);
    const { settlement } = decision;
    settlement.claimNext = subscription.ordered && !decision.suspends && isOpenForNext(lane, subscription, now);
    if (settlement.claimNext) memory.keepPlace(lane);
    settle(lane, decision, mark);
    advance(lane);
    run();
  }

  /** The next of an ordering key takes the place of the one that is done, if it may go at once. */
  function isOpenForNext(lane: Lane, subscription: Subscription, now: number): boolean {
    if (isStopping || subscription.status !== "active" || isShut(lane)) return false;
    return held(lane) < allowance(lane, now);
  }

  function settle(lane: Lane, decision: Decision, mark: number): void {
    store.settle(decision.settlement, (result) => {
      if ("failed" in result) {
        // What happened must be recorded; until it is, the delivery stays claimed.
        if (isStopping) return settled(lane, decision);
        clock.setTimer(clock.now() + AGAIN_MS, () => settle(lane, decision, mark));
        return;
      }
      inFlight.end(mark);
      if (decision.testOf !== undefined) options.onTested?.(decision.testOf, decision.settlement);
      settled(lane, decision);
      if (result.next !== undefined) memory.add(lane, result.next);
      const { verdict, nextAttemptAt, keepsTime } = decision.settlement;
      if (verdict === "retry" && !keepsTime) earlyRetries.noteMissed(lane);
      // Only now: a claim that is already on its way may be answered before this row is there.
      if (result.movedUp || verdict === "retry") spill(lane, verdict === "retry" ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
    });
  }

  function settled(lane: Lane, decision: Decision): void {
    lane.unsettled--;
    if (decision.settlement.claimNext) memory.freePlace(lane);
    noteQuiet();
  }

  /** Whoever stops the scheduler waits until nothing is in flight, claimed or on its way to the store. */
  function noteQuiet(): void {
    if (isStopping && isQuiet()) onQuiet?.();
  }

  function isQuiet(): boolean {
    for (const lane of lanes.values()) if (lane.unsettled + occupied(lane) > 0) return false;
    return true;
  }

  function spill(lane: Lane, dueAt: number): void {
    lane.nextDueAt = lane.mayHaveMore ? Math.min(lane.nextDueAt, dueAt) : dueAt;
    lane.mayHaveMore = true;
  }

  function giveBackAll(lane: Lane): void {
    if (lane.ready.length === 0) return;
    const given: ClaimedDelivery[] = [];
    for (let delivery = memory.takeFirst(lane); delivery !== undefined; delivery = memory.takeFirst(lane))
      given.push(delivery);
    giveBack(lane, given);
  }

  function giveBack(lane: Lane, given: readonly ClaimedDelivery[]): void {
    lane.unsettled++;
    release(lane, given);
  }

  function release(lane: Lane, given: readonly ClaimedDelivery[]): void {
    const resume = () => {
      lane.unsettled--;
      spill(lane, clock.now());
      advance(lane);
    };
    store.release(given).then(resume, () => {
      if (isStopping) resume();
      else clock.setTimer(clock.now() + AGAIN_MS, () => release(lane, given));
    });
  }

  function wakeAt(lane: Lane, at: number): void {
    // What waits for no time is advanced by what it waits for.
    if ((lane.timer !== undefined && lane.wakeAt <= at) || at === Number.POSITIVE_INFINITY) return;
    lane.timer?.cancel();
    lane.wakeAt = at;
    lane.timer = clock.setTimer(at, () => {
      lane.timer = undefined;
      lane.wakeAt = Number.POSITIVE_INFINITY;
      advance(lane);
    });
  }

  /** Nothing to send: forgets the lane, unless something is still to come of it or its limits must be remembered. */
  function rest(lane: Lane): void {
    if (!isIdle(lane)) return;
    const until = remembersUntil(lane, clock.now());
    if (until > clock.now() && !isStopping) return wakeAt(lane, until);
    lane.timer?.cancel();
    lane.timer = undefined;
    lane.wakeAt = Number.POSITIVE_INFINITY;
    if (lanes.get(lane.seq) === lane) lanes.delete(lane.seq);
  }

  governor?.onResume(run);

  return {
    reserve(subscription, dueAt, size) {
      const now = clock.now();
      const lane = laneOf(subscription);
      const isBorn = dueAt <= now && memory.hasRoomForBody(size) && isOpenForBirth(lane, subscription, now);
      if (isBorn) memory.keepPlace(lane);
      else rest(lane);
      return isBorn;
    },
    unreserve(subscription) {
      const lane = laneOf(subscription);
      memory.freePlace(lane);
      advance(lane);
    },
    born(delivery) {
      const lane = lanes.get(delivery.subscriptionSeq);
      if (lane === undefined) return;
      memory.freePlace(lane);
      memory.add(lane, delivery);
      advance(lane);
    },
    notePending(subscription, dueAt) {
      const lane = laneOf(subscription);
      // In a flood nearly all of them: the lane already knows that it has more to claim, by then at the latest.
      const isNews = !lane.mayHaveMore || dueAt < lane.nextDueAt;
      spill(lane, dueAt);
      if (isNews) advance(lane);
    },
    withdraw({ eventSeq, subscriptionSeq }) {
      const lane = lanes.get(subscriptionSeq);
      if (lane === undefined || memory.take(lane, eventSeq) === undefined) return;
      advance(lane);
    },
    refresh(subscriptionSeq) {
      const subscription = findSubscription(subscriptionSeq);
      const lane = subscription === undefined ? lanes.get(subscriptionSeq) : laneOf(subscription);
      if (lane === undefined) return standings.forget(subscriptionSeq);
      const now = clock.now();
      lane.isGone = false;
      if (subscription !== undefined) {
        standings.retarget(lane, subscription);
        retune(lane, subscription, now);
      }
      // Whoever deletes it cancels what is there, and says how much.
      else lane.mayHaveMore = false;
      if (subscription?.status === "active") {
        standings.resume(lane);
        spill(lane, now);
      }
      advance(lane);
    },
    lanes: () => lanes.values(),
    isBehind(subscriptionSeq, byMs) {
      const lane = lanes.get(subscriptionSeq);
      if (isStopping || lane === undefined) return isStopping;
      const now = clock.now();
      return lane.isBehind || lane.isGone || gateOpensAt(lane, now) > now + byMs;
    },
    findBreaker: (seq) => standings.findMode(findSubscription(seq), seq),
    findSuspension: standings.findSuspension,
    missingSources: missing.list,
    targetOf: standings.targetOf,
    targets: targetLanes,
    get inFlight() {
      return slots.inFlight;
    },
    async start() {
      for (const { subscriptionSeq, nextDueAt } of await store.loadLanes()) {
        const subscription = findSubscription(subscriptionSeq);
        if (subscription === undefined) continue;
        const lane = laneOf(subscription);
        spill(lane, nextDueAt);
        // Nobody knows what was missed before this start.
        earlyRetries.noteMissed(lane);
        advance(lane);
      }
    },
    async stop(deadlineMs) {
      isStopping = true;
      for (const lane of lanes.values()) advance(lane);
      if (!isQuiet()) {
        await new Promise<void>((resolve) => {
          onQuiet = resolve;
          clock.setTimer(clock.now() + deadlineMs, resolve);
        });
      }
      await dispatch.close();
    },
  };
}
