import type { Clock } from "../../domain/clock.ts";
import type { Settlement } from "../../store/port/lanes.ts";
import type { Store } from "../../store/store.ts";
import type { EarlyRetries } from "./early-retries.ts";
import type { InFlightMarks } from "./in-flight-file.ts";
import { noteMore, type Lane } from "./lane.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Decision } from "../settle.ts";
import type { Stopping } from "./stopping.ts";

/** Records what became of a delivery, and frees the place where it is noted as being sent. */
export type RecordOutcome = (lane: Lane, decision: Decision, place: number) => void;

export interface RecordOutcomeOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  inFlight: InFlightMarks;
  ready: ReadyDeliveries;
  earlyRetries: Pick<EarlyRetries, "noteMissed">;
  stopping: Stopping;
  advance: (lane: Lane) => void;
  /** What a test came to is on disk. */
  onTested?: ((eventId: string, settlement: Settlement) => void) | undefined;
}

/** After a fault of the store. */
export const TRY_AGAIN_MS = 1000;

export function createRecordOutcome(options: RecordOutcomeOptions): RecordOutcome {
  const { store, clock, inFlight, ready, earlyRetries, stopping, advance, onTested } = options;

  function end(lane: Lane, { settlement }: Decision): void {
    lane.unsettled--;
    if (settlement.claimNext) ready.freePlace(lane);
  }

  return function record(lane, decision, place) {
    const { settlement, testOf } = decision;
    store.lanes.settle(settlement, (result) => {
      if ("failed" in result) {
        // What happened must be recorded; until it is, the delivery stays claimed.
        if (!stopping.isStopping) {
          clock.setTimer(clock.now() + TRY_AGAIN_MS, () => record(lane, decision, place));
          return;
        }
        end(lane, decision);
        return stopping.noteEnded();
      }
      inFlight.end(place);
      if (testOf !== undefined) onTested?.(testOf, settlement);
      end(lane, decision);
      if (result.next !== undefined) ready.add(lane, result.next);
      const { verdict, nextAttemptAt, keepsTime } = settlement;
      const isRetry = verdict === "retry";
      if (isRetry && !keepsTime) earlyRetries.noteMissed(lane);
      // Only now: a claim that is already on its way may be answered before this row is there.
      if (result.movedUp || isRetry) noteMore(lane, isRetry ? (nextAttemptAt ?? 0) : clock.now());
      advance(lane);
    });
  };
}
