import { PosthornError } from "./errors.ts";
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

/** The rejection because a step has thrown an error. `failed` is the message if the error is our own. */
export function rejectedBy(fault: unknown, stage: Rejected["stage"], failed: string, requestId?: string): Rejected {
  const error =
    fault instanceof PosthornError
      ? fault
      : new PosthornError("internal_error", `${failed} See the gateway's log.`, { cause: fault });
  return { kind: "rejected", stage, error, requestId };
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

/**
 * A value that is known now, or later if a thread or another machine is asked. Most requests never wait and cost no
 * promise; steps are written once for both.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Runs the next step, in the same turn if the previous one did not wait. */
export function after<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The result of a step; if it fails, the result of `recover` for the reason. */
export function orElse<Value>(
  step: () => MaybePromise<Value>,
  recover: (error: unknown) => Value,
): MaybePromise<Value> {
  try {
    const value = step();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/**
 * The barrier around one request, one part of it, or one published event. An error that a step throws, in this turn or
 * in a later one, ends this request alone, and never the process. It ends once: what comes after the end is dropped.
 */
export class Barrier<Result> {
  readonly #done: Done<Result>;
  readonly #fail: Done<unknown>;
  #isOver = false;

  /** `fail` gets the error that a step or `done` itself has thrown. */
  constructor(done: Done<Result>, fail: Done<unknown>) {
    this.#done = done;
    this.#fail = fail;
  }

  /** Ends the request with its result. */
  end(result: Result): void {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      this.#done(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the request with an error. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#fail(error);
  }

  /** Runs `next` with the value of `steps`. Returns a promise, which never rejects, only if the value is known later. */
  run<Value>(steps: () => MaybePromise<Value>, next: Done<Value>): MaybePromise<void> {
    try {
      const value = steps();
      if (value instanceof Promise) return value.then(next).catch((error: unknown) => this.fail(error));
      next(value);
    } catch (error) {
      this.fail(error);
    }
  }

  /** A step that another part calls back later. */
  guard<Value>(step: Done<Value>): Done<Value> {
    return (value) => {
      try {
        step(value);
      } catch (error) {
        this.fail(error);
      }
    };
  }
}
