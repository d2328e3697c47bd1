import { AsyncLocalStorage } from "node:async_hooks";

/** A value for the current work, without passing it from call to call. */
export interface WorkScope<Value> {
  /** `work` has the value until its promise has settled; what continues later has none. */
  run<Result>(value: Value, work: () => Result): Result;
  current(): Value | undefined;
}

export function createWorkScope<Value>(): WorkScope<Value> {
  const storage = new AsyncLocalStorage<{ value: Value | undefined }>();
  let open = 0;

  return {
    run(value, work) {
      const scope: { value: Value | undefined } = { value };
      const end = () => {
        scope.value = undefined;
        open--;
        // Before Node 24 an enabled storage slows down every promise of the process.
        if (open === 0) storage.disable();
      };
      open++;
      let isLater = false;
      try {
        const result = storage.run(scope, work);
        isLater = result instanceof Promise;
        if (result instanceof Promise) result.then(end, end);
        return result;
      } finally {
        if (!isLater) end();
      }
    },
    current: () => (open === 0 ? undefined : storage.getStore()?.value),
  };
}
