import type { PosthornError } from "./errors.ts";
import type { ForwardResult, GivenUp } from "./forward-rules.ts";

/** The only form of callback: it is called once, with the result. */
export type Done<Result> = (result: Result) => void;

/**
 * The result of one event, from the store's port to the answer. A stage passes on the object that it was given, and
 * sets the facts that it adds: there is one object per event.
 */
export type Accepted = Stored | Duplicate | Ignored | Rejected;

/** The event and its deliveries are on disk. */
export interface Stored {
  readonly kind: "stored";
  readonly eventId: string;
  readonly eventSeq: number;
  /** `claimed[i]`: whether the i-th delivery that was written with the event was claimed when it was inserted. */
  readonly claimed: readonly boolean[];
  /** Until the fan-out sets it: those written with the event. Then those that its tenant sees, also if written later. */
  deliveries: number;
  /** Those of operators' subscriptions for several tenants, if there are any. Set by the fan-out. */
  operatorDeliveries: number | undefined;
  /** Set by the fan-out if a subscription forwards the event. */
  forward: Forward | undefined;
  /** How the forward ended, if the sender has waited for it. */
  forwardResult: ForwardResult | undefined;
}

/** The event is known already: nothing was written. */
export interface Duplicate {
  readonly kind: "duplicate";
  /** The known event. */
  readonly eventId: string;
  /** The replay key was known, not the dedupe key. */
  readonly isReplay?: boolean | undefined;
}

/** The event is not delivered, and its sender has nothing to correct. */
export interface Ignored {
  readonly kind: "ignored";
  readonly cause: string;
  /** Set if the event was stored nevertheless. */
  readonly eventId?: string | undefined;
}

/** The event was not accepted; the code of the error says whether its sender can correct that. */
export interface Rejected {
  readonly kind: "rejected";
  /** `check`: by a check of its request; `accept`: when it was to be stored, because of a quota, a full disk or a fault. */
  readonly stage: "check" | "accept";
  readonly error: PosthornError;
  /** The id under which the rejected request is logged, if it is. */
  readonly requestId?: string | undefined;
}

/** The result of a request: that of its event, or a summary of several. */
export type AcceptedRequest = Accepted | AcceptedSeveral;

/** The result of a request of whose events at least one was stored. */
export interface AcceptedSeveral {
  readonly kind: "several";
  /** Those that were stored. */
  readonly eventIds: readonly string[];
  readonly deliveries: number;
  /** Set when the forwards of all its events were given up. */
  readonly givenUp: GivenUp | undefined;
}

/** The delivery whose first attempt the sender of a webhook may wait for. */
export interface Forward {
  readonly subscriptionSeq: number;
  /** True when the first attempt begins at once; false when the delivery waits in the table for its turn. */
  readonly isClaimed: boolean;
}

/** As the store writes it; every field by name, so that all results have one hidden class. */
export function stored(eventId: string, eventSeq: number, claimed: readonly boolean[]): Stored {
  return {
    kind: "stored",
    eventId,
    eventSeq,
    claimed,
    deliveries: claimed.length,
    operatorDeliveries: undefined,
    forward: undefined,
    forwardResult: undefined,
  };
}
