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

/** Calls `done` with the result of the steps or `fail` with the error. An error in `done` itself is not caught. */
export function conclude<Value>(
  steps: () => Soon<Value>,
  done: (value: Value) => void,
  fail: (error: unknown) => void,
): void {
  let value: Soon<Value>;
  try {
    value = steps();
  } catch (error) {
    return fail(error);
  }
  if (value instanceof Promise) value.then(done, fail);
  else done(value);
}
