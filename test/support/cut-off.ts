import { runInThisContext } from "node:vm";
import { PATIENCE_MS } from "./api-client.ts";

const NAME = "posthornActThatMayNotEnd";

/** Runs what must end soon and throws when it would not: a test's own limit cannot, while nothing else gets a turn. */
export function cutOff<Result>(act: () => Result): Result {
  Reflect.set(globalThis, NAME, act);
  try {
    return runInThisContext(`${NAME}()`, { timeout: PATIENCE_MS }) as Result;
  } finally {
    Reflect.deleteProperty(globalThis, NAME);
  }
}
