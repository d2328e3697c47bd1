import type { Clock, Random } from "../../domain/clock.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Attempts } from "./attempts.ts";
import type { CancelDeleted } from "./cancel-deleted.ts";
import type { Claim } from "./claim.ts";
import type { GiveBack } from "./give-back.ts";
import type { Governor } from "./governor.ts";
import { noteReady, type Lane } from "./lane.ts";
import { isSilent, maySend } from "./lane-gates.ts";
import { cancelTimer, wakeAt } from "./lane-timer.ts";
import { postponeProbe } from "../targets/mode.ts";
import { nextStep, stepIdle, type SharedRoom, type Step } from "./next-step.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Rounds } from "../targets/rounds.ts";
import type { Slots } from "./slots.ts";
import type { Stopping } from "./stopping.ts";

/** Carries out what `next-step.ts` decides. */
export interface LaneDriver {
  /** Something has happened to the lane: it goes as far as it can. */
  advance(lane: Lane): void;
  /** Nothing came of what the lane was made for: it is forgotten, if it has nothing else to do. */
  leave(lane: Lane, now: number): void;
  /** Fills free slots: the tenant with the fewest in flight first, its lanes in turn. */
  fillSlots(): void;
}

export interface LaneDriverOptions {
  clock: Clock;
  random: Random;
  findSubscription: (seq: number) => Subscription | undefined;
  slots: Slots;
  ready: ReadyDeliveries;
  rounds: Pick<Rounds, "goOn">;
  stopping: Stopping;
  attempts: Attempts;
  claim: Claim;
  giveBack: Pick<GiveBack, "all">;
  cancelDeleted: CancelDeleted;
  governor?: Governor | undefined;
  forget: (lane: Lane) => void;
}

export function createLaneDriver(options: LaneDriverOptions): LaneDriver {
  const { clock, findSubscription, slots, ready, rounds, stopping, attempts, governor } = options;
  const shared: SharedRoom = { isStopping: false, claims: 0, mayProbe: false };
  let isFilling = false;

  function ask(lane: Lane, now: number): Step {
    shared.isStopping = stopping.isStopping;
    shared.claims = ready.roomFor(lane);
    shared.mayProbe = attempts.mayProbe;
    if (lane.limits.lingerMs > 0) noteReady(lane, now);
    return nextStep(lane, findSubscription(lane.seq), shared, now);
  }

  /** Whether to ask for the next step at once. */
  function carryOut(lane: Lane, step: Step, now: number): boolean {
    switch (step.act) {
      case "claim":
        options.claim(lane, step.limit, now);
        return true;
      case "give back":
        options.giveBack.all(lane);
        return true;
      case "cancel":
        options.cancelDeleted(lane);
        return true;
      case "probe":
        attempts.beginProbe(lane, findSubscription(lane.seq) as Subscription, now);
        return true;
      case "postpone":
        postponeProbe(lane.target.mode, now, options.random.next());
        return true;
      case "send":
        enqueue(lane, now);
        return false;
      case "wait":
        wakeAt(lane, step.until, clock, advance);
        return false;
      case "forget":
        cancelTimer(lane);
        options.forget(lane);
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
    for (let lane = slots.findNext(); lane !== undefined; lane = slots.findNext()) {
      if (governor?.maySend() === false) break;
      slots.take(lane);
      const subscription = findSubscription(lane.seq);
      const now = clock.now();
      if (!stopping.isStopping && maySend(lane, subscription, now)) attempts.begin(lane, subscription, now);
      advance(lane);
    }
    isFilling = false;
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
