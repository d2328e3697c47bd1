/**
 * A value that is known now, or later if a thread or another machine is asked. Most requests never wait and cost no
 * promise; steps are written once for both.
 */
export type Soon<Value> = Value | Promise<Value>;

/** Runs the next step, in the same turn if the previous one did not wait. */
export function after<Value, Next>(value: Soon<Value>, next: (value: Value) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The result of a step; if it fails, the result of `recover` for the reason. */
export function orElse<Value>(step: () => Soon<Value>, otherwise: (error: unknown) => Value): Soon<Value> {
  try {
    const value = step();
    return value instanceof Promise ? value.catch(otherwise) : value;
  } catch (error) {
    return otherwise(error);
  }
}

/**
 * Calls `done` with the result of the steps. If they or `done` throw, `fail` gets the error: an error on the way of one
 * request must fail that request, not the process.
 */
export function conclude<Value>(
  steps: () => Soon<Value>,
  done: (value: Value) => void,
  fail: (error: unknown) => void,
): void {
  try {
    const value = steps();
    if (value instanceof Promise) value.then(done).catch(fail);
    else done(value);
  } catch (error) {
    fail(error);
  }
}

/** The same for a step that others call later. */
export function guard<Value>(step: (value: Value) => void, fail: (error: unknown) => void): (value: Value) => void {
  return (value) => {
    try {
      step(value);
    } catch (error) {
      fail(error);
    }
  };
}
