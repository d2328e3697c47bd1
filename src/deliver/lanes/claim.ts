import type { DeadDelivery } from "../../store/port/lanes.ts";
import type { Store } from "../../store/store.ts";
import { noteLeft, type Lane } from "./lane.ts";
import type { ReadyDeliveries } from "./ready-deliveries.ts";
import type { Rounds } from "../targets/rounds.ts";

/** Asks the table for up to `limit` deliveries of a lane that are due. */
export type Claim = (lane: Lane, limit: number, now: number) => void;

export interface ClaimOptions {
  store: Pick<Store, "lanes">;
  ready: ReadyDeliveries;
  rounds: Pick<Rounds, "noteClaimed">;
  advance: (lane: Lane) => void;
  onExpired?: ((deaths: readonly DeadDelivery[]) => void) | undefined;
}

export function createClaim({ store, ready, rounds, advance, onExpired }: ClaimOptions): Claim {
  return (lane, limit, now) => {
    ready.beginClaim(lane, limit);
    store.lanes.claim({ subscriptionSeq: lane.seq, limit }, ({ claimed, nextDueAt, deaths }) => {
      ready.endClaim(lane);
      // It saw all that was reported before it; what is reported later says so itself.
      noteLeft(lane, nextDueAt, now);
      for (const delivery of claimed) ready.add(lane, delivery);
      if (deaths !== undefined) onExpired?.(deaths);
      rounds.noteClaimed(lane, claimed);
      advance(lane);
    });
  };
}
