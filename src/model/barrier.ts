import type { Done } from "./accepted.ts";

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
