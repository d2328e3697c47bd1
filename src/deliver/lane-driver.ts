import type { Clock, Random } from "../model/clock.ts";
import type { Subscription } from "../model/subscription.ts";
import type { Attempts } from "./attempt.ts";
import type { Claims, ReadyDeliveries } from "./claims.ts";
import type { Fallbacks } from "./fallback.ts";
import { cancelTimer, forgetMove, type Lane, startLinger, type Stopping, wakeAt } from "./lane.ts";
import { isSilent, maySend, nextStep, stepIdle, type SharedRoom, type Step } from "./lane-step.ts";
import type { Governor, Slots } from "./slots.ts";
import { postponeNextProbe } from "./target.ts";

export interface LaneDriverOptions {
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  /** Holds attempts back while intake needs the event loop. */
  governor?: Governor | undefined;
}

interface LaneDriverParts {
  slots: Slots;
  ready: ReadyDeliveries;
  claims: Claims;
  attempts: Attempts;
  fallbacks: Fallbacks;
  stopping: Stopping;
  /** The lane has nothing left. */
  forget: (lane: Lane) => void;
}

/** Carries out the steps that `lane-step.ts` decides. */
export function createLaneDriver(
  { clock, random, findSubscription, governor }: LaneDriverOptions,
  { slots, ready, claims, attempts, fallbacks, stopping, forget }: LaneDriverParts,
) {
  const shared: SharedRoom = { isStopping: false, claims: 0, mayProbe: false, movesTo: undefined };
  let isFilling = false;

  function ask(lane: Lane, now: number): Step {
    shared.isStopping = stopping.isStopping;
    shared.claims = ready.roomFor(lane);
    shared.mayProbe = attempts.mayProbe();
    if (lane.limits.lingerMs > 0) startLinger(lane, now);
    const subscription = findSubscription(lane.seq);
    shared.movesTo = lane.target.mode.isOpen ? fallbacks.findFor(lane, subscription) : undefined;
    if (shared.movesTo === undefined) forgetMove(lane);
    return nextStep(lane, subscription, shared, now);
  }

  /** Returns whether to ask for the next step at once. */
  function carryOut(lane: Lane, step: Step, now: number): boolean {
    switch (step.act) {
      case "claim":
        claims.claim(lane, step.limit, now);
        return true;
      case "move":
        claims.move(lane, step.to);
        return true;
      case "give back":
        claims.giveBackReady(lane);
        return true;
      case "cancel":
        claims.cancelDeleted(lane);
        return true;
      case "probe":
        attempts.beginProbe(lane, findSubscription(lane.seq) as Subscription, now);
        return true;
      case "postpone":
        postponeNextProbe(lane.target, now, random.next());
        return true;
      case "send":
        enqueue(lane, now);
        return false;
      case "wait":
        wakeAt(lane, step.until, clock, advance);
        return false;
      case "forget":
        cancelTimer(lane);
        forget(lane);
        return false;
      case "rest":
        return false;
    }
  }

  function enqueue(lane: Lane, now: number): void {
    if (!lane.isSlow && isSilent(lane, now)) slots.setSpeed(lane, true);
    slots.enqueue(lane);
    fillSlots();
  }

  /** Something has happened to the lane: carries out steps until the lane has to wait. */
  function advance(lane: Lane): void {
    for (let isOn = true; isOn;) {
      const now = clock.now();
      isOn = carryOut(lane, ask(lane, now), now);
    }
    lane.round?.goOn();
    stopping.checkQuiet();
  }

  /** Gives free slots to lanes: first to the tenant with the fewest attempts in flight, whose lanes take turns. */
  function fillSlots(): void {
    if (isFilling) return;
    isFilling = true;
    try {
      for (let lane = slots.findNext(); lane !== undefined; lane = slots.findNext()) {
        if (governor?.maySend() === false) break;
        slots.take(lane);
        const subscription = findSubscription(lane.seq);
        const now = clock.now();
        if (!stopping.isStopping && maySend(lane, subscription, now)) attempts.begin(lane, subscription, now);
        advance(lane);
      }
    } finally {
      isFilling = false;
    }
  }

  governor?.onResume(fillSlots);

  return {
    advance,
    fillSlots,
    /** The lane was opened in vain: it is forgotten, unless it has other work. */
    leave(lane: Lane, now: number): void {
      if (stopping.isStopping) advance(lane);
      else carryOut(lane, stepIdle(lane, now), now);
    },
  };
}
