import type { Clock } from "../../domain/clock.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import type { Store } from "../../store/store.ts";
import { noteMore, type Lane } from "./lane.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import { TRY_AGAIN_MS } from "./record-outcome.ts";
import type { Stopping } from "./stopping.ts";

/** Returns claimed deliveries to the table, unsent. */
export interface GiveBack {
  /** All that is ready. */
  all(lane: Lane): void;
  some(lane: Lane, deliveries: readonly ClaimedDelivery[]): void;
}

export interface GiveBackOptions {
  store: Pick<Store, "lanes">;
  clock: Clock;
  ready: ReadyDeliveries;
  stopping: Stopping;
  advance: (lane: Lane) => void;
}

export function createGiveBack({ store, clock, ready, stopping, advance }: GiveBackOptions): GiveBack {
  function some(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    lane.unsettled++;
    release(lane, deliveries);
  }

  /** Again and again: until they are returned, nobody sends them. */
  function release(lane: Lane, deliveries: readonly ClaimedDelivery[]): void {
    const resume = () => {
      lane.unsettled--;
      noteMore(lane, clock.now());
      advance(lane);
    };
    store.lanes.release(deliveries).then(resume, () => {
      if (stopping.isStopping) resume();
      else clock.setTimer(clock.now() + TRY_AGAIN_MS, () => release(lane, deliveries));
    });
  }

  return {
    some,
    all(lane) {
      const deliveries: ClaimedDelivery[] = [];
      for (let one = ready.takeFirst(lane); one !== undefined; one = ready.takeFirst(lane)) deliveries.push(one);
      if (deliveries.length > 0) some(lane, deliveries);
    },
  };
}
