import type { Clock } from "../../domain/clock.ts";
import type { WhichRetries } from "../../store/port/lanes.ts";
import type { Store } from "../../store/store.ts";
import { noteMore, type Lane } from "./lane.ts";

/** Brings what waits for a later try forward. */
export interface DueRetries {
  /** At most one transaction's worth; `then` is told how many. */
  some(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void;
  /** All: its destination is back. */
  all(lane: Lane): void;
}

export interface DueRetriesOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  advance: (lane: Lane) => void;
}

export function createDueRetries({ store, clock, advance }: DueRetriesOptions): DueRetries {
  function some(lane: Lane, which: WhichRetries | undefined, then: (count: number) => void): void {
    lane.unsettled++;
    const go = (count: number) => {
      lane.unsettled--;
      if (count > 0) noteMore(lane, clock.now());
      advance(lane);
      then(count);
    };
    store.lanes.changeLane(lane.seq, { act: "hasten", ...which }).then(
      ({ changed }) => go(changed),
      () => go(0),
    );
  }

  function all(lane: Lane): void {
    some(lane, undefined, (count) => {
      // What failed since then has its own time.
      if (count > 0 && (lane.round !== undefined || lane.target.mode.failures === 0)) all(lane);
    });
  }

  return { some, all };
}
