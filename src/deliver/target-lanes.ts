import type { Clock } from "../domain/clock.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { ClaimedDelivery } from "../store/port/lanes.ts";
import { startSlowly } from "./breaker.ts";
import type { DestinationWatch } from "./destination-watch.ts";
import { createDrain, FIRST_BATCH, type Drain, type DrainEnd, type DrainEvents } from "./drain.ts";
import type { MissingSources } from "./missing-sources.ts";
import { occupied, type Lane } from "./lane.ts";
import type { Target } from "./target.ts";

/** What concerns all lanes that send to one target. */
export interface TargetLanes {
  /** Its mode was changed: its lanes go by that. */
  refresh(target: Target): void;
  /** Begins to send what waits although the target is in QUEUE; nothing when that goes on already. */
  startRound(target: Target, events: DrainEvents): void;
  endRound(target: Target): void;
  /** What waits for a later try is due now. */
  hasten(target: Target): void;
  /** It is in NORMAL again: what it did not know may be known now. */
  wakeMissing(target: Target): void;
  /** It is in QUEUE still: who has something for it may have waited for too long. */
  losePatience(target: Target): void;
  /** Tries what waits in one subscription, whatever the mode: one round. */
  drain(subscription: Subscription): void;
}

/** For the scheduler alone. */
export interface TargetLaneSteps extends TargetLanes {
  /** A lane of this target came into being. */
  join(lane: Lane): void;
  leave(lane: Lane): void;
  noteClaimed(lane: Lane, claimed: readonly ClaimedDelivery[]): void;
  /** An attempt of a round ended. */
  noteEnded(drain: Drain, isIll: boolean): void;
  /** The lane has done what it could for now. */
  step(drain: Drain): void;
  /** Its target is in NORMAL again, or in QUEUE, because of this lane: those who share it follow. */
  closed(lane: Lane): void;
  opened(lane: Lane): void;
  lanesOf(target: Target): readonly Lane[];
}

export interface TargetLanesOptions {
  lanes: ReadonlyMap<number, Lane>;
  clock: Clock;
  findSubscription: (seq: number) => Subscription | undefined;
  laneOf: (subscription: Subscription) => Lane;
  advance: (lane: Lane) => void;
  destinations: () => DestinationWatch;
  missing: () => Pick<MissingSources, "wake">;
}

/** An operator looks for himself what became of it. */
const BY_HAND: DrainEvents = {
  newAfter: Number.POSITIVE_INFINITY,
  onTried: () => undefined,
  onEnd: () => undefined,
};

const LONG = Number.POSITIVE_INFINITY;

export function createTargetLanes(options: TargetLanesOptions): TargetLaneSteps {
  const { lanes, clock, findSubscription, advance } = options;

  function lanesOf(target: Target): Lane[] {
    return [...lanes.values()].filter((lane) => lane.target === target);
  }

  /** The other lanes of its target. */
  function sharersOf(lane: Lane): Lane[] {
    return lane.target.mode === lane.breaker ? [] : lanesOf(lane.target).filter((one) => one !== lane);
  }

  function flowAgain(members: readonly Lane[]): void {
    for (const { drain } of members) if (drain !== undefined) end(drain, "stopped");
  }

  function mayGo({ seq, isGone }: Lane): boolean {
    return !isGone && findSubscription(seq)?.status === "active";
  }

  /** Nothing of it is due, in memory or on its way to the store. */
  function isDone(lane: Lane): boolean {
    if (!mayGo(lane)) return true;
    const hasDue = lane.mayHaveMore && lane.nextDueAt <= clock.now();
    return lane.unsettled + occupied(lane) === 0 && !hasDue;
  }

  function begin(drain: Drain): Drain {
    for (const lane of drain.lanes) lane.drain = drain;
    return drain;
  }

  function end(drain: Drain, how: DrainEnd): void {
    if (drain.isOver) return;
    drain.isOver = true;
    if (drain.target?.drain === drain) drain.target.drain = undefined;
    for (const lane of drain.lanes) if (lane.drain === drain) lane.drain = undefined;
    if (how === "empty") drain.events.onTried();
    drain.events.onEnd(how);
    for (const lane of drain.lanes) advance(lane);
  }

  function step(drain: Drain): void {
    if (drain.isOver || drain.flying > 0) return;
    if ([...drain.lanes].every(isDone)) return end(drain, "empty");
    if (drain.room > 0) return;
    drain.room = drain.batchSize;
    for (const lane of drain.lanes) advance(lane);
  }

  function endRound(target: Target): void {
    if (target.drain !== undefined) end(target.drain, "stopped");
  }

  function hastenLanes(members: readonly Lane[]): void {
    for (const lane of members) if (mayGo(lane)) options.destinations().hasten(lane);
  }

  return {
    step,
    endRound,
    lanesOf,
    join(lane) {
      const { drain } = lane.target;
      if (drain === undefined) return;
      lane.drain = drain;
      drain.lanes.add(lane);
    },
    leave(lane) {
      lane.drain?.lanes.delete(lane);
      lane.drain = undefined;
    },
    refresh(target) {
      const members = lanesOf(target);
      if (!target.mode.isOpen) flowAgain(members);
      for (const lane of members) advance(lane);
    },
    startRound(target, events) {
      if (target.drain !== undefined) return;
      const members = lanesOf(target);
      // However short it was: a good check says that it starts, not that it has.
      if (target.successes <= 1) startSlowly(target.mode, clock.now(), target.rules.batchSize, LONG);
      const drain = begin(createDrain(target, members, target.rules.batchSize, events));
      drain.room = FIRST_BATCH;
      target.drain = drain;
      for (const lane of members) advance(lane);
      step(drain);
    },
    hasten: (target) => hastenLanes(lanesOf(target)),
    wakeMissing(target) {
      for (const lane of lanesOf(target)) options.missing().wake(lane);
    },
    losePatience(target) {
      for (const lane of lanesOf(target)) {
        const subscription = findSubscription(lane.seq);
        if (subscription?.status === "active") options.destinations().losePatience(lane, subscription);
        if (lane.isGone) advance(lane);
      }
    },
    drain(subscription) {
      const lane = options.laneOf(subscription);
      if (lane.target.mode.isOpen && lane.drain === undefined) {
        begin(createDrain(undefined, [lane], lane.target.rules.batchSize, BY_HAND));
      }
      hastenLanes([lane]);
      advance(lane);
    },
    noteClaimed(lane, claimed) {
      const { drain } = lane;
      if (drain === undefined || drain.caughtUp.has(lane)) return;
      const { newAfter, onTried } = drain.events;
      if (!claimed.some(({ trigger, event }) => trigger === "first" && event.receivedAt > newAfter)) return;
      drain.caughtUp.add(lane);
      if ([...drain.lanes].every((one) => drain.caughtUp.has(one) || isDone(one))) onTried();
    },
    noteEnded(drain, isIll) {
      drain.flying--;
      if (isIll) end(drain, "failed");
    },
    closed(lane) {
      const members = sharersOf(lane);
      flowAgain([lane, ...members]);
      for (const member of members) {
        options.destinations().hasten(member);
        advance(member);
      }
    },
    opened(lane) {
      for (const member of sharersOf(lane)) advance(member);
    },
  };
}
