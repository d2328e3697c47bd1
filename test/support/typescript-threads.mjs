// Lets a worker thread start from a .ts file under test, as it starts from the built .js file in production.
// Vitest compiles only what it imports itself, and `--import tsx` stops at the main thread.
import { isMainThread } from "node:worker_threads";

if (!isMainThread) {
  const { register } = await import("tsx/esm/api");
  register();
}
