import type { Subscription } from "../../domain/subscription.ts";
import type { ClaimedDelivery } from "../../store/port/lanes.ts";
import type { Lane } from "./lane.ts";
import type { Round } from "../targets/round.ts";
import type { Target } from "../targets/target.ts";

/** An attempt that has begun. */
export interface RunningAttempt {
  readonly lane: Lane;
  /** One, or a batch. */
  readonly deliveries: readonly ClaimedDelivery[];
  /** As it was when the attempt began. */
  readonly sentBy: Subscription;
  /** The target that it is to find out about. */
  readonly probed: Target | undefined;
  /** The round that it is part of. */
  readonly round: Round | undefined;
  /** Where each delivery is noted as being sent. */
  places: readonly number[];
}
