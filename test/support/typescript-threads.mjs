// Lets the worker threads of src/ start under test. Vitest compiles only what it imports itself, so they start from the
// build, as in production; compiling each from its source costs more than most tests do. Without a build there is that.
import { existsSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import workerThreads, { isMainThread } from "node:worker_threads";

const SOURCES = new URL("../../src/", import.meta.url).href;
const BUILT = new URL("../../dist/", import.meta.url);

if (!isMainThread) {
  if (process.argv[1]?.endsWith(".ts")) {
    const { register } = await import("tsx/esm/api");
    register();
  }
} else {
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file, options) {
      const built = findBuilt(file);
      // Without this file in the thread, which would make it compile all the same.
      super(built ?? file, built === undefined ? options : { ...options, execArgv: [] });
    }
  };
  syncBuiltinESMExports();
}

function findBuilt(file) {
  const href = String(file);
  if (!href.startsWith(SOURCES) || !href.endsWith(".ts")) return undefined;
  const built = new URL(href.slice(SOURCES.length).replace(/\.ts$/, ".js"), BUILT);
  return existsSync(fileURLToPath(built)) ? built : undefined;
}
