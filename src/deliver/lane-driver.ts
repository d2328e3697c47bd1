import type { Subscription } from "../domain/subscription.ts";
import type { SchedulerParts } from "./scheduler-parts.ts";
import { postponeProbe } from "./mode.ts";
import { cancelTimer, noteReady, wakeAt, type Lane } from "./lane.ts";
import { isSilent, maySend } from "./lanes/lane-gates.ts";
import { nextStep, stepIdle, type SharedRoom, type Step } from "./lane-step.ts";

/** Carries out the steps that `next-step.ts` decides. */
export interface LaneDriver {
  /** Something has happened to the lane: carries out steps until the lane has to wait. */
  advance(lane: Lane): void;
  /** The lane was opened in vain: it is forgotten, unless it has other work. */
  leave(lane: Lane, now: number): void;
  /** Gives free slots to lanes: first to the tenant with the fewest attempts in flight, whose lanes take turns. */
  fillSlots(): void;
}

type Uses =
  | ("clock" | "random" | "findSubscription" | "slots" | "ready" | "rounds" | "stopping" | "attempts" | "table")
  | ("governor" | "fallbacks");

export function createLaneDriver(parts: Pick<SchedulerParts, Uses>, forget: (lane: Lane) => void): LaneDriver {
  const { clock, random, findSubscription, slots, ready, rounds, stopping, attempts, table, governor } = parts;
  const { fallbacks } = parts;
  const shared: SharedRoom = { isStopping: false, claims: 0, mayProbe: false, movesTo: undefined };
  let isFilling = false;

  function ask(lane: Lane, now: number): Step {
    shared.isStopping = stopping.isStopping;
    shared.claims = ready.roomFor(lane);
    shared.mayProbe = attempts.mayProbe;
    if (lane.limits.lingerMs > 0) noteReady(lane, now);
    const subscription = findSubscription(lane.seq);
    shared.movesTo = lane.target.mode.isOpen ? fallbacks.findFor(lane, subscription) : undefined;
    if (shared.movesTo === undefined) lane.movesAt = 0;
    return nextStep(lane, subscription, shared, now);
  }

  /** Returns whether to ask for the next step at once. */
  function carryOut(lane: Lane, step: Step, now: number): boolean {
    switch (step.act) {
      case "claim":
        table.claim(lane, step.limit, now);
        return true;
      case "move":
        table.move(lane, step.to);
        return true;
      case "give back":
        table.giveBackReady(lane);
        return true;
      case "cancel":
        table.cancelDeleted(lane);
        return true;
      case "probe":
        attempts.beginProbe(lane, findSubscription(lane.seq) as Subscription, now);
        return true;
      case "postpone":
        postponeProbe(lane.target.mode, now, random.next());
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
    if (!lane.isSlow && isSilent(lane, now)) slots.judge(lane, true);
    slots.enqueue(lane);
    fillSlots();
  }

  function advance(lane: Lane): void {
    for (let isOn = true; isOn;) {
      const now = clock.now();
      isOn = carryOut(lane, ask(lane, now), now);
    }
    if (lane.round !== undefined) rounds.goOn(lane.round);
    stopping.noteEnded();
  }

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
    leave(lane, now) {
      if (stopping.isStopping) advance(lane);
      else carryOut(lane, stepIdle(lane, now), now);
    },
  };
}
