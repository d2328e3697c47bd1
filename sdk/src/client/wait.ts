/** Resolves after a time; rejects with the signal's reason when it is aborted before. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Aborts with its parent, or by itself when it was not told to go on for a time. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Starts to count anew. */
  extend(): void;
  readonly isOver: boolean;
  end(): void;
}

export function startDeadline(ms: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const stop = () => controller.abort(parent?.reason);
  const start = () =>
    setTimeout(() => {
      isOver = true;
      controller.abort();
    }, ms);
  let timer = start();
  if (parent?.aborted === true) stop();
  else parent?.addEventListener("abort", stop, { once: true });
  return {
    signal: controller.signal,
    extend() {
      clearTimeout(timer);
      timer = start();
    },
    get isOver() {
      return isOver;
    },
    end() {
      clearTimeout(timer);
      parent?.removeEventListener("abort", stop);
    },
  };
}
