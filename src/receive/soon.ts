/**
 * What is known now, or later where a thread or another machine is asked. Most requests never wait, and then cost no
 * promise; steps are written once for both.
 */
export type Soon<Value> = Value | Promise<Value>;

/** The next step, in the same turn where the one before did not wait. */
export function after<Value, Next>(value: Soon<Value>, next: (value: Value) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What a step gives; where it fails, what is made of the reason. */
export function orElse<Value>(step: () => Soon<Value>, otherwise: (error: unknown) => Value): Soon<Value> {
  try {
    const value = step();
    return value instanceof Promise ? value.catch(otherwise) : value;
  } catch (error) {
    return otherwise(error);
  }
}

/** Tells the end of steps: `done` what they give, `fail` why they gave nothing. What `done` itself throws is its own. */
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
