import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import type { SchedulerParts } from "../scheduler-parts.ts";
import type { AttemptReport } from "../senders/sender.ts";
import { noteBegun, type Round } from "../trial-rounds.ts";
import type { Target } from "../target.ts";
import type { Lane } from "../lane.ts";
import { noteSent } from "./lane-gates.ts";

/** An attempt that has begun. */
export interface RunningAttempt {
  readonly lane: Lane;
  /** One delivery, or a batch. */
  readonly deliveries: readonly ClaimedDelivery[];
  /** The subscription as it was when the attempt began. */
  readonly sentBy: Subscription;
  /** The target that this attempt probes, if it is a probe. */
  readonly probed: Target | undefined;
  /** The round that the attempt is part of. */
  readonly round: Round | undefined;
  /** The place of each delivery in the in-flight file. */
  places: readonly number[];
}

/**
 * Begins attempts, and frees what they hold when they end. An attempt takes one slot, whatever the size of its batch.
 */
export interface Attempts {
  /** Whether another probe may begin: when thousands of targets are down, probes must not take all slots. */
  readonly mayProbe: boolean;
  /** Begins an attempt with the deliveries that are ready; does nothing when all of them have expired. */
  begin(lane: Lane, subscription: Subscription, now: number): void;
  /** Begins an attempt with the first delivery that is ready, to find out whether its target is back. */
  beginProbe(lane: Lane, subscription: Subscription, now: number): void;
  /** Begins an attempt with this delivery alone, whatever the lane holds back. */
  beginAlone(lane: Lane, subscription: Subscription, delivery: ClaimedDelivery, now: number): void;
}

/** Probes do not wait for a slot; but when thousands of targets are down, probes must not take all slots. */
const SHARE_OF_PROBES = 0.25;

type Uses = "dispatch" | "inFlight" | "slots" | "ready" | "table" | "maxInFlight";

export function createAttempts(
  { dispatch, inFlight, slots, ready, table, maxInFlight }: Pick<SchedulerParts, Uses>,
  onEnd: (attempt: RunningAttempt, reports: readonly AttemptReport[]) => void,
): Attempts {
  const maxProbes = Math.max(1, Math.floor(maxInFlight * SHARE_OF_PROBES));
  let probes = 0;

  /** A delivery that expired in memory is returned to the table, where it becomes a dead letter. */
  function takeBatch(lane: Lane, size: number, now: number): ClaimedDelivery[] {
    const { maxBytes } = lane.limits;
    const batch: ClaimedDelivery[] = [];
    let bytes = 0;
    let expired: ClaimedDelivery[] | undefined;
    while (batch.length < size) {
      const [first] = lane.ready;
      if (first === undefined) break;
      // A body that is not in memory was too large to be kept there.
      if (maxBytes !== undefined) bytes += first.event.body?.length ?? maxBytes;
      if (maxBytes !== undefined && bytes > maxBytes && batch.length > 0) break;
      ready.takeFirst(lane);
      const { expiresAt } = first;
      if (expiresAt === undefined || expiresAt > now) batch.push(first);
      else (expired ??= []).push(first);
    }
    lane.readySince = undefined;
    if (expired !== undefined) table.giveBack(lane, expired);
    return batch;
  }

  function send(lane: Lane, sentBy: Subscription, deliveries: ClaimedDelivery[], now: number, probed?: Target): void {
    const { round } = lane;
    noteSent(lane, now);
    if (round !== undefined) noteBegun(round);
    if (lane.inFlight === 0) lane.heardAt = now;
    lane.inFlight++;
    lane.unsettled += deliveries.length;
    slots.occupy(lane);
    const attempt: RunningAttempt = { lane, deliveries, sentBy, probed, round, places: [] };
    inFlight.start(deliveries, (places) => {
      attempt.places = places;
      dispatch.send(deliveries, sentBy, (reports) => end(attempt, reports));
    });
  }

  function end(attempt: RunningAttempt, reports: readonly AttemptReport[]): void {
    const { lane, probed } = attempt;
    lane.inFlight--;
    slots.vacate(lane);
    if (probed !== undefined) {
      probed.isProbing = false;
      probes--;
    }
    onEnd(attempt, reports);
  }

  return {
    get mayProbe() {
      return probes < maxProbes;
    },
    begin(lane, subscription, now) {
      const batch = takeBatch(lane, lane.limits.maxBatch, now);
      if (batch.length > 0) send(lane, subscription, batch, now);
    },
    beginProbe(lane, subscription, now) {
      const batch = takeBatch(lane, 1, now);
      if (batch.length === 0) return;
      // Set before the call: the attempt may end within the call, and must find this set.
      lane.target.isProbing = true;
      probes++;
      send(lane, subscription, batch, now, lane.target);
    },
    beginAlone: (lane, subscription, delivery, now) => send(lane, subscription, [delivery], now),
  };
}
