import type { Clock } from "../../domain/clock.ts";
import type { Store } from "../../store/store.ts";
import type { Lane } from "./lane.ts";
import { TRY_AGAIN_MS } from "./record-outcome.ts";
import type { Stopping } from "./stopping.ts";

/** Cancels what was recorded for a subscription while it was being deleted. */
export type CancelDeleted = (lane: Lane) => void;

export interface CancelDeletedOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  stopping: Stopping;
  advance: (lane: Lane) => void;
  /** Whether a job does it. */
  isCancelling?: ((subscriptionSeq: number) => boolean) | undefined;
}

export function createCancelDeleted(options: CancelDeletedOptions): CancelDeleted {
  const { store, clock, stopping, advance, isCancelling } = options;
  return (lane) => {
    lane.mayHaveMore = false;
    if (isCancelling?.(lane.seq) === true) return;
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      lane.mayHaveMore ||= count > 0;
      advance(lane);
    };
    const tryAgain = () => void clock.setTimer(clock.now() + TRY_AGAIN_MS, () => go(1));
    store.lanes.changeLane(lane.seq, { act: "cancel" }).then(
      ({ changed }) => go(changed),
      () => (stopping.isStopping ? go(0) : tryAgain()),
    );
  };
}
